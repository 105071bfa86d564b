"""Named tuples that are made in a fifth of the time: a small diagnosis imports 150 of them.

``typing.NamedTuple`` compiles each annotation and the constructor of each class. Here annotations stay texts, and a class
has the constructor of all classes with as many fields, under its own names. Type checkers see ``typing.NamedTuple``.
"""

from __future__ import annotations

from collections import _tuplegetter  # type: ignore[attr-defined]  # what their own named tuples use
from functools import lru_cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414, TID251


@lru_cache(maxsize=64)
def _constructor(fields: int) -> CodeType:
    names = "".join(f", f{place}" for place in range(fields))
    made: CodeType = eval(f"lambda _cls{names}: _new(_cls, ({names[2:]},))").__code__  # noqa: S307  (as collections does)
    return made


class _Record(tuple[Any, ...]):
    """What all named tuples can."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Self:
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(made)}")
        return made

    def _replace(self, /, **changed: Any) -> Self:
        made = self._make(map(changed.pop, self._fields, self))
        if changed:
            raise ValueError(f"{type(self).__name__} has no field {', '.join(changed)}")
        return made

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({told})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


class _Declared(type):
    """Makes a named tuple of the body of a class."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
        """The class whose annotations are its fields."""
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = tuple(body["__annotations__"])
        defaults = tuple(body[field] for field in fields if field in body)
        code = _constructor(len(fields)).replace(co_varnames=("_cls", *fields), co_qualname=f"{name}.__new__")
        made = FunctionType(code, {"_new": tuple.__new__}, "__new__", defaults)
        getters = {field: _tuplegetter(place, "") for place, field in enumerate(fields)}
        own = {"__new__": made, "_fields": fields, "__match_args__": fields, "__slots__": ()}
        return type(name, (_Record,), {**body, **getters, **own})


if not TYPE_CHECKING:

    class NamedTuple(metaclass=_Declared):
        """The base of a named tuple, as ``typing`` has it."""
