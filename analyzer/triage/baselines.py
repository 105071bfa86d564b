"""The baseline of a failed run: the healthy run nearest to it by configuration. What differs between them is evidence.

A baseline has to be of the same model (where both say which) and library, and equal in most settings that both state;
runs that share a machine only would point at differences that mean nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.record import dataclass

FEWEST_SHARED = 8
"""Settings stated by both before "alike" means anything; a bare log states two to five."""

LEAST_ALIKE = 0.75
"""Share of the shared settings that have to be equal: a baseline of 20 settings may differ in 5."""

CANDIDATES = 500
"""Healthy runs kept for each model and library: more are more of the same, and memory stays flat."""

_INDIFFERENT = ("train.seed", "train.resume_from", "train.logging", "hf.", "versions.", "run.", "output")
"""Settings that differ between any two runs, or that say nothing about the training."""

WANTS_BASELINE = frozenset({"failed", "degraded"})


@dataclass(frozen=True, slots=True)
class _Candidate:
    key: str
    settings: Mapping[str, int]
    start_s: float | None


def choose_baselines(
    healthy: Iterable[Mapping[str, Any]], failed: Iterable[Mapping[str, Any]]
) -> dict[str, str]:
    """Key of a failed run to key of its baseline, for those that have one.

    Args:
        healthy: Rows of all runs; those whose status alone is healthy come into question.
        failed: Rows of all runs; those whose status alone is failed or degraded get a baseline.
    """
    candidates: dict[tuple[str, ...], list[_Candidate]] = {}
    for row in healthy:
        if row["status_alone"] == "healthy":
            block = candidates.setdefault(_block(row), [])
            settings = _settings(row)
            if len(block) < CANDIDATES and len(settings) >= FEWEST_SHARED:
                block.append(_Candidate(row["key"], settings, row["start_s"]))
    chosen: dict[str, str] = {}
    for row in failed:
        if row["status_alone"] in WANTS_BASELINE and (block := candidates.get(_block(row), [])):
            baseline = _nearest(_settings(row), row["start_s"], block)
            if baseline is not None:
                chosen[row["key"]] = baseline
    return chosen


def _block(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (str(row["model"] or "").lower(), *row["frameworks"])


def _settings(row: Mapping[str, Any]) -> dict[str, int]:
    """Settings as hashes of their values; numbers that files round alike are equal."""
    stated: dict[str, Any] = json.loads(row["config"] or "{}")
    return {
        key: hash(f"{value:.6g}" if isinstance(value, int | float) else str(value))
        for key, value in stated.items()
        if value is not None and not key.startswith(_INDIFFERENT)
    }


def _nearest(settings: Mapping[str, int], start_s: float | None, block: Iterable[_Candidate]) -> str | None:
    best: tuple[float, int, float, str] | None = None
    for candidate in block:
        shared = settings.keys() & candidate.settings.keys()
        if len(shared) < FEWEST_SHARED:
            continue
        equal = sum(settings[key] == candidate.settings[key] for key in shared)
        if equal < LEAST_ALIKE * len(shared):
            continue
        apart_s = abs((start_s or 0.0) - (candidate.start_s or 0.0))
        rank = (len(shared) - equal, -len(shared), apart_s, candidate.key)
        if best is None or rank < best:
            best = rank
    return None if best is None else best[3]
