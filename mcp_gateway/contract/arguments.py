"""Checks a tool's arguments against the contract, and words the first breach as a refusal."""

import copy
import re
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from breakpass.errors import Refusal
from breakpass.text import rejection
from mcp_gateway.contract.catalogue import TOOLS, Schema, Tool

# Counted after cleaning, by the domain: 605 characters of markdown may be 590 of text (behaviour, Text).
CLEANED_FIELDS = frozenset({"message"})
CLEANED_LIMITS: dict[str, int] = {
    name: tool.input_schema["properties"][name]["maxLength"]
    for tool in TOOLS.values()
    for name in CLEANED_FIELDS & tool.input_schema["properties"].keys()
}
# Nothing this long is worth cleaning: refused as it came.
RAW_MAX = 20_000

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
SURROGATE = re.compile(r"[\ud800-\udfff]")
# A field name that an agent made up is shown only when it cannot carry a number or a text.
PLAIN_NAME = re.compile(r"(?!.*\d{3})[A-Za-z_]\w{0,39}", re.ASCII)

RULES = {
    "additionalProperties": "unknown_field",
    "required": "required",
    "type": "type",
    "minLength": "empty",
    "minItems": "empty",
    "maxLength": "max_length",
    "maxItems": "max_length",
}
TYPES = {
    "string": "a string",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
PATTERNS = {"^[a-z0-9 -]*$": "takes only lowercase a-z, 0-9, space and -"}


def checked_input(tool: Tool) -> Schema:
    """The input schema as it is enforced here: the served one, without the limits on cleaned text."""
    schema: Schema = copy.deepcopy(tool.input_schema)
    for name in CLEANED_FIELDS & schema["properties"].keys():
        schema["properties"][name].pop("maxLength", None)
    return schema


ARGUMENTS = {name: Draft202012Validator(checked_input(tool)) for name, tool in TOOLS.items()}


def accept(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with control characters stripped (seed 001, Limits), ready for the domain.

    Fields that the domain cleans (`message`) come out as they went in: their line breaks carry meaning.
    Refuses CONTENT_REJECTED with `details.field` and `details.rule` (behaviour, Order of refusals).
    """
    stripped = {name: value if name in CLEANED_FIELDS else strip_control(value) for name, value in arguments.items()}
    refusal = breaches(tool, stripped)
    if refusal is not None:
        raise refusal
    return stripped


def strip_control(value: Any) -> Any:
    """The value with control characters removed from every string in it."""
    if isinstance(value, str):
        return CONTROL.sub("", value)
    if isinstance(value, list):
        return [strip_control(item) for item in value]
    if isinstance(value, dict):
        return {key: strip_control(item) for key, item in value.items()}
    return value


def breaches(tool: Tool, arguments: Mapping[str, Any]) -> Refusal | None:
    """The first breach of the tool's input schema as a refusal, or None.

    First unknown fields, then missing ones, then what is wrong with a value, in the schema's order of fields. The
    refusal names the field and the rule, never the value.
    """
    fields = list(tool.input_schema["properties"])
    unknown = sorted(arguments.keys() - set(fields))
    if unknown:
        return unknown_field(tool, unknown[0])
    for name in fields:
        if name in tool.input_schema.get("required", ()) and name not in arguments:
            return rejected(f"{name} is required.", name, "required")
    errors = sorted(ARGUMENTS[tool.name].iter_errors(dict(arguments)), key=lambda error: depth_first(error, fields))
    found = {str(error.absolute_path[0]): error for error in reversed(errors)}
    for name in fields:
        if name in found:
            return worded(name, found[name])
        if name in arguments:
            refusal = unfit_text(name, arguments[name])
            if refusal is not None:
                return refusal
    return None


def depth_first(error: ValidationError, fields: list[str]) -> tuple[int, bool, list[str]]:
    """Sorts breaches by field, a wrong type before all else, then by place within the field."""
    path = [str(step) for step in error.absolute_path]
    return fields.index(path[0]), error.validator != "type", path


def unknown_field(tool: Tool, name: str) -> Refusal:
    """An argument that the tool does not take."""
    if PLAIN_NAME.fullmatch(name):
        return rejected(f"{tool.name} takes no field named {name}.", name, "unknown_field")
    return rejected(f"{tool.name} takes no such field.", "arguments", "unknown_field")


def unfit_text(name: str, value: Any) -> Refusal | None:
    """What the schema cannot say of a text: blank, too long to be cleaned, or with characters that are none."""
    cleaned = name in CLEANED_FIELDS
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str):
            continue
        if cleaned and len(text) > RAW_MAX:
            limit = CLEANED_LIMITS[name]
            return rejected(f"{name} takes at most {limit} characters.", name, "max_length", max_length=limit)
        if SURROGATE.search(text) or (not cleaned and CONTROL.search(text)):
            return rejected(f"{name} contains characters that are not text.", name, "format")
        if not text.strip():
            return rejected(f"{name} must not be empty.", name, "empty")
    return None


def worded(name: str, error: ValidationError) -> Refusal:
    """One sentence for a breach of `name`'s schema, without the value."""
    keyword = str(error.validator)
    limit: Any = error.validator_value
    within = len(error.absolute_path) > 1
    subject = f"Each entry of {name}" if within else name
    rule = RULES.get(keyword, "format")
    if rule == "unknown_field":
        return rejected(f"{name} has an entry that is not taken.", name, rule)
    if rule == "required":
        return rejected(f"{name} lacks an entry that is required.", name, rule)
    if rule == "empty":
        return rejected(f"{subject} must not be empty.", name, rule)
    if rule == "max_length":
        unit = "entries" if keyword == "maxItems" else "characters"
        return rejected(f"{subject} takes at most {limit} {unit}.", name, rule, max_length=limit)
    if rule == "type":
        wanted = " or ".join(TYPES[kind] for kind in ([limit] if isinstance(limit, str) else limit))
        return rejected(f"{subject} must be {wanted}.", name, rule)
    if keyword == "enum":
        return rejected(f"{subject} must be one of {', '.join(map(str, limit))}.", name, rule)
    if keyword == "pattern" and limit in PATTERNS:
        return rejected(f"{subject} {PATTERNS[limit]}.", name, rule)
    return rejected(f"{subject} is not in the form that its description asks for.", name, rule)


def rejected(message: str, field: str, rule: str, **details: Any) -> Refusal:
    """The contract's refusal of a field."""
    return rejection(field, rule, message, **details)
