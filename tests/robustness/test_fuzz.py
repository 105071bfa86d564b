"""A slice of the fuzzing (``fuzz.py`` makes the whole), the same inputs each time: all end in an answer or an error of ours."""

import json
import os
import random

import pytest
import typer
from fuzz import TARGETS, attempt, rule_texts, seeds
from fuzz_seeds import ARCHIVES, WITHOUT_LOG, reader_seeds, resealed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import KINDS, TOKENS, mutated, random_operations

from analyzer.cli.verify import verify_command
from analyzer.errors import InputError
from analyzer.ingest.discover import load_run
from analyzer.ingest.registry import builtin_ingestors
from analyzer.model.diagnosis import SCHEMA_ID

OPERATIONS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.floats(0, 1), st.integers(1, 4096), st.integers(0, len(TOKENS))),
    min_size=1,
    max_size=6,
)
FUZZ = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@settings(FUZZ, max_examples=110)
@given(number=st.integers(0, 10_000), operations=OPERATIONS)
def test_a_mutated_file_ends_in_an_answer(number, operations):
    name, data = seeds()[number % len(seeds())]
    assert not attempt("file", name, mutated(data, operations))


@settings(FUZZ, max_examples=150)
@given(number=st.integers(0, 1_000), operations=OPERATIONS)
def test_a_mutated_rule_is_read_or_refused(number, operations):
    assert not attempt("pack", "rule.yaml", mutated(rule_texts()[number % len(rule_texts())], operations))


@settings(FUZZ, max_examples=300)
@given(
    st.one_of(
        st.text(max_size=300),
        st.from_regex(r"(https?|wandb)://[^\s]{0,60}(/[^\s/]{0,30}){0,8}", fullmatch=True),
        st.lists(
            st.sampled_from(
                ["https:", "//", "wandb.ai", "/", "..", "%2e", "runs", "@", ":", "[", "]", "a", "\n", "?x=1"]
            )
        ).map("".join),
    )
)
def test_an_address_is_read_or_refused(text):
    assert not attempt("address", "address", text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("reader", [*sorted(i.name for i in builtin_ingestors()), *sorted(ARCHIVES)])
def test_each_reader_survives_damaged_files(reader):
    path, data = reader_seeds()[reader]
    dice = random.Random(reader)
    for _ in range(4):
        assert not attempt("reader", f"{reader}/{path}", mutated(data, random_operations(dice)))


@pytest.mark.parametrize("reader", sorted(i.name for i in builtin_ingestors()))
def test_the_seed_of_a_reader_is_read_by_it(tmp_path, reader):
    path, data = reader_seeds()[reader]
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(resealed(reader, data))
    if reader not in WITHOUT_LOG:
        (tmp_path / "other.log").write_bytes(b"step 1 loss 3.5\nstep 2 loss 2.5\n" * 9)
    run = load_run(tmp_path).run

    assert resealed(reader, data) == data
    assert reader in {source.ingestor for source in run.sources}
    assert not run.gaps


@pytest.mark.parametrize(
    ("target", "count"),
    [("run", 12), ("script", 40), ("words", 200), ("record", 80), ("casebook", 80), ("command", 12)],
)
def test_other_mutated_inputs_end_well(target, count):
    dice = random.Random(target)
    for _ in range(count):
        name, data = TARGETS[target][0](None).seed(dice)
        assert not attempt(target, name, mutated(data, random_operations(dice)))


FOUND = [
    ("metrics.jsonl", b'{"step": 1, "loss": ' + b"9" * 400 + b"}\n" * 3),
    ("train.py", b"cfg" + b".a" * 9_000 + b" = 1\n"),
    ("ds_config.json", b'{"train_batch_size": ' + b"9" * 400 + b"}"),
    ("config.yaml", b"max_steps: " + b"9" * 5_000 + b"\n"),
    ("train.log", b"[rank99999999999999999999]: step 1 loss nan\n" * 3),
    (
        "train.log",
        b"vocab_size: 0\nnum_labels = 1.4\n" + b"step 1 loss 2.0 acc 0.1 val_loss 2.0 val_acc 0.1\n" * 20,
    ),
    (
        "config.yaml",
        b"vocab_size: 0\n_wandb: {value: {framework: huggingface}}\nmodel: {vocab_size: -3, num_labels: 1.2}\n",
    ),
]


@pytest.mark.parametrize("place", range(len(FOUND)))
def test_what_was_found_once_stays_found(place):
    assert not attempt("file", *FOUND[place])


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"findings": 3, "ruled_out": []},
        {"findings": [{"evidence": [{"refs": [{"path": 1, "line": 2, "text": ""}]}]}], "ruled_out": []},
        {"findings": [{"evidence": [{"refs": [{"path": "a", "line": "2", "text": "x"}]}]}], "ruled_out": []},
    ],
)
def test_a_report_that_is_none_any_more_is_told_so(tmp_path, changed):
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"schema": SCHEMA_ID, "root": str(tmp_path), **changed}), encoding="utf-8")
    with pytest.raises(InputError, match="damaged"):
        verify_command(report)


def test_verify_opens_no_pipe_that_a_report_names(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    places = [{"path": name, "line": 1, "text": "x"} for name in ("pipe", "/dev/zero", "a\0b")]
    found = {"findings": [{"evidence": [{"refs": places}]}], "ruled_out": []}
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"schema": SCHEMA_ID, "root": str(tmp_path), **found}), encoding="utf-8")
    with pytest.raises(typer.Exit):
        verify_command(report)
