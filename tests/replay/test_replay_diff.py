"""``analyzer replay diff``: where two traces part."""

import pytest
from trace_tables import seen, table

from analyzer.errors import InputError
from analyzer.replay.diff import compare

LAYERS = ("embed", "layers.0", "layers.1", "head")


def trace(**changed):
    return table(*(seen(name, **changed.get(name.replace(".", "_"), {})) for name in LAYERS))


def test_equal_traces_agree_and_say_how_many_tensors_were_compared():
    found = compare(trace(), trace())

    assert (found.matched, found.differing, found.first) == (4, 0, None)


def test_the_first_parting_tensor_is_named_in_order_of_execution_not_by_size():
    found = compare(trace(layers_0={"absmax": 1.01}, head={"absmax": 90.0}), trace())

    assert found.differing == 2
    assert "layers.0 output[0]" in found.first_place
    assert found.first.what == "absmax"
    assert found.first.relative == pytest.approx(0.01 / 1.01)
    assert "embed" in found.last_equal


def test_rounding_of_the_format_is_no_difference():
    half = {"dtype": "float16", "absmax": 1.003}

    assert compare(trace(layers_0=half), trace(layers_0={**half, "absmax": 1.0})).differing == 0
    assert compare(trace(layers_0={"absmax": 1.003}), trace()).differing == 1


def test_a_mean_near_zero_is_held_against_the_size_of_the_tensor():
    assert compare(trace(head={"mean": 1e-9}), trace(head={"mean": -1e-9})).differing == 0


def test_one_nonfinite_side_is_a_difference_of_its_own():
    found = compare(trace(layers_1={"nonfinite": True, "absmax": None}), trace())

    assert (found.first.what, found.first.value_a, found.first.value_b) == ("nonfinite", True, False)


def test_steps_are_matched_by_number_unless_told_otherwise():
    late = table(*({**seen(name), "step": 7} for name in LAYERS))

    with pytest.raises(InputError, match="--any-step"):
        compare(trace(), late)
    assert compare(trace(), late, steps=False).matched == 4


def test_reruns_and_notes_of_the_recorder_are_no_tensors():
    extra = table(
        *(seen(name) for name in LAYERS),
        {"op": "recording"},
        {"pass": "rerun", "op": "float32", "nonfinite": False, "tensor_role": "output[0]"},
    )

    found = compare(extra, trace())

    assert (found.matched, found.only_a) == (4, 0)
