"""A detector that is imported only for runs that hold what it measures has nothing to say of any other run."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from analyzer.detect import DETECTORS, run_detectors
from analyzer.detect.base import RunView
from analyzer.detect.setup.run_course import reward_metrics
from analyzer.ingest.discover import load_run

SAMPLES = Path(__file__).parents[2] / "samples"
RUNS = sorted(path for kind in ("failed", "healthy") for path in (SAMPLES / kind).iterdir() if path.is_dir())


def without_rows(run):
    table = run.metrics
    empty = {name: value[:0] for name, value in vars(table).items() if isinstance(value, np.ndarray)}
    return replace(run, metrics=replace(table, **empty))


def facts_of(detector, view):
    measure = import_module(f"analyzer.detect.{detector.module}").detect
    return detector._replace(detect=measure).measure(view).facts


@pytest.mark.parametrize("path", RUNS[::3], ids=lambda path: path.name)
def test_of_what_it_does_not_wait_for_a_detector_knows_nothing(path):
    run = load_run(path, []).run
    for each in (run, without_rows(run)):
        said = {name for signal in run_detectors(each) for name in signal.facts}
        view = RunView(each)  # shared, as in a diagnosis
        with np.errstate(all="ignore"):
            judged = [d for d in DETECTORS if d.policies or not view.once(reward_metrics)]
            found = {name for detector in judged for name in facts_of(detector, view)}
        assert found <= said
