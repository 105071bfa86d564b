"""Dumps of msprobe become rows: names, roles, bad tensors, execution order, and what is lost."""

import json

import pytest
from trace_reading import read, reasons, rows

NAN = float("nan")


def tensor(high, low, dtype="torch.float16", **more):
    return {
        "type": "torch.Tensor", "dtype": dtype, "shape": [2, 8], "Max": high, "Min": low, "Mean": 0.5, "Norm": 3.0,
        "requires_grad": True, **more,
    }  # fmt: skip


DATA = {
    "Module.module.layers.0.mlp.down_proj.Linear.forward.1": {
        "input_args": [tensor(8224.0, -3.0), {"type": "bool", "value": True}],
        "input_kwargs": {"mask": tensor(1.0, 0.0)},
        "output": [tensor("inf", -2.0)],
        "parameters": {"weight": tensor(14.5, -0.5), "gain": tensor(1.0, 1.0)},
    },
    "Functional.softmax.3.forward": {"input_args": [[tensor(2.0, "-inf")]], "output": [tensor(NAN, NAN)]},
    "Distributed.all_reduce.0.forward": {"input_args": [tensor(1.0, 1.0, "Float32")], "output": []},
    "Cell.net.Dense.backward.0": {"input": [tensor("NaN", "nan")], "output": [tensor(1.0, 0.0, "BFloat16")]},
    "Module.module.layers.0.mlp.down_proj.Linear.parameters_grad": {"weight": [tensor(0.5, -0.5)]},
}


def dump(tmp_path, data, place="step12/rank3", **more):
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    head = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
    (folder / "dump.json").write_text(json.dumps({**head, "data": data, **more}))
    return tmp_path


def test_every_entry_becomes_rows_in_order(tmp_path):
    found = rows(read(dump(tmp_path, DATA)))
    assert [(row["step"], row["rank"]) for row in found] == [(12, 3)] * len(found)
    assert [row["seq"] for row in found] == list(range(len(found)))
    first = found[0]
    assert (first["module"], first["module_type"], first["pass"], first["call_index"]) == (
        "module.layers.0.mlp.down_proj", "Linear", "fwd", 1,
    )  # fmt: skip
    assert [row["tensor_role"] for row in found] == [
        "input[0]", "input[0]", "output[0]", "weight", "weight",
        "input[0]", "output[0]", "input[0]", "grad_output[0]", "grad_input[0]", "param_grad",
    ]  # fmt: skip
    assert [row["tensor_name"] for row in found if "tensor_name" in row] == ["weight", "gain", "weight"]
    assert found[0]["absmax"] == 8224.0
    assert found[0]["numel"] == 16
    assert found[7]["pass"] == "comm"
    assert found[7]["op"] == "Distributed.all_reduce"


def test_text_and_numbers_that_are_not_finite_are_both_bad_and_only_nan_hides_its_count(tmp_path):
    found = rows(read(dump(tmp_path, DATA)))
    overflow, scores, spoiled, gradient = found[2], found[5], found[6], found[8]
    assert overflow["nonfinite"] is True
    assert overflow["nan_count"] == 0
    assert "max" not in overflow
    assert overflow["min"] == -2.0
    assert json.loads(scores["extra"])["inf_signs"] == ["-"]
    assert spoiled["nonfinite"] is True
    assert "nan_count" not in spoiled
    assert gradient["nonfinite"] is True
    assert found[9]["nonfinite"] is False
    assert {row["dtype"] for row in found} == {"float16", "float32", "bfloat16"}


def test_a_row_points_at_the_line_of_its_entry(tmp_path):
    dump(tmp_path, DATA)
    path = tmp_path / "step12/rank3/dump.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    run = read(tmp_path)
    places = {run.replay.text("module", i): run.replay.ref(i).line for i in range(len(run.replay))}
    lines = path.read_text().splitlines()
    assert '"Cell.net.Dense.backward.0": {' in lines[places["net"] - 1]


def test_a_sibling_tells_which_module_called_an_operator(tmp_path):
    dump(tmp_path, DATA)
    parents = {"Functional.softmax.3.forward": "Module.module.layers.0.attn.Attention.forward.0"}
    (tmp_path / "step12/rank3/construct.json").write_text(json.dumps(parents))
    assert rows(read(tmp_path))[5]["module"] == "module.layers.0.attn"


def test_what_is_lost_is_told(tmp_path):
    data = {
        **DATA,
        "nonsense": {},
        "Module.a.B.forward.0": {"input_args": [tensor(None, None, Mean=None, Norm=None)]},
    }
    told = reasons(read(dump(tmp_path, data)))
    assert "1 entries of the dump are of no known form" in told
    assert "1 tensors of the dump carry no statistics" in told


@pytest.mark.parametrize("hostile", [
    {"Module.a.B.forward.0": {"input_args": [tensor("9" * 5000, "\u202e\x1b[31m", dtype="\x00" * 900)]}},
    {"Module." + "a." * 5000 + "B.forward.0": {"output": [tensor(1, 0)]}},
    {"Module.a.B.forward.0": {"output": tensor(1, 0, shape=[10**30, -1, "x"])}},
    {"Module.a.B.forward.0": {"output": [[[[[[[[tensor(1, 0)]]]]]]]]}},
    {"Module.a.B.forward.0": [1, 2], "Module.a.B.forward.99999999999999999": 3, "": None},
    {"Module.a.B.forward.0": {"output": [tensor(True, {}), tensor([], 1e400)]}},
])  # fmt: skip
def test_hostile_entries_are_no_exception(tmp_path, hostile):
    run = read(dump(tmp_path, {**hostile, **DATA}))
    assert len(rows(run)) >= 11
    for row in rows(run):
        assert all("\x1b" not in str(value) for value in row.values())


def test_a_cut_at_any_byte_keeps_what_came_before(tmp_path):
    whole = (dump(tmp_path, DATA) / "step12/rank3/dump.json").read_bytes()
    path = tmp_path / "cut" / "dump.json"
    path.parent.mkdir()
    complete = len(rows(read(tmp_path / "step12")))
    for cut in range(0, len(whole), 7):
        path.write_bytes(whole[:cut])
        run = read(path)
        assert len(rows(run)) <= complete
        if run is not None and rows(run):
            assert "the rest of the dump cannot be read" in reasons(run)
