"""The JSON contract ``analyzer.diagnosis/1`` and its JSON Schema.

The keys are the fields of ``model.diagnosis.Diagnosis`` in their order. Numbers that JSON cannot hold are written as the strings "NaN", "Infinity" and
"-Infinity". New keys may be added within version 1; none is removed or changes its meaning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from analyzer.model.diagnosis import ENDINGS, SCHEMA_ID, SEVERITIES, STATUSES, Diagnosis


def render_json(diagnosis: Diagnosis) -> str:
    """The diagnosis as JSON text, indented, ending with a newline."""
    return json.dumps(diagnosis.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": True,
    }


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def diagnosis_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the contract."""
    schema = _object(_top_level())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": SCHEMA_ID,
        **schema,
    }


_TEXT: Mapping[str, Any] = {"type": "string"}
_SHARE: Mapping[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
_COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}
_MAYBE_LINE: Mapping[str, Any] = {"type": ["integer", "null"], "minimum": 0}
_MAYBE_TEXT: Mapping[str, Any] = {"type": ["string", "null"]}
_MAYBE_BOOL: Mapping[str, Any] = {"type": ["boolean", "null"]}


def _finding_schema() -> dict[str, Any]:
    evidence = _object(
        {
            "id": _TEXT, "test": _TEXT, "verdict": _MAYBE_BOOL, "bits": {"type": "number"}, "counted": {"type": "boolean"},
            "because": _TEXT, "values": {"type": "object", "additionalProperties": {"type": ["boolean", "number", "string"]}},
            "refs": _list(_object({"path": _TEXT, "line": _MAYBE_LINE, "text": _TEXT})),
            "if_true": {"type": "number"}, "if_false": {"type": "number"},
        }
    )  # fmt: skip
    change = _object(
        {
            "framework": _TEXT,
            "key": _TEXT,
            "old": _MAYBE_TEXT,
            "new": _TEXT,
            "path": _MAYBE_TEXT,
            "line": _MAYBE_LINE,
            "diff": _TEXT,
        }
    )
    fix = _object(
        {
            "id": _TEXT, "title": _TEXT, "strength": {"enum": ["cures", "mitigates", "diagnoses"]}, "cost": _TEXT,
            "applicable": _MAYBE_BOOL, "requires": _TEXT, "changes": _list(change), "code": _TEXT, "verify": _TEXT,
            "verified_by": _TEXT,
            "scope": _TEXT,
        }
    )  # fmt: skip
    cause = _object(
        {
            "id": _TEXT, "title": _TEXT, "kind": {"enum": ["cause", "symptom-class", "benign", "lifecycle"]},
            "parent": _MAYBE_TEXT, "family": _TEXT, "text": _TEXT, "references": _list(_TEXT), "look_alikes": _list(_TEXT),
        }
    )  # fmt: skip
    return _object(
        {
            "rule_id": _TEXT, "severity": {"enum": list(SEVERITIES)}, "probability": _SHARE,
            "calibrated": {"type": "boolean"}, "share": _SHARE, "bits": {"type": "number"}, "symptom_kind": _TEXT, "symptom": _TEXT,
            "cause": cause, "evidence": _list(evidence), "fixes": _list(fix), "explains": _list(_TEXT),
            "restart_advice": _TEXT, "restart_because": _TEXT, "resume_from": _TEXT, "shape_only": {"type": "boolean"},
        }
    )  # fmt: skip


def _ended_schema(place: Mapping[str, Any]) -> dict[str, Any]:
    maybe = {"type": ["number", "null"], "minimum": 0}
    return _object(
        {
            "state": {"enum": list(ENDINGS)}, "because": _TEXT, "evidence": _list(place), "planned": maybe, "reached": maybe,
            "unit": _TEXT, "silent_s": maybe, "resume_from": _TEXT,
        }
    )  # fmt: skip


def _top_level() -> dict[str, Any]:
    coverage = _object(
        {
            "sources": _list(_object({"path": _TEXT, "format": _TEXT})),
            "metrics": {"type": "object", "additionalProperties": _COUNT}, "events": _COUNT, "config_keys": _COUNT,
            "frameworks": _list(_TEXT), "last_step": {"type": ["integer", "null"]}, "completed": _MAYBE_BOOL,
            "missing": _list(_TEXT), "rows_by_name": _COUNT, "passed": _list(_TEXT),
            "guesses": {"type": "object", "additionalProperties": _TEXT},
        }
    )  # fmt: skip
    check = _object(
        {
            "fact": _TEXT, "meaning": _TEXT, "how": _TEXT, "cause_id": _TEXT, "if_true": _SHARE, "if_false": _SHARE,
            "test": _TEXT,
        }
    )  # fmt: skip
    gap = _object(
        {"path": _TEXT, "line": _MAYBE_LINE, "reason": _TEXT, "rows_lost": {"type": ["integer", "null"]}}
    )
    finding = _finding_schema()
    place = _object({"path": _TEXT, "line": _MAYBE_LINE, "text": _TEXT})
    first = _object(
        {
            "kind": _TEXT, "family": _TEXT, "rank": {"type": ["integer", "null"]}, "host": _MAYBE_TEXT, "place": place,
            "ranks": _COUNT, "followers": _COUNT, "alike": _COUNT, "launcher_rank": {"type": ["integer", "null"]},
        }
    )  # fmt: skip
    onset = _object({"step": {"type": "integer"}, "when": _TEXT, "what": _TEXT})
    maybe_number = {"type": ["number", "null"], "minimum": 0}
    split = _object(
        {
            "window_s": {"type": "number", "minimum": 0}, "compute": _SHARE, "communication": _SHARE, "copies": _SHARE, "idle": _SHARE,
            "host_late": maybe_number, "step_s": maybe_number, "top_operator": _TEXT, "top_operator_share": maybe_number,
            "top_kernel": _TEXT,
        }
    )  # fmt: skip
    return {
            "schema": {"const": SCHEMA_ID}, "tool_version": _TEXT, "rules_digest": _TEXT, "run_id": _TEXT, "root": _TEXT,
            "subject": _TEXT, "others": _list(_TEXT), "status": {"enum": list(STATUSES)}, "summary": _TEXT,
            "findings": _list(finding), "ruled_out": _list(finding),
            "other_probability": {"type": "object", "additionalProperties": _SHARE}, "next_checks": _list(check),
            "coverage": coverage, "gaps": _list(gap), "elapsed_s": {"type": "number", "minimum": 0},
            "first_failure": {"anyOf": [first, {"type": "null"}]},
            "device_time": {"anyOf": [split, {"type": "null"}]},
            "passed_over": _list(gap), "earlier": _list(_TEXT), "judged": _TEXT, "rule_packs": _list(_TEXT),
            "ended": {"anyOf": [_ended_schema(place), {"type": "null"}]},
            "onset": {"anyOf": [onset, {"type": "null"}]},
    }  # fmt: skip
