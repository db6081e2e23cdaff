"""Reads a schema as the rows of a table: path, type, required, description."""

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_gateway.contract.catalogue import Schema


@dataclass(frozen=True, slots=True)
class Row:
    """One field: `path` such as `recipients[].name`, `type` in the reference's words (seed 001, Tools)."""

    path: str
    type: str
    required: bool
    description: str


def rows_of(schema: Schema, prefix: str = "") -> Iterator[Row]:
    """Every described field of an object schema, outer before inner, in the schema's order."""
    for name, field in schema.get("properties", {}).items():
        if "description" not in field:
            continue
        path = prefix + name
        yield Row(path, type_words(field), name in schema.get("required", ()), field["description"])
        inner = field.get("items", field)
        yield from rows_of(inner, path + ("[]." if "items" in field else "."))


def type_words(field: Schema) -> str:
    """The field's type as the reference writes it: `timestamp or null`, `array of object`."""
    types = field["type"] if isinstance(field["type"], list) else [field["type"]]
    words = [word for word in types if word != "null"]
    if field.get("format") == "date-time":
        words = ["timestamp"]
    elif words == ["array"]:
        words = [f"array of {field['items']['type']}"]
    return " or ".join([*words, "null"] if "null" in types else words)
