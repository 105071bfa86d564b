"""The tab in TensorBoard: what its addresses answer, and that TensorBoard finds it."""

import json
import re
from importlib import metadata
from pathlib import Path

import pytest
from tensorboard.plugins.base_plugin import TBContext
from werkzeug.test import Client

from analyzer.integrations.tensorboard_plugin import DiagnosisPlugin

SAMPLES = Path(__file__).parent.parent.parent / "samples"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Asks an address of the tab over a failed run, and one whose log holds markup."""
    logdir = tmp_path_factory.mktemp("logdir")
    (logdir / "talks").mkdir()
    rows = ["<script>alert(1)</script>", *(f"step {i} loss {1 / i}" for i in range(1, 9))]
    rows += [
        "Traceback (most recent call last):",
        '  File "t.py", line 1, in <module>',
        "ValueError: <b>bad</b>",
    ]
    (logdir / "talks" / "train.log").write_text("\n".join(rows) + "\n", encoding="utf-8")
    sample = logdir / "sft"
    sample.mkdir()
    for name in ("train.log", "train_config.yaml"):
        (sample / name).write_bytes((SAMPLES / "failed" / "qwen2-fp16-sft-loss-zero" / name).read_bytes())
    plugin = DiagnosisPlugin(TBContext(logdir=str(logdir)))
    assert plugin.is_active()
    return lambda address: Client(plugin.get_plugin_apps()[address.partition("?")[0]]).get(address)


@pytest.fixture(scope="module")
def keys(ask):
    return {run["name"]: run["key"] for run in ask("/runs").json}


def test_tensorboard_finds_it():
    try:
        metadata.distribution("training-analyzer")
    except metadata.PackageNotFoundError:
        pytest.skip("the distribution is not installed")
    named = {entry.name: entry.value for entry in metadata.entry_points(group="tensorboard_plugins")}
    if "analyzer" not in named:
        pytest.skip("the distribution was installed before it had the entry point")

    assert named["analyzer"] == "analyzer.integrations.tensorboard_plugin:DiagnosisPlugin"


def test_the_runs_are_named_and_each_is_diagnosed(ask, keys):
    found = json.loads(ask(f"/diagnosis?run={keys['sft']}").text)

    assert set(keys) == {"sft", "talks"}
    assert found["status"] == "failed"
    assert found["cause"]
    assert found["fix"]


def test_the_script_of_a_report_may_run_and_that_of_a_log_may_not(ask, keys):
    answer = ask(f"/report?run={keys['talks']}")
    policy = answer.headers["Content-Security-Policy"]

    assert answer.status_code == 200
    assert "<script>alert(1)" not in answer.text
    assert len(re.findall("sha256-", policy)) == 1
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]


@pytest.mark.parametrize("run", ["", "0000000000000000", "../../etc/passwd"])
def test_a_run_that_was_not_listed_is_not_read(ask, run):
    assert ask(f"/report?run={run}").status_code == 404
    assert ask(f"/diagnosis?run={run}").json["status"] == "unreadable"


def test_the_tab_is_a_module_that_draws_without_markup(ask):
    script = ask("/index.js").text

    assert "export async function render()" in script
    assert "innerHTML" not in script


def test_there_is_no_tab_without_runs_on_this_machine():
    assert not DiagnosisPlugin(TBContext(logdir="s3://bucket/runs")).is_active()
    assert not DiagnosisPlugin(TBContext(logdir="")).is_active()
