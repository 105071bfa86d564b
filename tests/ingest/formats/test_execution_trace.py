"""Execution traces give the shapes of the operators that a timing trace names."""

from __future__ import annotations

import json

import pytest
from timelines import Timeline, step

from analyzer.detect import run_detectors
from analyzer.facts.build import build_facts
from analyzer.ingest.discover import load_run


def nodes(schema):
    """Two operators as each version of the schema writes them."""
    shapes, types = [[8, 64], [64, 64]], ["Tensor(float)", "Tensor(c10::BFloat16)"]
    found = []
    for record, name in ((1, "aten::add"), (2, "aten::mm"), (1002, "aten::mm")):
        if schema.startswith("1.0"):
            node = {
                "rf_id": record,
                "fw_parent": 0,
                "inputs": [[1, 2], [3, 4]],
                "input_shapes": shapes,
                "input_types": types,
            }
        else:
            attributes = [{"name": "rf_id", "type": "uint64", "value": record}]
            node = {
                "ctrl_deps": 1,
                "inputs": {"values": [], "shapes": shapes, "types": types},
                "attrs": attributes,
            }
        found.append({"id": record + 10, "name": name, **node})
    return {"schema": schema, "pid": 1, "nodes": found}


@pytest.mark.parametrize("schema", ["1.0.1", "1.1.1-chakra.0.0.4"])
def test_shapes_join_the_timing_trace_by_record(tmp_path, schema):
    timeline, at = Timeline(), 5000.0
    for number in range(6):
        at = step(timeline, at, number=number, compute=10_000.0)
    for event in timeline.events:
        if event["name"] == "gemm" and event["args"]["External id"] == 2:
            event["dur"] = 130.0  # the longest call of aten::mm
    (tmp_path / "profile.pt.trace.json").write_bytes(timeline.lines())
    (tmp_path / "et.json").write_text(json.dumps(nodes(schema), indent=2))
    run = load_run(tmp_path).run
    plain = build_facts(run_detectors(run)).plain

    assert plain["signal.trace.top_operator"] == "aten::mm"
    assert plain["signal.trace.top_shapes"] == "[8, 64] float, [64, 64] c10::BFloat16"
    assert run.operator_shapes[0].nodes == 3


def test_a_broken_execution_trace_is_a_gap(tmp_path):
    text = json.dumps(nodes("1.0.1"))
    (tmp_path / "et.json").write_text(text[:-20])
    (tmp_path / "train.log").write_text("{'loss': 1.0, 'epoch': 0.1}\n")

    assert "execution trace" in load_run(tmp_path).run.gaps[0].reason
