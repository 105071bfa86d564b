"""The command line as people and scripts meet it: exit codes, one-line errors, formats."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from command_line import call

from analyzer.rules.load import load_rules

ROOT = Path(__file__).parent.parent.parent
QWEN = "samples/failed/qwen2-fp16-sft-loss-zero"
HEALTHY = "samples/healthy/qwen2-bf16-sft"


def run(*arguments, stdin=b"", cwd=ROOT):
    code, out, err = call(*arguments, stdin=stdin, cwd=cwd)
    return SimpleNamespace(returncode=code, stdout=out, stderr=err)


def test_the_module_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "analyzer", "diagnose", QWEN], cwd=ROOT, capture_output=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, run("diagnose", QWEN).stdout, b"")


def one_line(result, code):
    """The error text: exactly one line on stderr, nothing on stdout, no traceback."""
    text = result.stderr.decode()
    assert result.returncode == code, text
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    assert result.stdout == b""
    return text


def test_a_failed_run_is_told_and_exits_with_0():
    result = run("diagnose", QWEN)

    assert result.returncode == 0
    assert result.stdout.decode().startswith("FAILED  samples/failed/qwen2")
    assert result.stderr == b""


@pytest.mark.parametrize(("level", "code"), [("never", 0), ("possible", 1), ("likely", 1)])
def test_fail_on_decides_the_exit_code(level, code):
    assert run("diagnose", QWEN, "--fail-on", level).returncode == code


def test_fail_on_does_not_fail_a_healthy_run():
    assert run("diagnose", HEALTHY, "--fail-on", "possible").returncode == 0


def test_the_columns_of_a_triage_are_listed():
    text = run("schema", "triage").stdout.decode()

    assert "  gpu_hours: real; GPUs times hours" in text
    assert "  evidence: evidence; counted lines" in text


def test_json_is_valid_by_the_schema_that_the_tool_prints():
    schema = json.loads(run("schema", "diagnosis").stdout)
    data = json.loads(run("diagnose", QWEN, "--format", "json").stdout)

    jsonschema.validate(data, schema)
    assert data["status"] == "failed"


def test_output_goes_to_a_file(tmp_path):
    target = tmp_path / "report.md"
    result = run("diagnose", QWEN, "-f", "markdown", "-o", target)

    assert result.stdout == b""
    assert target.read_text(encoding="utf-8").startswith("## failed")


def test_a_log_through_standard_input_is_diagnosed():
    log = (ROOT / QWEN / "train.log").read_bytes()
    result = run("diagnose", "-", stdin=log)

    assert result.returncode == 0
    assert b"FAILED" in result.stdout


def test_no_colour_without_a_terminal():
    assert b"\x1b[" not in run("diagnose", QWEN).stdout


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda d: d / "missing", "no such file or directory"),
        (lambda d: d, "no files"),
        (lambda d: write(d / "empty.log", b""), "empty"),
        (lambda d: write(d / "junk.log", bytes(range(256)) * 64), "junk.log"),
        (lambda d: write(d / "zero.log", b"\0" * 100_000), "zero.log"),
        (lambda d: write(d / "photo.dat", b"\x89PNG\r\n\x1a\n" + os.urandom(2000)), "photo.dat"),
    ],
)
def test_bad_input_is_one_line_and_exit_3(tmp_path, make, says):
    assert says in one_line(run("diagnose", make(tmp_path)), 3)


def write(path, content):
    path.write_bytes(content)
    return path


def test_empty_standard_input_is_one_line_and_exit_3():
    one_line(run("diagnose", "-", stdin=b""), 3)


def test_unreadable_input_in_json_still_gives_valid_json(tmp_path):
    result = run("diagnose", tmp_path, "-f", "json")
    data = json.loads(result.stdout)

    assert result.returncode == 3
    assert data["status"] == "unreadable"


def test_a_url_that_is_not_read_is_refused_with_what_to_do():
    assert "download" in one_line(run("diagnose", "s3://bucket/runs/c"), 3)


def test_an_unwritable_output_is_one_line(tmp_path):
    assert "cannot be written" in one_line(run("diagnose", QWEN, "-o", tmp_path / "no" / "file"), 3)


def test_wrong_usage_exits_with_2():
    assert run("diagnose").returncode == 2
    assert run("diagnose", QWEN, "--format", "pdf").returncode == 2


def test_an_invalid_rule_pack_is_one_line_with_its_place_and_exit_4(tmp_path):
    (tmp_path / "rule.yaml").write_text("schema: 1\nid: [", encoding="utf-8")
    text = one_line(run("diagnose", QWEN, "--rules", tmp_path), 4)

    assert "rule.yaml:" in text


def test_a_link_out_of_the_run_directory_is_not_followed(tmp_path):
    secret = tmp_path / "secret.log"
    secret.write_text("step: 1 loss: 2.0\n" * 20, encoding="utf-8")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "train.log").symlink_to(secret)

    assert "leads out" in one_line(run("diagnose", folder), 3)


def test_one_unreadable_file_does_not_lose_the_others(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "train.log").write_bytes((ROOT / QWEN / "train.log").read_bytes())
    (folder / "broken.json").write_bytes(b'{"log_history": [{"loss": 1')
    (folder / "half.log.gz").write_bytes(b"\x1f\x8b\x08\x00broken")
    data = json.loads(run("diagnose", folder, "-f", "json").stdout)

    assert data["status"] == "failed"
    assert any("half.log.gz" in gap["reason"] + gap["path"] for gap in data["gaps"])


def test_control_characters_and_secrets_of_a_log_never_reach_the_screen(tmp_path):
    log = tmp_path / "train.log"
    log.write_bytes(
        b"api_key=abcdef1234567890 \x1b]0;owned\x07\x1b[2J\n"
        + b"".join(
            b"{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': %.2f}\n" % (i / 100)
            for i in range(1, 40)
        )
        + b'Traceback (most recent call last):\n  File "train.py", line 1, in <module>\n'
        + b"RuntimeError: \x1b[2Jtoken hf_abcdefghijklmnopqrstuvwxyz\n"
    )
    for name in ("terminal", "json", "markdown"):
        out = run("diagnose", log, "-f", name, "--all").stdout
        assert b"\x1b" not in out
        assert b"\\u001b" not in out
        assert b"hf_abcdef" not in out


def test_explain_prints_the_ledger_and_names_what_was_considered():
    ledger = run("explain", QWEN).stdout
    assert b"total, in bits" in ledger
    assert b"with this cause, in" in ledger  # what labelled runs say of a line
    assert b"learning-rate-too-high" in run("explain", QWEN, "learning-rate-too-high").stdout
    assert "considered were" in one_line(run("explain", QWEN, "disk-full"), 3)


def test_rules_can_be_listed_shown_searched_and_checked():
    listed = run("rules", "list").stdout.decode()
    found = run("rules", "list", "--grep", "embedding").stdout.decode()

    assert len(listed.splitlines()) >= 30
    assert "untrained-special-token-embedding" in found
    assert b"How it is told apart" in run("rules", "show", "fp16-loss-scale-collapse").stdout
    assert b"signal.loss.first" in run("rules", "facts", "loss").stdout
    assert "no rule is called" in one_line(run("rules", "show", "nothing"), 3)


def test_a_new_rule_is_a_skeleton_that_the_checks_refuse_until_it_is_filled(tmp_path):
    made = run("rules", "new", "PREC", "my-rule", "--dir", tmp_path)

    assert made.returncode == 0, made.stderr
    assert (tmp_path / "my-rule" / "rule.yaml").is_file()
    assert b"no cause is called 'my-rule'" in made.stdout
    assert b'{"id": "my-rule", "title": ' in made.stdout
    assert run("rules", "lint", tmp_path / "my-rule").returncode == 4
    known = run("rules", "new", "IO", "disk-full", "--dir", tmp_path)
    assert b"no cause" not in known.stdout
    told = run("rules", "lint", tmp_path / "disk-full").stdout
    assert b"R005" in told
    for text in (
        b"say what is seen",
        b"one reason that",
        b"The mechanism",
        b"Say what",
        b"what happens again",
    ):
        assert b"R014 the text of the skeleton is still there: '" + text in told


@pytest.mark.parametrize("arguments", [["bad", "my-rule"], ["PREC", "../../evil"]])
def test_a_new_rule_cannot_be_written_elsewhere_or_under_a_wrong_name(tmp_path, arguments):
    assert run("rules", "new", *arguments, "--dir", tmp_path / "q").returncode == 4
    assert list(tmp_path.iterdir()) == []


def test_a_full_device_is_told_as_one_line():
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "analyzer", "diagnose", QWEN],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert done.returncode == 3
    assert b"cannot be written" in done.stderr


def test_a_pipe_given_as_a_file_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    assert "pipe a stream in with -" in one_line(run("diagnose", tmp_path / "pipe"), 3)


def test_control_characters_of_a_path_do_not_reach_the_terminal(tmp_path):
    folder = tmp_path / "ctrl\x1b[31mred"
    folder.mkdir()
    assert "\x1b" not in one_line(run("diagnose", folder), 3)

    (folder / "train.log").write_bytes((ROOT / QWEN / "train.log").read_bytes())
    assert b"\x1b" not in run("diagnose", folder).stdout


def test_standard_input_is_called_so():
    assert b"standard input" in run("diagnose", "-", stdin=(ROOT / QWEN / "train.log").read_bytes()).stdout


def test_verify_finds_a_line_that_was_changed_since_the_report(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "train.log").write_bytes((ROOT / QWEN / "train.log").read_bytes())
    assert run("diagnose", folder, "-o", tmp_path / "report.json").returncode == 0

    same = run("verify", tmp_path / "report.json")
    assert same.returncode == 0
    assert b" 0 differ" in same.stdout
    assert b"values of the evidence are the same, 0 differ" in same.stdout

    (folder / "train.log").write_text("nothing of it\n" * 400)
    changed = run("verify", tmp_path / "report.json")
    assert changed.returncode == 1
    assert b"differs: train.log:" in changed.stdout
    assert b"the run cannot be read any more" in changed.stdout
    one_line(run("verify", folder / "train.log"), 3)


def test_verify_finds_a_value_that_changed_though_the_cited_lines_did_not(tmp_path):
    (tmp_path / "run").mkdir()
    log, settings = tmp_path / "run" / "train.log", tmp_path / "run" / "train_config.yaml"
    for path in (log, settings):
        path.write_bytes((ROOT / QWEN / path.name).read_bytes())
    assert run("diagnose", tmp_path / "run", "-o", tmp_path / "report.json").returncode == 0
    settings.write_text(
        settings.read_text().replace("bf16: false", "bf16: true").replace("fp16: true", "fp16: false")
    )
    changed = run("verify", tmp_path / "report.json")

    assert changed.returncode == 1
    assert b"differs: config.precision was fp16, is bf16" in changed.stdout


def test_compare_names_what_differs_and_where_the_curves_part():
    shown = run(
        "compare", "samples/healthy/tinyllama-fp16-packed", "samples/failed/tinyllama-fp16-unpacked-grad-nan"
    ).stdout.decode()

    assert "data.packing: True in the good run, False in this  (bears on fully-masked-attention-row" in shown
    assert "Gradient norm: the curves part at step 1 " in shown
    assert "o good run" in shown


def test_a_baseline_is_compared_in_two_sentences():
    shown = run(
        "diagnose", "samples/failed/qwen2-fp16-sft-loss-zero", "--baseline", "samples/healthy/qwen2-bf16-sft"
    ).stdout.decode()

    assert shown.count("\n") <= 40
    assert "beside the baseline: 4 settings differ: bf16.enabled True there, False here" in shown
    assert "apart: loss from step 2 on" in shown


def test_a_comparison_is_a_page_where_the_suffix_says_so(tmp_path):
    runs = ("samples/healthy/qwen2-bf16-sft", "samples/failed/qwen2-fp16-sft-loss-zero")

    assert run("compare", *runs, "-o", str(tmp_path / "beside.html")).returncode == 0
    page = (tmp_path / "beside.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "fp16.<wbr>enabled" in page or "fp16<wbr>.enabled" in page
    assert run("compare", *runs, runs[1], "-o", str(tmp_path / "beside.html")).returncode == 2
    assert run("compare", *runs, "-o", str(tmp_path / "beside.csv")).returncode == 2


def test_compare_finds_no_parting_between_a_run_and_itself():
    shown = run("compare", "samples/healthy/qwen2-bf16-sft", "samples/healthy/qwen2-bf16-sft").stdout.decode()

    assert "0 settings differ" in shown
    assert "Loss: the curves stay together" in shown
    assert "part at" not in shown


def test_settings_of_which_none_was_read_are_not_told_to_be_equal(tmp_path):
    for name, factor in (("a.log", 1.0), ("b.log", 1.5)):
        rows = "".join(f"step {step} loss {factor * (2 - step / 20):.3f}\n" for step in range(1, 20))
        (tmp_path / name).write_text(rows, encoding="utf-8")
    shown = run("compare", str(tmp_path / "a.log"), str(tmp_path / "b.log")).stdout.decode()

    assert "whether settings differ is unknown: of both runs none was read" in shown


def test_watch_ends_with_1_once_a_fault_is_likely_and_with_0_when_a_run_completes(tmp_path):
    failing = run("watch", QWEN)
    assert failing.returncode == 1
    assert b"failed: " in failing.stdout
    assert run("watch", "samples/healthy/qwen2-bf16-sft").returncode == 0


def test_watch_waits_for_a_run_that_has_not_begun_and_sees_it_fail(tmp_path):
    import threading
    import time

    folder = tmp_path / "run"
    folder.mkdir()

    def begin():
        time.sleep(2)
        (folder / "train.log").write_bytes((ROOT / QWEN / "train.log").read_bytes())

    writer = threading.Thread(target=begin)
    writer.start()
    done = run("watch", folder, "--every", "0.2", "--fail-on", "possible")
    writer.join()

    assert done.returncode == 1
    assert b"waiting: " in done.stdout


def test_options_come_from_a_configuration_file_and_the_command_line_wins(tmp_path):
    (tmp_path / "analyzer.toml").write_text('[diagnose]\nfail-on = "likely"\nformat = "json"\n')
    sample = str(ROOT / QWEN)

    def inside(*arguments):
        return run(*arguments, cwd=tmp_path)

    configured = inside("diagnose", sample)
    assert configured.returncode == 1
    assert json.loads(configured.stdout)["status"] == "failed"
    assert inside("diagnose", sample, "--fail-on", "never").returncode == 0
    assert b"diagnose.fail_on = 'likely'" in inside("--show-config").stdout

    (tmp_path / "analyzer.toml").write_text("[diagnose]\nno-such = 1\n")
    assert b"'no-such' is no option of diagnose" in one_line(inside("diagnose", sample), 3).encode()


def test_the_version_is_an_option_and_the_help_has_examples():
    assert run("--version").stdout == run("version").stdout
    assert b"analyzer diagnose runs/7b -o report.html" in run("diagnose", "--help").stdout
    assert b"--install-completion" in run("--help").stdout


def test_an_option_under_its_old_name_is_taken_with_one_line_of_notice():
    result = run("diagnose", QWEN, f"--twin={HEALTHY}", "-f", "json")

    assert result.returncode == 0
    expected = run("diagnose", QWEN, "--baseline", HEALTHY, "-f", "json")
    assert json.loads(result.stdout)["findings"] == json.loads(expected.stdout)["findings"]
    assert result.stderr == b"analyzer: --twin is now called --baseline\n"


def test_version():
    assert run("version").stdout.decode().startswith("analyzer ")
    told = json.loads(run("version", "--json").stdout)
    assert told["name"] == "analyzer"
    assert told["rules_digest"] == load_rules([]).digest


def test_an_interrupt_is_one_line(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("analyzer.api.study", interrupted)
    assert one_line(run("diagnose", QWEN), 130) == "analyzer: interrupted\n"


def test_the_help_says_of_each_command_in_a_whole_sentence_what_it_does():
    told = call("--help", COLUMNS="80").stdout.partition("Commands:")[2].strip().splitlines()

    assert len(told) >= 16
    assert [line for line in told if not line.endswith(".") or line.endswith("...")] == []
