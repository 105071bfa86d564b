"""Mutated files end in an answer or in one of our own errors: every reader, the rule packs, addresses, the journal.

``ANALYZER_FUZZ_S=600 pytest tests/robustness/test_fuzz.py -k long`` goes on for ten minutes of CPU and keeps what it
found in the folder that it names.
"""

import contextlib
import os
import random
import tempfile
import time
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer import api
from analyzer.errors import AnalyzerError, FetchError, RuleError
from analyzer.fetch.address import parse_address
from analyzer.guard import OUR_FAULT
from analyzer.rules.load import parse_rule
from analyzer.triage.journal import Journal
from analyzer.triage.places import open_place

ROOT = Path(__file__).parents[2]
PUBLIC = ROOT.parent / "shared" / "data" / "public"
LARGEST = 40_000
SLOW_S = 20.0
TOKENS = (
    b"\x00", b"\xff\xfe", b"9" * 400, b"-1e999", b"NaN", b"[" * 200, b'{"a":' * 60, b"\x1b]52;c;aGk=\x07", b"\r", b"\n\n",
    b"\xe2\x80\xae", b"loss: nan", b"Traceback (most recent call last):\n", b"&a *a", b'"', b"'", b"}", b"\\u0000", b"|",
    b" " * 300, b"1" * 5000, b"step", b"0/0", b"%|", b"\x80\x04", b"1e", b"tensor(", b"[rank99999999]: ", b"2026-99-99T99:99:99",
)  # fmt: skip


@lru_cache(maxsize=1)
def seeds():
    """Small files of every kind: (name, content)."""
    found = {}
    for path in sorted((ROOT / "samples").rglob("*")):
        if path.is_file() and 0 < path.stat().st_size <= LARGEST and path.suffix not in {".md", ".py"}:
            kind = (path.suffix, path.name.split(".")[0][:12])
            found.setdefault(kind, path)
    if PUBLIC.is_dir():
        for path in sorted(PUBLIC.rglob("*")):
            if path.is_file() and path.stat().st_size > 0 and len(found) < 140:
                found.setdefault((path.suffix, path.parent.parent.name[:20]), path)
    return [(path.name, path.read_bytes()[:LARGEST]) for path in found.values()]


def mutated(data, operations):
    """Data after some changes, each at a place between 0 and 1."""
    changed = bytearray(data)
    for kind, where, size, token in operations:
        at = int(where * len(changed)) if changed else 0
        if kind == "bit" and changed:
            changed[min(at, len(changed) - 1)] ^= 1 << size % 8
        elif kind == "cut":
            del changed[at:]
        elif kind == "drop":
            del changed[at : at + size]
        elif kind == "double":
            changed[at:at] = changed[at : at + size]
        elif kind == "token":
            changed[at:at] = TOKENS[token % len(TOKENS)]
        elif kind == "swap" and changed:
            other = (at * 7919 + size) % len(changed)
            changed[at : at + 16], changed[other : other + 16] = (
                changed[other : other + 16],
                changed[at : at + 16],
            )
    return bytes(changed)


KINDS = ("bit", "cut", "drop", "double", "token", "token", "swap")
OPERATIONS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.floats(0, 1), st.integers(1, 4096), st.integers(0, len(TOKENS))),
    min_size=1,
    max_size=6,
)


def check(name, data, folder):
    """Diagnose one file; anything but an answer or an error of ours is a fault."""
    path = Path(folder) / name
    path.write_bytes(data)
    began = time.process_time()
    try:
        diagnosis = api.diagnose(folder, offline=True)
        faults = [gap.reason for gap in diagnosis.gaps if OUR_FAULT in gap.reason]
        assert not faults, faults
        for form in ("markdown", "json"):
            api.report(diagnosis, form, show_all=True).encode("utf-8")
    except AnalyzerError:
        pass
    finally:
        path.unlink()
    assert time.process_time() - began < SLOW_S


FUZZ = settings(deadline=None, suppress_health_check=list(HealthCheck))


@settings(FUZZ, max_examples=250)
@given(number=st.integers(0, 10_000), operations=OPERATIONS)
def test_a_mutated_file_ends_in_an_answer(tmp_path_factory, number, operations):
    name, data = seeds()[number % len(seeds())]
    check(name, mutated(data, operations), tmp_path_factory.mktemp("fuzz"))


@lru_cache(maxsize=1)
def _rules():
    return [path.read_bytes() for path in sorted((ROOT / "rules").glob("*/*/rule.yaml"))[::12]]


@settings(FUZZ, max_examples=150)
@given(number=st.integers(0, 1_000), operations=OPERATIONS)
def test_a_mutated_rule_is_read_or_refused(number, operations):
    data = mutated(_rules()[number % len(_rules())], operations)
    with contextlib.suppress(RuleError):
        parse_rule(data.decode("utf-8", "replace"), "rule.yaml")


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
    with contextlib.suppress(FetchError):
        parse_address(text)


RECORD = b'{"run":{"key":"00ff00ff00ff00ff","location":"a","outcome":"diagnosed","status":"failed","hosts":[]},"findings":[]}\n'


@settings(FUZZ, max_examples=150)
@given(operations=OPERATIONS)
def test_a_mutated_journal_gives_whole_records_only(tmp_path_factory, operations):
    folder = tmp_path_factory.mktemp("journal")
    (folder / "journal").mkdir()
    (folder / "journal" / "000001.jsonl").write_bytes(mutated(RECORD * 5, operations))
    for _, record in Journal(open_place(str(folder))).known():
        assert isinstance(record["run"]["key"], str)
        assert isinstance(record["findings"], list)


FOUND = [
    ("metrics.jsonl", b'{"step": 1, "loss": ' + b"9" * 400 + b"}\n" * 3),
    ("train.py", b"cfg" + b".a" * 9_000 + b" = 1\n"),
    ("ds_config.json", b'{"train_batch_size": ' + b"9" * 400 + b"}"),
    ("config.yaml", b"max_steps: " + b"9" * 5_000 + b"\n"),
    ("train.log", b"[rank99999999999999999999]: step 1 loss nan\n" * 3),
]


@pytest.mark.parametrize("place", range(len(FOUND)))
def test_what_was_found_once_stays_found(tmp_path, place):
    check(*FOUND[place], tmp_path)


@pytest.mark.skipif(
    "ANALYZER_FUZZ_S" not in os.environ, reason="ANALYZER_FUZZ_S says for how many seconds of CPU"
)
def test_long_run():
    dice = random.Random(int(os.environ.get("ANALYZER_FUZZ_SEED", "0")))
    until = time.process_time() + float(os.environ["ANALYZER_FUZZ_S"])
    kept, count, faults = Path(tempfile.mkdtemp(prefix="fuzz-found-")), 0, []
    while time.process_time() < until:
        name, data = dice.choice(seeds())
        operations = [
            (dice.choice(KINDS), dice.random(), dice.randint(1, 4096), dice.randrange(len(TOKENS)))
            for _ in range(dice.randint(1, 8))
        ]
        changed = mutated(data, operations)
        with tempfile.TemporaryDirectory() as folder:
            count += 1
            try:
                check(name, changed, folder)
            except Exception as error:  # noqa: BLE001  (whatever it is, it is what we look for)
                (kept / f"{len(faults)}-{name}").write_bytes(changed)
                faults.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
    assert not faults, f"{len(faults)} of {count} files, kept in {kept}:\n" + "\n".join(faults[:20])
