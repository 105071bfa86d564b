"""Build a JSON value whole, but only if it will not fill the memory: 250 KB of gzip may hold 4 GB of empty lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from analyzer.ingest.limits import JSON_BYTES

# What CPython takes for one of each, with its place in the list or table that holds it.
_LIST_BYTES, _TABLE_BYTES, _MEMBER_BYTES, _ITEM_BYTES = 72, 240, 100, 40


class JsonTooLargeError(ValueError):
    """The value would take more memory than a reader may use."""


def memory_of(text: bytes | str) -> int:
    """About how many bytes a JSON text becomes when it is built; too much where text holds the marks themselves.

    >>> memory_of(b"[[], []]"), memory_of('{"a": 1}')
    (264, 348)
    """
    marks = (b"[", b"{", b":", b",") if isinstance(text, bytes) else ("[", "{", ":", ",")
    lists, tables, members, items = (text.count(mark) for mark in marks)  # type: ignore[arg-type]
    return (
        len(text)
        + lists * _LIST_BYTES
        + tables * _TABLE_BYTES
        + members * _MEMBER_BYTES
        + items * _ITEM_BYTES
    )


def loads(
    text: bytes | str,
    limit_bytes: int = JSON_BYTES,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """The value of a JSON text.

    Args:
        text: The whole text.
        limit_bytes: Memory that the value may take.
        object_pairs_hook: As for ``json.loads``; makes something smaller of each table.

    Raises:
        JsonTooLargeError: It would take more.
        ValueError: It is no JSON.
        RecursionError: It is nested too deeply.
    """
    needed = memory_of(text)
    if needed > limit_bytes:
        raise JsonTooLargeError(
            f"as JSON it would take about {needed >> 20} MB of memory, {limit_bytes >> 20} are allowed"
        )
    return json.loads(text, object_pairs_hook=object_pairs_hook)
