"""Named tuples and dataclasses that are made in a fifth of the time: a small diagnosis imports 150 and 35 of them.

``typing.NamedTuple`` compiles each annotation and the constructor of each class. Here annotations stay texts, and a class
has the constructor of all classes with as many fields, under its own names. ``dataclasses`` compiles up to seven methods of
a class, here one; the others are those of all classes, and what its own functions ask of a class is made when they do. Type
checkers see what the standard library has.
"""

from __future__ import annotations

from collections import _tuplegetter  # type: ignore[attr-defined]  # what their own named tuples use
from functools import lru_cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from dataclasses import dataclass as dataclass  # noqa: PLC0414
    from dataclasses import field as field  # noqa: PLC0414
    from dataclasses import replace as replace  # noqa: PLC0414
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414


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


_MISSING: Any = type("_Missing", (), {"__repr__": lambda _: "<factory>"})()


class _Field:
    """What a class says of one of its fields."""

    __slots__ = ("compare", "default", "factory", "init", "repr")

    def __init__(self, default: Any, factory: Any, *, init: bool, compare: bool, repr: bool) -> None:  # noqa: A002
        self.default, self.factory, self.init, self.compare, self.repr = default, factory, init, compare, repr


def _field(
    *,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    init: bool = True,
    compare: bool = True,
    repr: bool = True,  # noqa: A002  (as the standard library calls it)
) -> _Field:
    """As ``dataclasses.field``."""
    return _Field(default, default_factory, init=init, compare=compare, repr=repr)


class _Fields:
    """``__dataclass_fields__``, made when ``dataclasses`` first asks a class for it."""

    def __get__(self, instance: Any, owner: Any) -> dict[str, Any]:
        import dataclasses  # noqa: PLC0415  (few runs ask)

        found = {}
        for name, told in owner.__fields__.items():
            made: Any = dataclasses.field(init=told.init, compare=told.compare, repr=told.repr)
            made.name, made.type = name, owner.__annotations__[name]
            made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]  # noqa: SLF001
            made.default = dataclasses.MISSING if told.default is _MISSING else told.default
            made.default_factory = dataclasses.MISSING if told.factory is _MISSING else told.factory
            found[name] = made
        owner.__dataclass_fields__ = found
        return found


def _told(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, told in self.__fields__.items() if told.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is self.__class__:
        return self.__compared__(self) == self.__compared__(other)
    return NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__compared__(self))


def _refuse(self: Any, name: str, *_: Any) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415

    raise FrozenInstanceError(f"cannot change field {name!r} of {type(self).__name__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__fields__]


def _take_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__fields__, state, strict=True):
        object.__setattr__(self, name, value)


def _initialiser(fields: dict[str, _Field], *, frozen: bool, then: bool) -> Any:
    """``__init__`` of a class with these fields, which calls ``__post_init__`` where there is one."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": _MISSING}
    parameters, lines = ["self"], []
    for name, told in fields.items():
        value, default = name, ""
        if told.factory is not _MISSING:
            known[f"_make_{name}"] = told.factory
            value, default = f"_make_{name}() if {name} is _MISSING else {name}", "=_MISSING"
        elif told.default is not _MISSING:
            known[f"_default_{name}"] = told.default
            default = f"=_default_{name}"
        if told.init:
            parameters.append(name + default)
        else:
            value = f"_make_{name}()" if told.factory is not _MISSING else f"_default_{name}"
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    lines += ["self.__post_init__()"] if then else []
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), known)  # noqa: S102
    return known["__init__"]


def _dataclass(
    made: Any = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    weakref_slot: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002  (as the standard library calls it)
) -> Any:
    """As ``dataclasses.dataclass``, of a class without bases that are one."""
    if made is None:
        return lambda made: _dataclass(
            made, frozen=frozen, slots=slots, weakref_slot=weakref_slot, eq=eq, repr=repr
        )
    own = made.__dict__
    fields: dict[str, _Field] = {}
    for name, annotation in own.get("__annotations__", {}).items():
        if not annotation.startswith("ClassVar"):
            default = own.get(name, _MISSING)
            fields[name] = default if isinstance(default, _Field) else _field(default=default)
    compared = tuple(name for name, told in fields.items() if told.compare)
    added: dict[str, Any] = {
        "__init__": _initialiser(fields, frozen=frozen, then="__post_init__" in own),
        "__match_args__": tuple(name for name, told in fields.items() if told.init),
        "__fields__": fields,
        "__dataclass_fields__": _Fields(),
    }
    if eq:
        added["__eq__"] = own.get("__eq__", _equal)
        added["__hash__"] = own.get("__hash__") or (_hash if frozen else None)
        added["__compared__"] = staticmethod(attrgetter(*compared) if compared else _nothing)
    if repr and "__repr__" not in own:
        added["__repr__"] = _told
    if frozen:
        added |= {"__setattr__": _refuse, "__delattr__": _refuse}
        added |= {"__getstate__": _state, "__setstate__": _take_state} if slots else {}
    added["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    if slots:
        kept = {
            name: value for name, value in own.items() if name not in {*fields, "__dict__", "__weakref__"}
        }
        names = (*fields, "__weakref__") if weakref_slot else tuple(fields)
        added |= {"__slots__": names, "__qualname__": made.__qualname__}
        return type(made)(made.__name__, made.__bases__, {**kept, **added})
    for name, value in added.items():
        setattr(made, name, value)
    for name, told in fields.items():
        if isinstance(own.get(name), _Field):
            if told.default is _MISSING:
                delattr(made, name)
            else:
                setattr(made, name, told.default)
    return made


def _nothing(_: Any) -> tuple[()]:
    return ()


def _replace(record: Any, /, **changed: Any) -> Any:
    """As ``dataclasses.replace``."""
    kept = {
        name: getattr(record, name)
        for name, told in record.__fields__.items()
        if told.init and name not in changed
    }
    return type(record)(**kept, **changed)


if not TYPE_CHECKING:
    dataclass, field, replace = _dataclass, _field, _replace

    class NamedTuple(metaclass=_Declared):
        """The base of a named tuple, as ``typing`` has it."""
