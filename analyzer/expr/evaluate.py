"""Evaluate a condition over facts with Kleene's three values.

``None`` is unknown: a missing fact, a NaN, a comparison of different types, a division by zero.
``unknown and False`` is False, ``unknown or True`` is True, everything else with unknown stays unknown.
Consequence, checked by a property test: adding facts never flips a verdict that was already definite.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from analyzer.expr.parse import Condition, Tree, mentioned

Verdict = bool | None
Value = bool | int | float | str | None

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
_CALLS: Mapping[str, Callable[[list[Any]], Any]] = {
    "abs": lambda args: abs(args[0]), "min": min, "max": max, "neg": lambda args: -args[0], "pos": lambda args: args[0],
}  # fmt: skip


def evaluate(condition: Condition, facts: Mapping[str, Value]) -> Verdict:
    """Verdict of a condition: True, False or None for unknown."""
    return _truth(_value(condition.tree, facts))


def decided_by(condition: Condition, facts: Mapping[str, Value]) -> tuple[str, ...]:
    """The known facts to which a condition owes its verdict, in order of first mention.

    Of an ``or`` that holds those are the parts that hold, of an ``and`` that fails the parts that fail.
    """
    found = set(_deciding(condition.tree, facts))
    return tuple(name for name in condition.names if name in found and name in facts)


def _deciding(tree: Tree, facts: Mapping[str, Value]) -> Iterator[str]:
    kind = tree[0]
    if kind in {"and", "or"}:
        verdict = _value(tree, facts)
        for part in tree[1:]:
            if verdict is None or _truth(_value(part, facts)) is verdict:
                yield from _deciding(part, facts)
    elif kind in {"not", "neg", "pos"}:
        yield from _deciding(tree[1], facts)
    else:
        yield from mentioned(tree)


def _truth(value: Value) -> Verdict:
    """A bare name used as a condition: only a boolean has a truth value."""
    return value if isinstance(value, bool) else None


def _clean(value: Any) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str) else None


def _value(tree: Tree, facts: Mapping[str, Value]) -> Value:
    if isinstance(tree, str):
        return _clean(facts.get(tree))
    kind = tree[0]
    if kind in {"and", "or"}:
        return _joined(tree[1:], facts, deciding=kind == "or")
    if kind == "compare":
        return _compare(tree, facts)
    if kind == "=":
        return _clean(tree[1])
    values = [_value(part, facts) for part in tree[1:]]
    if kind == "not":
        verdict = _truth(values[0])
        return None if verdict is None else not verdict
    if not all(_is_number(value) for value in values):
        return None
    return _clean(_CALLS[kind](values)) if kind in _CALLS else _arithmetic(_ARITHMETIC[kind], *values)


def _joined(parts: list[Tree], facts: Mapping[str, Value], *, deciding: bool) -> Verdict:
    """An ``or``, which one true part decides, or an ``and``, which a false one does."""
    unknown = False
    for part in parts:
        verdict = _truth(_value(part, facts))
        if verdict is deciding:
            return deciding
        unknown = unknown or verdict is None
    return None if unknown else not deciding


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _comparable(left: Value, right: Value) -> bool:
    if left is None or right is None:
        return False
    return (_is_number(left) and _is_number(right)) or type(left) is type(right)


def _compare(tree: list[Any], facts: Mapping[str, Value]) -> Verdict:
    """A chain is the conjunction of its links, so one false link decides it."""
    _, words, first, *others = tree
    left = _value(first, facts)
    unknown = False
    for word, other in zip(words, others, strict=True):
        right: Value = None
        if word in _COMPARE:
            right = _value(other, facts)
            verdict = _COMPARE[word](left, right) if _comparable(left, right) else None
        else:
            verdict = None if left is None else _is_one_of(left, other[1]) is (word == "in")
        if verdict is False:
            return False
        unknown = unknown or verdict is None
        left = right
    return None if unknown else True


def _is_one_of(value: Value, options: list[Any]) -> bool:
    return any(_comparable(value, _clean(option)) and value == option for option in options)


def _arithmetic(function: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    try:
        return _clean(function(left, right))
    except (ZeroDivisionError, OverflowError):
        return None


def value_of(expression: Condition, facts: Mapping[str, Value]) -> Value:
    """Value of an arithmetic expression over facts, None if it cannot be known."""
    return _value(expression.tree, facts)
