"""``dataclass`` as in the standard library, at a third of its price.

There a frozen dataclass compiles six methods when its module is imported; a diagnosis imports some 150 of them, a ninth
of the instructions of a small run. Here ``__init__`` alone is compiled; comparison, hash and text are ordinary functions.
That nobody assigns to a field of a frozen record is checked by mypy and no longer at run time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass  # mypy knows what it means, and that a frozen record is not written to
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, eq: bool = True, **options: bool
    ) -> Any:
        """``dataclasses.dataclass``; ``options`` are ``slots``, ``weakref_slot`` and ``repr``."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, eq=eq, **options)
        own, shown = cls.__dict__, options.pop("repr", True)
        record = dataclasses.dataclass(repr=False, eq=False, **options)(cls)
        if shown and "__repr__" not in own:
            record.__repr__ = _text
        if eq and "__eq__" not in own:
            _compare_by_value(record, hashable=frozen, keeps_hash="__hash__" in own)
        return record


def _text(record: Any) -> str:
    shown = [field.name for field in dataclasses.fields(record) if field.repr]
    return f"{type(record).__qualname__}({', '.join(f'{name}={getattr(record, name)!r}' for name in shown)})"


def _compare_by_value(record: Any, *, hashable: bool, keeps_hash: bool) -> None:
    """Equality of two records of one class by the values of their fields; of a frozen one the hash as well."""
    names = [field.name for field in dataclasses.fields(record) if field.compare]
    values: Callable[[Any], Any] = attrgetter(*names) if names else lambda _record: ()

    def equal(one: Any, other: object) -> bool:
        return values(one) == values(other) if type(one) is type(other) else NotImplemented

    record.__eq__ = equal
    if not keeps_hash:
        record.__hash__ = (lambda one: hash(values(one))) if hashable else None
