"""Many runs at once, for a caller that waits for the answer."""

from __future__ import annotations

import tempfile
from pathlib import Path

from analyzer.triage.campaign import Campaign, run_campaign
from analyzer.triage.pages import render_fleet
from analyzer.triage.places import open_place
from analyzer.triage.plan import make_plan
from analyzer.triage.specs import Options, worker_count
from analyzer.triage.store import Dataset

MOST_RUNS = 200
"""Runs that one call diagnoses: about a minute on two cores. More are for ``analyzer triage --out``."""


def triage(folder: Path, rules: tuple[Path, ...]) -> str:
    """What failed below a folder and which failures are one."""
    plan = make_plan([str(folder)], offline=True)
    found = len(plan.runs)
    del plan.runs[MOST_RUNS:]
    options = Options(tuple(str(place) for place in rules), offline=True)
    with tempfile.TemporaryDirectory(prefix="analyzer-") as directory:
        place = open_place(directory)
        result = run_campaign(Campaign(place, options, workers=worker_count(None)), plan, lambda *_: None)
        text = render_fleet(result.summary, Dataset(place).records, "terminal")
    left = (
        f"only the first {MOST_RUNS} of {found} runs; all: analyzer triage {folder}\n"
        if found > MOST_RUNS
        else ""
    )
    return left + text
