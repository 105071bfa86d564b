"""Records behave as dataclasses of the standard library do, for whatever the code asks of them."""

import copy
import pickle
from dataclasses import asdict, field, fields, replace

from analyzer.records import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    step: int
    value: float = 0.0
    note: str = field(default="", compare=False)
    _kept: int = field(default=0, repr=False)


@dataclass
class Counter:
    seen: int = 0


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


def test_frozen_records_are_equal_and_hashed_by_their_compared_values():
    assert Point(1, 2.0, "a") == Point(1, 2.0, "b")
    assert len({Point(1), Point(1, note="again"), Point(2)}) == 2
    assert Point(1) != Counter(1)
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())


def test_a_record_that_changes_has_no_hash():
    counter = Counter()
    counter.seen += 1

    assert counter == Counter(1)
    assert Counter.__hash__ is None


def test_the_text_names_class_and_shown_fields():
    assert repr(Point(1)) == "Point(step=1, value=0.0, note='')"


def test_the_tools_of_dataclasses_and_copies_work():
    point = replace(Point(1), value=3.0)

    assert asdict(point) == {"step": 1, "value": 3.0, "note": "", "_kept": 0}
    assert next(each.name for each in fields(point)) == "step"
    assert copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point
    assert not hasattr(point, "__dict__")
