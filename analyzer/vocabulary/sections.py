"""Check the sections of a data file against a table of their keys; the JSON Schema is made of the same table."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from analyzer.errors import RuleSyntaxError, did_you_mean, nearest
from analyzer.vocabulary.marked import MarkedFile

Fields = Mapping[str, Mapping[str, tuple[str, bool]]]
"""Section -> key -> (type, required). The types are those of ``_TYPES``."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "number": (int, float),
    "map": (dict,),
    "list": (list,),
    "texts": (str, list),
    "scalar": (str, bool, int, float),
}
"""``texts`` is one text or a list of texts."""

_JSON: Mapping[str, Mapping[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "number": {"type": "number"},
    "map": {"type": "object"},
    "list": {"type": "array"},
    "texts": {"type": ["string", "array"], "items": {"type": "string"}},
    "scalar": {"type": ["string", "boolean", "number"]},
}


def check_expression(file: MarkedFile, text: str, *keys: str | int) -> str:
    """A text that is a regular expression.

    Raises:
        RuleSyntaxError: It is none; with line and column.
    """
    try:
        re.compile(text)
    except re.error as error:
        raise RuleSyntaxError(f"not a regular expression: {error}", file.where(*keys)) from error
    return text


def check_section(
    file: MarkedFile, fields: Fields, section: str, data: Any, keys: tuple[str | int, ...]
) -> dict[str, Any]:
    """The section as a mapping whose keys and types are as declared.

    Args:
        file: The file; one that comes from the cache is not checked again.
        fields: The table of all sections.
        section: Name of this one.
        data: Its content.
        keys: Where it stands in the file.

    Raises:
        RuleSyntaxError: It is not as declared; with line and column.
    """
    if file.checked:
        checked: dict[str, Any] = data
        return checked
    if not isinstance(data, dict):
        raise RuleSyntaxError(f"{section} must be a mapping", file.where(*keys))
    known = fields[section]
    for key in data:
        if key not in known:
            raise RuleSyntaxError(
                f"unknown key {key!r} in {section}; known are {', '.join(known)}{did_you_mean(nearest(key, known))}",
                file.where(*keys, key),
            )
    for key, (type_name, required) in known.items():
        if key not in data:
            if required:
                raise RuleSyntaxError(f"{section} lacks the key {key!r}", file.where(*keys))
        elif not _has_type(data[key], type_name):
            raise RuleSyntaxError(f"{key!r} must be a {type_name}", file.where(*keys, key))
    return data


def one_of(file: MarkedFile, value: str, options: Sequence[str], *keys: str | int) -> str:
    """The value, which is one of some words.

    Raises:
        RuleSyntaxError: It is none of them; with line and column.
    """
    if value not in options:
        near = did_you_mean(nearest(str(value), options))
        raise RuleSyntaxError(f"{value!r} is not one of {', '.join(options)}{near}", file.where(*keys))
    return value


def _has_type(value: Any, type_name: str) -> bool:
    if isinstance(value, bool):
        return type_name in {"bool", "scalar"}
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if type_name == "texts" and isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, _TYPES[type_name])


def json_schema(fields: Fields, name: str, section: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema of one kind of file.

    Args:
        fields: The table of all sections; a key of the name of a section holds it, or a list of it.
        name: Identifier of the schema.
        section: The outermost section.
        options: Key -> the words that it may hold.
    """

    def of(section: str) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        for key, (type_name, _) in fields[section].items():
            properties[key] = {"enum": list(options[key])} if key in options else dict(_JSON[type_name])
            if key in fields:
                properties[key] = of(key) if type_name == "map" else {"type": "array", "items": of(key)}
        required = [key for key, (_, needed) in fields[section].items() if needed]
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": name, **of(section)}
