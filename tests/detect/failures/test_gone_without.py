"""What is told on the way and ends no run: a record that cannot be shown, a step that waits, what is done without; and its near misses."""

from __future__ import annotations

import pytest

from analyzer import diagnose

ROWS = "".join(
    f"Epoch {n}/30 train_loss: {2.3 * 0.9**n + 0.1:.4f} val_loss: {2.4 * 0.9**n + 0.12:.4f}\n"
    for n in range(1, 31)
)
RAISED = (
    "Traceback (most recent call last):\n"
    '  File "C:\\py\\lib\\logging\\__init__.py", line 1103, in emit\n    stream.write(msg + self.terminator)\n'
    '  File "C:\\py\\lib\\encodings\\cp1252.py", line 19, in encode\n    return codecs.charmap_encode(input)[0]\n'
    "UnicodeEncodeError: 'charmap' codec can't encode character '\\u2192' in position 7: character maps to <undefined>\n"
)
REST = "Call stack:\n  File \"C:\\w\\train.py\", line 9, in <module>\n    main()\nMessage: 'best \\u2192 %s'\nArguments: ('m.pt',)\n"
POWERSHELL = (
    "python : --- Logging error ---\nAt line:1 char:1\n+ python train.py\n+ ~~~~~~~~~~~~~~~\n"
    "    + CategoryInfo          : NotSpecified: (--- Logging error ---:String) [], RemoteException\n"
    "    + FullyQualifiedErrorId : NativeCommandError\n \n"
)


@pytest.mark.parametrize(
    ("above", "below", "accused"),
    [
        ("--- Logging error ---\n", REST, False),
        ("--- Logging error ---\n", REST + "--- Logging error ---\n" + RAISED + REST, False),
        (POWERSHELL, REST, False),
        ("", "", True),
        ("+ FullyQualifiedErrorId : NativeCommandError\n", "", True),
    ],
    ids=["a-record", "again", "below-the-words-of-powershell", "a-print", "a-print-in-powershell"],
)
def test_a_record_that_cannot_be_shown_ends_no_run(tmp_path, above, below, accused):
    (tmp_path / "train.log").write_text(ROWS + above + RAISED + below, encoding="utf-8")
    causes = [(f.cause.id, f.probability > 0.5) for f in diagnose(tmp_path / "train.log").findings]

    assert (("text-encoding-mismatch", True) in causes) is accused


QUEUE = (
    "Traceback (most recent call last):\n"
    '  File "/usr/lib/python3.8/multiprocessing/queues.py", line 239, in _feed\n    obj = _ForkingPickler.dumps(obj)\n'
    '  File "/opt/torch/multiprocessing/reductions.py", line 348, in reduce_storage\n    df = DupFd(fd)\n'
)


IN_ITS_FOLDER = (
    '  File "/usr/lib/python3.8/multiprocessing/util.py", line 146, in get_temp_dir\n'
    "OSError: [Errno 28] No space left on device: '/tmp/pymp-a1b2c3'\n"
)


@pytest.mark.parametrize(
    ("frames", "cause"),
    [(IN_ITS_FOLDER, "disk-full"), ("OSError: [Errno 28] No space left on device\n", "shm-too-small")],
    ids=["its-folder", "its-block"],
)
def test_which_device_is_full_while_workers_hand_over_a_tensor(tmp_path, frames, cause):
    (tmp_path / "train.log").write_text(QUEUE + frames, encoding="utf-8")

    assert diagnose(tmp_path / "train.log").findings[0].cause.id == cause


BREAKS = (
    'Traceback (most recent call last):\n  File "/app/train.py", line 8, in <module>\n    main()\n'
    "  File \"/app/train.py\", line 5, in main\n    rate = settings['rate']\nKeyError: 'rate'\n"
)


@pytest.mark.parametrize(
    ("line", "accused"),
    [
        ('/lib/torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: \n  warn(f"Failed to load image Python extension: {e}")\n', False),
        ("srun: Job 77 step creation still disabled, retrying (Requested nodes are busy)\nsrun: Step created for StepId=77.4\n", False),
        ("W bfc_allocator.cc:245] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.29GiB with freed_by_count=0. The caller\n", False),
        ("srun: error: Unable to allocate resources: Requested nodes are busy\n", True),
        ("W bfc_allocator.cc:424] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.29GiB (rounded to 24)\n", True),
        ("ValueError: Failed to load image /data/a.jpg\n", True),
    ],
    ids=["an-extension", "a-step-waits", "could-be-faster", "refused", "does-not-fit", "a-record"],
)  # fmt: skip
def test_what_a_program_does_without_is_no_failure(tmp_path, line, accused):
    (tmp_path / "train.log").write_text(line + (BREAKS if not accused else ""), encoding="utf-8")
    finding = diagnose(tmp_path / "train.log").findings[0]

    assert (finding.cause.id != "user-code-exception") is accused
