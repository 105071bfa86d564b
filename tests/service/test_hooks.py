"""The examples of ``samples/hooks``: their own commands, run as the scheduler or the runner would run them."""

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

from analyzer.desk import Desk
from analyzer.service.server import Jobs, Service

ROOT = Path(__file__).parent.parent.parent
HOOKS = ROOT / "samples" / "hooks"
BAD = "".join(f"step {i} loss: 2.{99 - i} grad_norm: 1.2\n" for i in range(1, 41)) + (
    "Traceback (most recent call last):\n"
    '  File "/home/u7/train.py", line 61, in save\n'
    "OSError: [Errno 28] No space left on device: 'ckpt/step_40.pt'\n"
)


def program(folder, name, text):
    path = folder / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def programs(tmp_path):
    """A folder of commands before all others; ``analyzer`` is this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder, "analyzer", f'#!/bin/sh\nexec {sys.executable} -m analyzer "$@"\n')
    return folder


def environment(programs, **more):
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **more}


def test_the_steps_of_the_workflow_explain_a_training_that_fails(tmp_path, programs):
    steps = yaml.safe_load((HOOKS / "github-actions.yml").read_text())["jobs"]["smoke"]["steps"]
    runs = [step["run"] for step in steps if "run" in step and not step["run"].startswith("pip ")]
    program(programs, "python", f"#!/bin/sh\ncat <<'END'\n{BAD}END\nexit 1\n")
    work, summary = tmp_path / "work", tmp_path / "summary.md"
    work.mkdir()
    done = [
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run],  # what "shell: bash" means there
            cwd=work,
            env=environment(programs, GITHUB_STEP_SUMMARY=str(summary)),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        for run in runs
    ]

    assert [step.returncode for step in done] == [1, 1], [step.stderr for step in done]
    assert "disk-full" in summary.read_text()
    assert json.loads((work / "analyzer.sarif").read_text())["version"] == "2.1.0"
    assert "disk-full" in (work / "report.html").read_text()


def test_the_monitor_has_a_failed_job_diagnosed_once_and_never_by_the_log_of_another(tmp_path, programs):
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    (jobs / "slurm-7.out").write_text(BAD)
    program(programs, "sacct", f"#!/bin/sh\necho '7|sft|u7|FAILED|{jobs}'\necho '8|sft|u7|FAILED|{jobs}'\n")
    program(
        programs,
        "scontrol",
        "#!/bin/sh\necho 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n",
    )
    with Service(("127.0.0.1", 0), Jobs(Desk([jobs]), 4), tmp_path) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        command = [
            sys.executable,
            HOOKS / "sacct_monitor.py",
            "--every",
            "0",
            "--state",
            tmp_path / "state.json",
        ]
        command += ["--service", f"http://127.0.0.1:{service.server_address[1]}"]
        first, again = (
            subprocess.run(
                command, env=environment(programs), capture_output=True, text=True, timeout=120, check=True
            )
            for _ in range(2)
        )
        service.shutdown()

    assert first.stdout.splitlines()[0].startswith("7 u7 FAILED failed: disk-full 9")
    assert (
        first.stdout.splitlines()[1] == "8 u7 FAILED not diagnosed (its log is not where the scheduler says)"
    )
    assert again.stdout == ""


def test_the_second_container_of_the_job_writes_answer_and_page_after_the_first_ended(tmp_path, programs):
    pod = yaml.safe_load((HOOKS / "kubernetes-job.yaml").read_text())["spec"]["template"]["spec"]
    train, helper = (container["command"] for container in pod["containers"])
    (tmp_path / "run").mkdir()
    waiting = subprocess.Popen(
        helper, cwd=tmp_path / "run", env=environment(programs), stdout=subprocess.PIPE, text=True
    )
    program(programs, "python", f"#!/bin/sh\ncat <<'END'\n{BAD}END\nexit 1\n")
    trained = subprocess.run(
        train, cwd=tmp_path / "run", env=environment(programs), capture_output=True, timeout=60, check=False
    )
    said, _ = waiting.communicate(timeout=120)

    assert trained.returncode == 1
    assert waiting.returncode == 0
    assert "disk-full" in said
    assert "disk-full" in (tmp_path / "run" / "report.html").read_text()
