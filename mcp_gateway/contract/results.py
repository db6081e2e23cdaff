"""Checks a tool's results against the contract: in tests and while developing, so that no answer drifts from it."""

import re
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from mcp_gateway.contract.catalogue import ERRORS, TOOLS, Tool

SENT_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
FORMATS = FormatChecker(formats=())


@FORMATS.checks("date-time")
def is_sent_time(value: object) -> bool:
    """Whether a time reads as the server sends it: UTC with milliseconds (seed 001, Connect)."""
    return not isinstance(value, str) or SENT_TIME.fullmatch(value) is not None


SUCCESSES = {name: Draft202012Validator(tool.success_schema, format_checker=FORMATS) for name, tool in TOOLS.items()}
FAILURES = {name: Draft202012Validator(tool.error_schema) for name, tool in TOOLS.items()}
DETAILS = {code: Draft202012Validator(error.details_schema) for code, error in ERRORS.items()}


def validate_result(tool: Tool, structured: Mapping[str, Any]) -> None:
    """Raise ValueError when a result, successful or failed, is not what the contract promises for the tool.

    Stricter than the served schema: times carry milliseconds, and `details` hold only what the error table names.
    """
    result = dict(structured)
    if "error" not in result:
        require(tool, SUCCESSES[tool.name], result)
        return
    require(tool, FAILURES[tool.name], result)
    error = result["error"]
    require(tool, DETAILS[error["code"]], error.get("details", {}))


def require(tool: Tool, validator: Draft202012Validator, value: Any) -> None:
    """Raise ValueError naming the place of the first breach; results may hold names, so no value is told."""
    errors = sorted(validator.iter_errors(value), key=lambda error: error.json_path)
    if errors:
        raise ValueError(f"{tool.name}: {errors[0].json_path} breaks {errors[0].validator}")
