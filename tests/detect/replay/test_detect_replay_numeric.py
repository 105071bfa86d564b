"""Where a trace says that the first bad tensor was born, and what that speaks for."""

from __future__ import annotations

import numpy as np
import pytest
from make_run import NAN, RunMaker, falling
from make_trace import overflow, tensor, trace


def facts(rows, maker=None):
    found = trace(rows, maker).facts()
    return {
        name.removeprefix("signal.replay."): value for name, value in found.plain.items() if "replay" in name
    }


def nan(module, role, **more):
    return tensor(module, role, None, nan_count=5, inf_count=0, **more)


def test_a_product_that_leaves_fp16_is_named_with_its_size_against_the_limit():
    found = facts(overflow())
    assert found["first_module"] == "layers.1.mlp.down_proj"
    assert found["first_op"] == "aten.mm.default"
    assert found["inputs_finite"] is True
    assert found["overflowed"] is True
    assert found["result_impossible"] is False
    assert found["limit_ratio"] == pytest.approx(9000 * 14.5 / 65504)
    assert "input absmax 9000, 2x the limit of float16" in found["origin"]
    assert found["harmful"] is True


def test_inputs_too_small_for_the_result_make_it_impossible():
    rows = [
        tensor("up", "input[0]", 2.0, module_type="Linear", rank=3),
        tensor("up", "weight", 0.5, module_type="Linear", rank=3),
        tensor("up", "output[0]", None, module_type="Linear", rank=3),
        tensor("up", "output[0]", 8.0, module_type="Linear", rank=4),
    ]
    found = facts(rows)
    assert found["result_impossible"] is True  # 64 terms of at most 2 x 0.5
    assert found["first_rank"] == 3
    assert found["one_rank_only"] is True


def test_parents_that_are_listed_before_their_children_do_not_hide_them():
    rows = [
        tensor("layers.1", "input[0]", 3.0),
        tensor("layers.1", "output[0]", None),
        tensor("layers.1.mlp", "input[0]", 3.0),
        tensor("layers.1.mlp", "output[0]", None),
        tensor("layers.1.mlp.down_proj", "input[0]", 9000.0),
        tensor("layers.1.mlp.down_proj", "output[0]", None),
        tensor("layers.2", "input[0]", None),
    ]
    assert facts(rows)["first_module"] == "layers.1.mlp.down_proj"


def test_a_tensor_that_is_bad_between_two_modules_belongs_to_their_parent():
    rows = [
        tensor("layers.0.self_attn.q_proj", "output[0]", 4.0),
        tensor("layers.0.self_attn.k_proj", "output[0]", 4.0),
        nan("layers.0.self_attn.o_proj", "input[0]"),
        nan("layers.0.self_attn.o_proj", "output[0]"),
        nan("layers.0.self_attn", "output[0]"),
    ]
    found = facts(rows)
    assert found["first_module"] == "layers.0.self_attn"
    assert found["first_family"] == "attention"
    assert found["overflowed"] is False
    assert "masked_row" not in found  # hooks cannot see inside: unknown, not False


def test_a_softmax_over_masked_scores_is_told_from_a_mask_in_use():
    mask = tensor("attn", "output[0]", None, op="aten.masked_fill.Scalar", extra='{"inf_signs": ["-"]}')
    scores = tensor("attn", "input[0]", None, op="aten._softmax.default", extra='{"inf_signs": ["-"]}')
    sound = facts(
        [
            tensor("attn", "input[0]", 3.0),
            mask,
            scores,
            tensor("attn", "output[0]", 1.0, op="aten._softmax.default"),
        ]
    )
    assert sound["nonfinite"] is False
    broken = facts(
        [tensor("q", "output[0]", 3.0), mask, scores, nan("attn", "output[0]", op="aten._softmax.default")]
    )
    assert broken["masked_row"] is True


@pytest.mark.parametrize(
    ("rows", "fact"),
    [
        ([nan("layers.0", "input[0]"), nan("layers.0", "output[0]")], "batch_nonfinite"),
        ([nan("layers.0", "weight"), nan("layers.0", "output[0]")], "weights_nonfinite"),
    ],
)
def test_bad_numbers_from_outside_are_not_blamed_on_a_module(rows, fact):
    found = facts(rows)
    assert found[fact] is True
    assert found["inputs_finite"] is False
    assert "overflowed" not in found or found["overflowed"] is not True


def test_a_clean_trace_says_so_and_one_without_that_knowledge_says_nothing():
    found = facts([tensor("a", "output[0]", 60000.0)])
    assert found["nonfinite"] is False
    unknown = {"module": "a", "tensor_role": "output[0]", "absmax": 3.0}
    assert "nonfinite" not in facts([unknown])


def test_a_step_that_passed_is_no_harm_and_the_lasting_one_is_the_origin():
    passed = [{**row, "step": 3} for row in overflow()] + [
        {**tensor("layers.0", "output[0]", 1.0, rank=0), "step": 4}
    ]
    assert facts(passed)["recovered"] is True
    assert facts(passed)["harmful"] is False
    lasting = [*passed, {**nan("layers.9", "output[0]", rank=0), "step": 5}]
    found = facts(lasting)
    assert (found["first_step"], found["first_module"], found["recovered"]) == (5, "layers.9", False)


def test_a_backward_overflow_of_one_step_may_be_the_search_for_a_scale():
    rows = [
        tensor("layers.0", "output[0]", 1.0),
        tensor("layers.1", "grad_output[0]", 2.0, **{"pass": "bwd"}),
        tensor("layers.0", "grad_input[0]", None, **{"pass": "bwd"}),
    ]
    found = facts(rows)
    assert found["first_pass"] == "backward"
    assert "harmful" not in found
    many = [{**row, "step": step} for step in range(25) for row in rows]
    assert facts(many)["harmful"] is True


def test_a_log_that_goes_on_well_overrules_the_trace():
    good = {"loss": falling(30), "grad_norm": [1.0] * 30}
    assert facts(overflow(), RunMaker().log(good))["harmful"] is False
    assert "harmful" not in facts(
        overflow(), RunMaker().log({"loss": falling(30)})
    )  # its gradients may be NaN
    assert (
        facts(overflow(), RunMaker().log({**good, "grad_norm": [1.0] * 10 + [NAN] * 20}))["harmful"] is True
    )
    assert facts(overflow(), RunMaker().log({"loss": [*falling(10), *[NAN] * 20]}))["harmful"] is True


def test_the_row_of_one_token_is_weighed_against_the_whole_gradient():
    rows = [
        {"module": "embed", "tensor_role": "param_grad", "l2norm": 10.0, "pass": "bwd", "nonfinite": False},
        {
            "module": "embed",
            "tensor_role": "param_grad_row[6]",
            "tensor_name": "<|im_end|>",
            "l2norm": 9.9,
            "pass": "bwd",
        },
        {"module": "embed", "tensor_role": "param_grad_row[7]", "l2norm": 0.1, "pass": "bwd"},
    ]
    found = facts(rows)
    assert found["special_row_gradient_share"] == pytest.approx(0.99**2)
    assert found["special_row"] == "<|im_end|>"


def test_a_mask_of_the_lowest_number_is_no_large_activation():
    rows = [
        tensor("layers.0.self_attn", "input[1]", 65504.0, min=-65504.0, max=0.0),
        tensor("layers.0.self_attn.q_proj", "output[0]", 3.0),
        nan("layers.0.self_attn", "output[0]"),
    ]
    found = facts(rows)
    assert found["limit_share"] < 0.01
    assert found.get("overflowed") is not True


def test_minus_infinity_without_a_mask_is_an_overflow():
    row = tensor("head", "output[0]", None, extra='{"inf_signs": ["-"]}')
    assert facts([tensor("head", "input[0]", 60000.0), row])["overflowed"] is True


def test_statements_of_a_log_are_no_recording():
    maker = RunMaker()
    row = {
        "replay_id": "log",
        "source_format": "autograd_anomaly",
        "seq": 1,
        "pass": "bwd",
        "nonfinite": True,
    }
    maker.file("train.log").replay(row, line=1)
    assert "signal.replay.seen" not in maker.facts().plain


def test_a_random_trace_never_breaks_the_detector():
    rng = np.random.default_rng(0)
    roles = ["input[0]", "output[0]", "weight", "grad_input[0]", "grad_output[0]", "", "x"]
    for _ in range(60):
        rows = [
            {
                "module": rng.choice(["a", "a.b", "a.b.c", "attn", "", None]), "tensor_role": str(rng.choice(roles)),
                "pass": str(rng.choice(["fwd", "bwd", "opt", "comm", "param"])), "step": int(rng.integers(3)),
                "rank": int(rng.integers(3)), "seq": int(rng.integers(-5, 9)), "op": rng.choice([None, "softmax", "mm"]),
                "dtype": str(rng.choice(["float16", "bfloat16", "int64", "??"])),
                "absmax": float(10.0 ** rng.integers(-300, 300)), "nonfinite": bool(rng.random() < 0.3),
                "extra": str(rng.choice(["", "{", '{"inf_signs": 3}', "[1]", '{"reference_absmax": "x"}'])),
            }
            for _ in range(rng.integers(1, 12))
        ]  # fmt: skip
        rows = [
            {k: (None if v is None else str(v) if isinstance(v, np.str_) else v) for k, v in row.items()}
            for row in rows
        ]
        facts(rows)
