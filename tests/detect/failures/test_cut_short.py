"""Tracebacks whose last line is lost: the frames that are left tell what the program was doing, and name no fault of its own code."""

from __future__ import annotations

import pytest

import analyzer
from analyzer.model.wording import LIKELY

LIB = "/opt/venv/lib/python3.10/site-packages"
HEAD = 'Traceback (most recent call last):\n  File "train.py", line 90, in <module>\n    main()\n'
CUT = {
    "dataloader-worker-killed": f'  File "{LIB}/batchgenerators/dataloading/multi_threaded_augmenter.py", line 210, in __next__\n    item = self._next()\n',
    "checkpoint-write-failed": f'  File "{LIB}/transformers/trainer.py", line 2900, in _save_checkpoint\n    self._save(folder)\n',
    "offline-cache-miss": f'  File "{LIB}/huggingface_hub/file_download.py", line 1240, in hf_hub_download\n    data = ask(url)\n',
    "tracker-unreachable": f'  File "{LIB}/wandb/sdk/wandb_init.py", line 1180, in init\n    wi.setup(kwargs)\n',
}
LAUNCHER = (
    f'  File "{LIB}/accelerate/commands/launch.py", line 1174, in launch_command\n    simple_launcher(args)\n'
)
PARTLY = "2022-04-01 10:00:00,000 - mmdet - WARNING - The model and loaded state dict do not match exactly\n"
MISFIT = "size mismatch for head.weight: copying a param with shape torch.Size([20, 8]) from checkpoint, the shape in current model is torch.Size([21, 8]).\n"
REFUSED = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    net.load_state_dict(d)\nRuntimeError: Error(s) in loading state_dict for Net:\n\t'
STEP = '  File "/home/user/proj/utils/optimization.py", line 220, in step\n    exp_avg.mul_(beta1).add_(grad, alpha=1.0 - beta1)\n'
FORWARD = '  File "/home/user/proj/net.py", line 220, in forward\n    return x + self.position\n'
SIZES = "RuntimeError: The size of tensor a (768) must match the size of tensor b (2) at non-singleton dimension 0\n"
pytestmark = pytest.mark.usefixtures("causes_only")


def causes(folder, text):
    log = folder / "train.log"
    log.write_text("loading configuration\n" + text, encoding="utf-8")
    return [finding.cause.id for finding in analyzer.diagnose(log).findings]


@pytest.mark.parametrize("cause", CUT)
def test_where_the_message_is_lost_the_last_frames_tell_what_the_program_was_doing(tmp_path, cause):
    assert cause in causes(tmp_path, HEAD + CUT[cause])[:3]


def test_the_stack_of_a_launcher_is_no_fault_of_the_program(tmp_path):
    (tmp_path / "train.log").write_text("loading configuration\n" + HEAD + LAUNCHER, encoding="utf-8")
    found = analyzer.diagnose(tmp_path / "train.log").findings
    assert [each for each in found if each.probability >= LIKELY] == [], (
        "no more than what logs that end so often had"
    )


def test_beside_a_whole_traceback_a_cut_one_names_no_lost_worker(tmp_path):
    whole = HEAD + STEP + "ZeroDivisionError: division by zero\n"
    assert causes(tmp_path, HEAD + CUT["dataloader-worker-killed"] + "\n" + whole)[0] == "user-code-exception"


@pytest.mark.parametrize(
    ("text", "first"),
    [(PARTLY + "\n" + MISFIT, False), (MISFIT, True), (PARTLY + "\n" + MISFIT + REFUSED + MISFIT, True)],
    ids=["without-strictness", "alone", "then-refused"],
)
def test_weights_that_a_lenient_loader_leaves_out_end_nothing(tmp_path, text, first):
    below = "" if first else HEAD + FORWARD + "ZeroDivisionError: division by zero\n"
    assert (causes(tmp_path, text + below)[:1] == ["checkpoint-config-mismatch"]) is first


@pytest.mark.parametrize(("frame", "first"), [(STEP, True), (FORWARD, False)], ids=["optimizer", "model"])
def test_moments_of_another_shape_than_their_weight_were_loaded(tmp_path, frame, first):
    assert (causes(tmp_path, HEAD + frame + SIZES)[:1] == ["checkpoint-config-mismatch"]) is first


def test_a_long_log_that_begins_in_the_middle_is_not_called_short(tmp_path):
    rows = [
        f"epoch: {epoch}/36, iter: {at}/100, loss: {2.9 - epoch / 30:.3f}\n"
        for epoch in range(7, 18)
        for at in range(10, 101, 10)
    ]
    (tmp_path / "train.log").write_text("".join(rows[:-6]), encoding="utf-8")
    because = analyzer.diagnose(tmp_path).ended.because

    assert "a log that begins in the middle may be a part of one" in because
