"""On how many hosts a run was launched, and whether its command reached it as a whole."""

import pytest
from make_run import RunMaker, falling

from analyzer import api


@pytest.mark.parametrize(
    ("fields", "hosts"),
    [({"nodes": 1}, 1), ({"nodes": 3}, 3), ({"local": "localhost"}, 1), ({"standalone": "--standalone"}, 1)],
)
def test_hosts_are_those_that_the_launch_states(fields, hosts):
    maker = RunMaker().event("hosts_stated", **fields).event("nccl_error").log({"loss": falling(5)})

    assert maker.plain()["run.hosts"] == hosts


def test_two_stated_hosts_outweigh_a_local_address():
    maker = (
        RunMaker().event("hosts_stated", local="localhost").event("hosts_stated", nodes=2).event("nccl_error")
    )

    assert maker.log({"loss": falling(5)}).plain()["run.hosts"] == 2


ROWS = "".join(f"Epoch {epoch}/9 train_loss: {2 / epoch:.4f}\n" for epoch in range(1, 10))


@pytest.mark.parametrize(
    "line",
    [
        "job.sh: line 3: --lr: command not found",
        "zsh: command not found: --lr",
        "job.sh:3: command not found: --lr=0.1",
        "job.sh: 3: --lr: not found",
    ],
)
def test_an_option_is_cut_off_only_below_output_of_the_program(tmp_path, line):
    for name, text in (("below", f"{ROWS}{line}\n"), ("above", f"{line}\n{ROWS}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(text)
    below, above = (api.diagnose(tmp_path / name) for name in ("below", "above"))

    assert [finding.rule_id for finding in below.findings][:1] == ["CFG041"]
    assert "CFG041" not in [finding.rule_id for finding in above.findings]
