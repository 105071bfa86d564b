"""Our named tuples and dataclasses do what those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing

import pytest

from analyzer.record import NamedTuple, dataclass, field, replace


class Point(NamedTuple):
    """A place."""

    x: int
    y: int | None = None
    names: tuple[str, ...] = ()

    @property
    def both(self):
        return (self.x, self.y)


class Same(typing.NamedTuple):
    x: int
    y: int | None = None
    names: tuple[str, ...] = ()


def test_fields_defaults_and_order_are_those_of_typing():
    assert Point(1) == Same(1) == (1, None, ())
    assert Point(y=2, x=1, names=("a",)) == Same(y=2, x=1, names=("a",))
    assert repr(Point(1)) == repr(Same(1)).replace("Same", "Point")
    assert Point._fields == Same._fields
    assert Point(1)._asdict() == Same(1)._asdict()
    assert Point(3).both == (3, None)
    assert hash(Point(1)) == hash(Same(1))
    assert Point.__doc__ == "A place."


def test_a_copy_may_differ_and_nothing_changes():
    point = Point(1)
    assert point._replace(y=5) == Point(1, 5)
    assert Point._make([1, 2, ()]) == Point(1, 2)
    assert pickle.loads(pickle.dumps(point)) == point
    assert copy.deepcopy(point) == point
    match point:
        case Point(x, y):
            assert (x, y) == (1, None)
    with pytest.raises(AttributeError):
        point.x = 2
    with pytest.raises(AttributeError):
        point.z = 2


def test_what_is_wrong_is_told_as_by_any_function():
    with pytest.raises(TypeError, match=r"Point\.__new__\(\) missing 1 required positional argument: 'x'"):
        Point()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)
    with pytest.raises(ValueError, match="Point has no field z"):
        Point(1)._replace(z=2)
    with pytest.raises(TypeError, match="Point has 3 fields, not 1"):
        Point._make([1])


def classes(dataclass, field):
    """The same four classes, of whoever makes them."""

    @dataclass(frozen=True, slots=True)
    class Place:
        """A place."""

        x: int
        y: int | None = None
        told: str = field(default="", compare=False, repr=False)

    @dataclass
    class Bag:
        things: list[int] = field(default_factory=list)
        seen: int | None = field(default=None, init=False, repr=False)

        def __post_init__(self):
            self.things.append(7)

    @dataclass(slots=True, eq=False)
    class Counter:
        count: int = 0

    @dataclass(frozen=True)
    class Nothing:
        """No field."""

    return Place, Bag, Counter, Nothing


def outcome(call):
    try:
        return call()
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)


ASKED = (
    lambda place, *_: [place(1), place(1) == place(1, None, "b"), place(1) == (1, None, "")],
    lambda place, *_: (hash(place(1)) == hash(place(1, told="b")), place.__doc__, place.__match_args__),
    lambda place, *_: place(),
    lambda place, *_: place(1, z=2),
    lambda place, *_: (dataclasses.replace(place(1), y=3), dataclasses.asdict(place(1))),
    lambda place, *_: ([f.name for f in dataclasses.fields(place)], dataclasses.is_dataclass(place)),
    lambda place, *_: copy.deepcopy(place(1, told="b")).told,
    lambda place, *_: type(outcome(lambda: setattr(place(1), "x", 2))[0]),
    lambda place, *_: hasattr(place(1), "__dict__"),
    lambda _, bag, *__: [bag(), bag([1]), bag() == bag(), bag().things is bag().things, bag.seen],
    lambda _, bag, *__: hash(bag()),
    lambda _, bag, *__: bag(seen=3),
    lambda *all_four: (
        all_four[2]() == all_four[2](),
        all_four[2](4).count,
        hasattr(all_four[2](), "__dict__"),
    ),
    lambda *all_four: (all_four[3](), all_four[3]() == all_four[3](), hash(all_four[3]()) is None),
)


@pytest.mark.parametrize("ask", ASKED)
def test_dataclasses_do_what_those_of_the_standard_library_do(ask):
    ours, theirs = classes(dataclass, field), classes(dataclasses.dataclass, dataclasses.field)
    assert repr(outcome(lambda: ask(*ours))) == repr(outcome(lambda: ask(*theirs)))


def test_a_copy_of_a_dataclass_may_differ():
    place, bag, *_ = classes(dataclass, field)
    assert replace(place(1, told="b"), y=3) == place(1, 3)
    assert replace(place(1, told="b"), y=3).told == "b"
    assert replace(bag([1]), things=[2]).things == [2, 7]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        replace(place(1), z=2)


def test_a_frozen_one_refuses_a_change():
    place = classes(dataclass, field)[0](1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        place.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del place.x
