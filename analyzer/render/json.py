"""The JSON contract ``analyzer.diagnosis/1`` and its JSON Schema.

The keys are the fields of ``model.diagnosis.Diagnosis`` in their order. Numbers that JSON cannot hold are written as the strings "NaN", "Infinity" and
"-Infinity". New keys may be added within version 1; none is removed or changes its meaning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from analyzer.model.diagnosis import SCHEMA_ID, SEVERITIES, STATUSES, Diagnosis


def render_json(diagnosis: Diagnosis) -> str:
    """The diagnosis as JSON text, indented, ending with a newline."""
    return json.dumps(diagnosis.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": True}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def diagnosis_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the contract."""
    text, share = {"type": "string"}, {"type": "number", "minimum": 0, "maximum": 1}
    count, maybe_line = {"type": "integer", "minimum": 0}, {"type": ["integer", "null"], "minimum": 0}
    maybe_text, maybe_bool = {"type": ["string", "null"]}, {"type": ["boolean", "null"]}
    scalar = {"type": ["boolean", "number", "string"]}
    evidence = _object(
        {
            "id": text, "test": text, "verdict": maybe_bool, "bits": {"type": "number"}, "counted": {"type": "boolean"},
            "because": text, "values": {"type": "object", "additionalProperties": scalar},
            "refs": _list(_object({"path": text, "line": maybe_line, "text": text})),
        }
    )  # fmt: skip
    change = _object(
        {"framework": text, "key": text, "old": maybe_text, "new": text, "path": maybe_text, "line": maybe_line, "diff": text}
    )
    fix = _object(
        {
            "id": text, "title": text, "strength": {"enum": ["cures", "mitigates", "diagnoses"]}, "cost": text,
            "applicable": maybe_bool, "requires": text, "changes": _list(change), "code": text, "verify": text,
            "verified_by": text,
        }
    )  # fmt: skip
    cause = _object(
        {
            "id": text, "title": text, "kind": {"enum": ["cause", "symptom-class", "benign", "lifecycle"]},
            "parent": maybe_text, "family": text, "text": text, "references": _list(text),
        }
    )  # fmt: skip
    finding = _object(
        {
            "rule_id": text, "severity": {"enum": list(SEVERITIES)}, "probability": share,
            "calibrated": {"type": "boolean"}, "bits": {"type": "number"}, "symptom_kind": text, "symptom": text,
            "cause": cause, "evidence": _list(evidence), "fixes": _list(fix), "explains": _list(text),
            "restart_advice": text,
        }
    )  # fmt: skip
    coverage = _object(
        {
            "sources": _list(_object({"path": text, "format": text})),
            "metrics": {"type": "object", "additionalProperties": count}, "events": count, "config_keys": count,
            "frameworks": _list(text), "last_step": {"type": ["integer", "null"]}, "completed": maybe_bool,
            "missing": _list(text),
        }
    )  # fmt: skip
    check = _object({"fact": text, "meaning": text, "how": text, "cause_id": text, "if_true": share, "if_false": share})
    gap = _object({"path": text, "line": maybe_line, "reason": text, "rows_lost": {"type": ["integer", "null"]}})
    schema = _object(
        {
            "schema": {"const": SCHEMA_ID}, "tool_version": text, "rules_digest": text, "run_id": text, "root": text,
            "subject": text, "others": _list(text), "status": {"enum": list(STATUSES)}, "summary": text,
            "findings": _list(finding), "ruled_out": _list(finding),
            "other_probability": {"type": "object", "additionalProperties": share}, "next_checks": _list(check),
            "coverage": coverage, "gaps": _list(gap), "elapsed_s": {"type": "number", "minimum": 0},
        }
    )  # fmt: skip
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, "title": SCHEMA_ID, **schema}
