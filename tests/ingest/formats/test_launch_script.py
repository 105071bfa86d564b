"""Launch scripts: what they ask for, where it stands, and what is not claimed."""

from __future__ import annotations

import pytest

from analyzer import diagnose, load

SCRIPT = """\
#!/bin/bash
#SBATCH --mem=64G
#SBATCH -N 2
export NCCL_SOCKET_IFNAME=eth0
BATCH=16
# torchrun old.py --lr 9
srun torchrun --nproc-per-node 8 \\
    --rdzv-endpoint $(hostname):29500 \\
    train.py \\
    --batch-size $BATCH \\
    --warmup-steps $WARMUP \\
    --lr 3e-4 --bf16 2>&1 | tee log.txt
"""


def _read(tmp_path, script=SCRIPT, name="run.sbatch", log="step 1 loss 3.0\nstep 2 loss 2.9\n"):
    (tmp_path / name).write_text(script)
    (tmp_path / "train.log").write_text(log)
    return load(tmp_path)


def _entries(run):
    return {(e.framework, e.key_in_source): (e.value, e.ref.line) for e in run.config.entries}


def test_options_variables_and_arguments_are_settings_with_their_lines(tmp_path):
    found = _entries(_read(tmp_path))

    assert found["slurm", "--mem"] == ("64G", 2)
    assert found["slurm", "--nodes"] == (2, 3)
    assert found["env", "NCCL_SOCKET_IFNAME"] == ("eth0", 4)
    assert found["launcher", "torchrun --nproc-per-node"] == (8, 7)
    assert found["config", "batch_size"] == (16, 10)
    assert found["config", "lr"] == (3e-4, 12)
    assert found["config", "bf16"] == (True, 12)


def test_what_is_not_known_is_left_out(tmp_path):
    found = _entries(_read(tmp_path))

    assert ("config", "warmup_steps") not in found  # nobody set $WARMUP
    assert ("launcher", "torchrun --rdzv-endpoint") not in found  # a command would have to be run
    assert found["config", "lr"][0] != 9  # a comment


def test_of_several_scripts_none_is_read(tmp_path):
    (tmp_path / "other.sh").write_text("python train.py --lr 1\n")
    run = _read(tmp_path)

    assert not run.config.entries
    assert any("several launch scripts" in gap.reason for gap in run.gaps)


@pytest.mark.parametrize("text", ["echo hello\n", "#!/bin/sh\nls\n"])
def test_a_script_that_starts_no_program_is_none(tmp_path, text):
    assert not _read(tmp_path, script=text, name="build.sh").config.entries


@pytest.mark.parametrize(
    "text",
    [
        "torchrun train.py --name 'open\n",
        "python train.py \\\n",
        "python -m\n",
        "docker run --shm-size\n",
        "python \\",
    ],
)
def test_half_a_command_harms_nothing(tmp_path, text):
    _read(tmp_path, script=text, name="run.sh")


def test_a_fix_names_the_line_of_the_script(tmp_path):
    log = (
        "step 1 loss 9.3\nstep 2 loss 9.2\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
        "GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free. Of the allocated memory 75.10 GiB is "
        "allocated by PyTorch, and 1.10 GiB is reserved by PyTorch but unallocated.\n"
    )
    _read(tmp_path, log=log)
    change = diagnose(tmp_path).findings[0].fixes[0].changes[0]

    assert (change.key, change.old, change.new) == ("--batch_size", "16", "1")
    assert (change.path, change.line) == ("run.sbatch", 10)


def test_the_scheduler_s_option_is_shown_where_it_stands(tmp_path):
    _read(
        tmp_path,
        log="step 1 loss 3.0\nslurmstepd: error: Detected 1 oom_kill event in StepId=7.batch. Some of the step tasks have been OOM Killed.\n",
    )
    fixes = diagnose(tmp_path).findings[0].fixes

    change = next(c for fix in fixes for c in fix.changes if c.key == "--mem")
    assert (change.old, change.path, change.line) == ("64G", "run.sbatch", 2)


def test_variables_that_hold_each_other_fill_no_memory(tmp_path):
    lines = [f"{chr(66 + i)}={f'${chr(65 + i)}' * 190}" for i in range(6)]
    text = "\n".join(["#!/bin/bash", "A=xxxxxxxx", *lines, "python train.py --lr 0.1 --name $G"])
    found = _entries(_read(tmp_path, text + "\n"))

    assert found["config", "lr"][0] == 0.1
    assert ("config", "name") not in found


def test_a_command_of_thousands_of_options_is_read(tmp_path):
    text = "#!/bin/bash\npython train.py \\\n" + "".join(f"--o{i} {i} \\\n" for i in range(4000))
    found = _entries(_read(tmp_path, text + "\n"))

    assert found["config", "o3999"] == (
        3999,
        2,
    )  # beyond the lines that are looked at: the line of the command
    assert found["config", "o100"] == (100, 103)
