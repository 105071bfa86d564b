"""Our named tuples do what those of ``typing`` do."""

import copy
import pickle
import typing

import pytest

from analyzer.record import NamedTuple


class Point(NamedTuple):
    """A place."""

    x: int
    y: "int | None" = None
    names: tuple[str, ...] = ()

    @property
    def both(self):
        return (self.x, self.y)


class Same(typing.NamedTuple):
    x: int
    y: "int | None" = None
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
