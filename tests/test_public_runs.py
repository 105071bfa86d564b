"""Real run files of public projects: each is read or refused with a reason, and healthy ones raise no alarm.

The files stand beside the project and are not part of it; without them these tests are skipped.
"""

import pytest
from public_files import PUBLIC, manifest

import analyzer
from analyzer.errors import InputError

FAULTS = {"fatal", "degrading"}
ROWS = manifest()
pytestmark = pytest.mark.skipif(not ROWS, reason="the public run files are not here")


def diagnosis_of(path):
    """The text of a refusal and None, or an empty text and the diagnosis."""
    try:
        return "", analyzer.diagnose(path)
    except InputError as error:
        return str(error), None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["local_path"][-60:])
def test_a_real_file_is_diagnosed_or_refused_with_a_reason(row):
    refusal, dx = diagnosis_of(PUBLIC / row["local_path"])
    if dx is None:
        assert row["local_path"].rpartition("/")[2] in refusal
        return

    faults = [
        (f.cause.id, f.probability)
        for f in dx.findings
        if f.severity in FAULTS and f.probability >= 0.3 and not f.by_likeness
    ]
    if row["outcome_class"] == "healthy":
        assert faults == []
        assert dx.status in {"healthy", "insufficient", "interrupted"}


LOST = [
    ("wandb-run", "run-uoar2m10.wandb"),
    ("wandb-run", "run-oj5c5z76.wandb"),
    ("deepspeed-log", "d0df7a8/random_ltd/gpt_finetuning/output1/check/train_with_kernel.log"),
    ("fairseq-log", "fb_sweep/mock_results/big_run.run1/train.log"),
]


@pytest.mark.parametrize(("kind", "name"), LOST, ids=lambda text: text[-30:])
def test_a_run_marked_nan_or_loss_zero_is_never_called_healthy(kind, name):
    row = next(row for row in ROWS if row["format"] == kind and row["local_path"].endswith(name))

    assert analyzer.diagnose(PUBLIC / row["local_path"]).status == "failed"
