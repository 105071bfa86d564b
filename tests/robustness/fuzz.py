"""Mutated inputs of every kind: each ends in an answer or in one of our own errors, in bounded time and memory.

    python tests/robustness/fuzz.py [--seconds CPU] [--seed N] [--only TARGET] [--keep DIR]
    python tests/robustness/fuzz.py --atheris DIR [--only TARGET] [--seconds CPU]     guided by coverage; needs atheris

What is found is kept in DIR, one file or folder each with the error beside it. ``--seconds`` is time of the processor;
SIGTERM ends it before and the counts are told.
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import pkgutil
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from functools import lru_cache
from pathlib import Path

from fuzz_seeds import GATES, MANIFEST, RECORD, SCRIPTS, TEXTS, WITHOUT_LOG, reader_seeds, resealed
from mutations import mutated, random_operations

ROOT = Path(__file__).parents[2]
PUBLIC = ROOT.parent / "shared" / "data" / "public"
LARGEST = 40_000
SLOW_S = 20.0
MEMORY_BYTES = 1_500_000_000


@lru_cache(maxsize=1)
def seeds():
    """Small files of every kind: (name, content)."""
    found = {}
    for path in sorted((ROOT / "samples").rglob("*")):
        if path.is_file() and 0 < path.stat().st_size <= LARGEST and path.suffix not in {".md", ".py"}:
            found.setdefault((path.suffix, path.name.split(".")[0][:12]), path)
    if PUBLIC.is_dir():
        for path in sorted(PUBLIC.rglob("*")):
            if path.is_file() and path.stat().st_size > 0 and len(found) < 200:
                found.setdefault((path.suffix, path.parent.parent.name[:20]), path)
    return [(path.name, path.read_bytes()[:LARGEST]) for path in found.values()]


@lru_cache(maxsize=1)
def sample_runs():
    """Whole runs as (name, {path: content}): what readers tell each other only shows in a directory."""
    found = []
    for folder in sorted((ROOT / "samples").glob("*/*")):
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()] if folder.is_dir() else []
        if files and sum(path.stat().st_size for path in files) < 400_000:
            found.append(
                (folder.name, {path.relative_to(folder).as_posix(): path.read_bytes() for path in files})
            )
    return found


@lru_cache(maxsize=1)
def rule_texts():
    """Some of the rules."""
    return [path.read_bytes() for path in sorted((ROOT / "rules").glob("*/*/rule.yaml"))]


def look_at(folder):
    """Diagnose a folder and show the answer; anything but an answer or an error of ours is a fault."""
    from analyzer import api
    from analyzer.errors import AnalyzerError

    with contextlib.suppress(AnalyzerError):
        show(api.diagnose(folder, offline=True))


def show(diagnosis):
    """The answer in every form, none of which may tell of a fault of ours."""
    from analyzer.guard import OUR_FAULT
    from analyzer.render import FORMATS, report

    faults = [gap.reason for gap in diagnosis.gaps if OUR_FAULT in gap.reason]
    assert not faults, faults
    for form in FORMATS:
        text = report(diagnosis, form, show_all=True)
        text.encode("utf-8")
        assert OUR_FAULT not in text, form


class Target:
    """One kind of input.

    Args:
        folder: An empty directory for files.
    """

    def __init__(self, folder):
        self.folder = folder

    def seed(self, dice):
        """Name and content to be changed."""
        return dice.choice(seeds())

    def attempt(self, name, data):
        """Read the changed content."""
        (self.folder / name).write_bytes(data)
        look_at(self.folder)


class OneFile(Target):
    """A file alone."""


class Reader(Target):
    """A file of each reader, whole in its framing: what its checksums guard is damaged and sealed again."""

    def seed(self, dice):
        reader = dice.choice(sorted(reader_seeds()))
        path, data = reader_seeds()[reader]
        return f"{reader}/{path}", data

    def attempt(self, name, data):
        reader, _, place = name.partition("/")
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(resealed(reader, data))
        if reader in WITHOUT_LOG:
            look_at(path)
            return
        (self.folder / "other.log").write_bytes(b"step 1 loss 3.5\nstep 2 loss 2.5\n" * 9)
        look_at(self.folder)


class OneRun(Target):
    """A run of several files, of which one is changed."""

    def seed(self, dice):
        run, files = dice.choice(sample_runs())
        name = dice.choice(sorted(files))
        return f"{run}/{name}", files[name]

    def attempt(self, name, data):
        run, _, changed = name.partition("/")
        for other, content in dict(sample_runs())[run].items():
            path = self.folder / other
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data if other == changed else content)
        look_at(self.folder)


class Script(Target):
    """A script or a bare column beside a log."""

    def seed(self, dice):
        return dice.choice(SCRIPTS)

    def attempt(self, name, data):
        (self.folder / "train.log").write_bytes(b"step 1 loss 3.0\nstep 2 loss 2.5\n" * 9)
        super().attempt(name, data)


class Words(Target):
    """Text that is masked, and text whose last number may be torn."""

    def seed(self, dice):
        return "text", dice.choice(TEXTS)

    def attempt(self, name, data):
        del name
        from analyzer.ingest.masking import mask
        from analyzer.ingest.text.text_layer import without_torn_number

        before, _, last = data.rpartition(b"\n")
        kept = without_torn_number(last, before + b"\n")
        assert last.startswith(kept)
        text = data.decode("utf-8", "replace")
        assert "cD4" not in mask(f"{text}\n\nHUB_TOKEN=hf_{'cD4' * 12}\n"), "shown"


class RulePack(Target):
    """A rule of a pack or its named conditions: read, or refused, or used on a run."""

    def seed(self, dice):
        return dice.choice(
            (("gates.yaml", GATES), *(("rule.yaml", dice.choice(rule_texts())) for _ in range(4)))
        )

    def attempt(self, name, data):
        from analyzer.errors import AnalyzerError
        from analyzer.ingest.discover import load_run
        from analyzer.ingest.quote import Quoter
        from analyzer.pipeline import diagnose_loaded
        from analyzer.rules.load import load_rules

        pack, run = self.folder / "pack" / "a", self.folder / "run"
        pack.mkdir(parents=True)
        (pack / "rule.yaml").write_bytes(rule_texts()[0])
        (pack / name).write_bytes(data)
        run.mkdir()
        (run / "train.log").write_bytes(b"step 1 loss 3.0\nstep 2 loss nan\n" * 9)
        with contextlib.suppress(AnalyzerError):
            rules = load_rules([self.folder / "pack"], bundled=False)
            show(diagnose_loaded(loaded := load_run(run), rules, None, Quoter(loaded.run), 0.0))


class Address(Target):
    """An address of a W&B run."""

    def seed(self, dice):
        run = "/".join(
            dice.choice(("entity", "runs", "..", "%2e%2e", "p r", "@", "a" * 99))
            for _ in range(dice.randint(0, 6))
        )
        return "address", f"{dice.choice(('https', 'http', 'wandb', ''))}://wandb.ai:443/{run}?a=b#c".encode()

    def attempt(self, name, data):
        del name
        from analyzer.errors import FetchError
        from analyzer.fetch.address import parse_address

        with contextlib.suppress(FetchError):
            parse_address(data.decode("utf-8", "replace"))


class Record(Target):
    """What a triage left behind: its journal or its manifest."""

    def seed(self, dice):
        return dice.choice((("journal/000001.jsonl", RECORD * 5), ("manifest.json", MANIFEST)))

    def attempt(self, name, data):
        from analyzer.errors import AnalyzerError
        from analyzer.triage.journal import Journal
        from analyzer.triage.places import open_place
        from analyzer.triage.store import Dataset

        (self.folder / "journal").mkdir()
        (self.folder / name).write_bytes(data)
        place = open_place(str(self.folder))
        for _, record in Journal(place).known():
            assert isinstance(record["run"]["key"], str)
            assert isinstance(record["findings"], list)
        with contextlib.suppress(AnalyzerError):
            dataset = Dataset(place)
            dataset.without_damaged()
            list(dataset.records())


class Casebook(Target):
    """A line of a casebook."""

    def seed(self, dice):
        lines = (ROOT / "samples" / "casebook" / "public.jsonl").read_bytes().splitlines()[:200]
        return "cases.jsonl", dice.choice(lines)

    def attempt(self, name, data):
        from analyzer.casebook.record import read_casebook

        (self.folder / name).write_bytes(data)
        for _, record in read_casebook([self.folder]):
            str(record)


@lru_cache(maxsize=1)
def a_report():
    """A report as JSON."""
    from analyzer import api

    report = json.loads(
        api.report(api.diagnose(ROOT / "samples" / "failed" / "qwen2-fp16-sft-loss-zero"), "json")
    )
    report["findings"], report["ruled_out"] = report["findings"][:1], report["ruled_out"][:1]
    return json.dumps({name: report[name] for name in ("schema", "root", "findings", "ruled_out")}).encode()


class Command(Target):
    """Files that commands read: a report to verify, a file of options."""

    def seed(self, dice):
        options = b'[diagnose]\nfail-on = "likely"\nrules = ["a"]\n[triage]\nworkers = 2\nmem = "2GiB"\n'
        return dice.choice((("report.json", a_report()), ("analyzer.toml", options)))

    def attempt(self, name, data):
        from analyzer.__main__ import main

        (self.folder / name).write_bytes(data)
        before, here = sys.argv, Path.cwd()
        (self.folder / "train.log").write_bytes(b"step 1 loss 3.0\n")
        words = ["verify", name] if name == "report.json" else ["diagnose", "train.log", "--offline"]
        sys.argv = ["analyzer", *words]
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
                code = main()
        except SystemExit as end:
            code = end.code
        finally:
            sys.argv = before
            os.chdir(here)
        assert code != 70, said.getvalue()[-1500:]


TARGETS = {
    "file": (OneFile, 10),
    "run": (OneRun, 10),
    "reader": (Reader, 10),
    "script": (Script, 4),
    "words": (Words, 2),
    "pack": (RulePack, 4),
    "address": (Address, 1),
    "record": (Record, 1),
    "casebook": (Casebook, 1),
    "command": (Command, 1),
}
"""Kinds of input and how often each has its turn."""


def attempt(target, name, data):
    """Why an input is a fault; empty if it is none."""
    began = time.process_time()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        try:
            TARGETS[target][0](Path(folder)).attempt(name, data)
        except Exception:  # noqa: BLE001  (whatever it is, it is what we look for)
            return traceback.format_exc()
    spent = time.process_time() - began
    return f"{spent:.1f} s of CPU" if spent > SLOW_S else ""


class Found:
    """What was found, each kind of fault once.

    Args:
        folder: Where it is kept.
    """

    def __init__(self, folder):
        self.folder, self.seen, self.count = Path(folder), {}, 0

    def add(self, target, name, data, fault):
        """Keep an input with its fault."""
        kind = "".join(fault.strip().splitlines()[-3:])[:300]
        self.seen[kind] = self.seen.get(kind, 0) + 1
        if self.seen[kind] == 1:
            stem = self.folder / f"{len(self.seen):03d}-{target}"
            stem.mkdir(parents=True, exist_ok=True)
            (stem / Path(name).name).write_bytes(data)
            (stem / "fault.txt").write_text(f"{target} {name}\n{fault}", encoding="utf-8")
            sys.stdout.write(f"{stem}: {name}: {fault.strip().splitlines()[-1][:200]}\n")
            sys.stdout.flush()


def run(seconds, seed, only, found, counts):
    """Try inputs until the time is spent, and count those of each kind."""
    dice, kinds = random.Random(seed), [only] if only else list(TARGETS)
    until = time.process_time() + seconds
    while time.process_time() < until:
        target = dice.choices(kinds, [TARGETS[kind][1] for kind in kinds])[0]
        name, data = TARGETS[target][0](None).seed(dice)
        changed = mutated(data, random_operations(dice))
        counts[target] += 1
        fault = attempt(target, name, changed)
        if fault:
            found.add(target, name, changed, fault)


def guided(seconds, only, folder, found):
    """The same targets under atheris: the first bytes choose the seed, the rest are what becomes of it."""
    import atheris

    with atheris.instrument_imports(include=["analyzer"], enable_loader_override=False):
        import analyzer

        for info in pkgutil.walk_packages(analyzer.__path__, "analyzer."):  # most are imported late otherwise
            if not info.name.endswith("__main__"):
                with contextlib.suppress(ImportError):
                    importlib.import_module(info.name)
    corpus = Path(folder) / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    kind = only or "file"
    names = (
        [name for name, _ in seeds()]
        if kind == "file"
        else [TARGETS[kind][0](None).seed(random.Random(n))[0] for n in range(50)]
    )
    for number in range(200 if kind == "file" else 50):
        name, data = (
            seeds()[number % len(seeds())]
            if kind == "file"
            else TARGETS[kind][0](None).seed(random.Random(number))
        )
        (corpus / f"{number:03d}").write_bytes(bytes([names.index(name) % 256]) + data[:8_000])

    def one(data):
        name = names[data[0] % len(names)] if data else names[0]
        fault = attempt(kind, name, data[1:])
        if fault:
            found.add(kind, name, data[1:], fault)

    atheris.Setup(
        [sys.argv[0], f"-max_total_time={seconds:.0f}", "-max_len=12000", "-timeout=60", str(corpus)], one
    )
    atheris.Fuzz()


def main():
    """Fuzz and say what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=sorted(TARGETS))
    parser.add_argument("--keep", default="")
    parser.add_argument("--atheris", default="", metavar="DIR")
    given = parser.parse_args()
    os.environ["ANALYZER_GUARD"] = "off"
    warnings.simplefilter("error")  # nobody wants to see a warning of numpy beside an answer
    cache = tempfile.TemporaryDirectory(prefix="fuzz-cache-")
    os.environ["XDG_CACHE_HOME"] = cache.name
    found = Found(given.keep or tempfile.mkdtemp(prefix="fuzz-found-"))
    if given.atheris:
        guided(given.seconds, given.only, given.atheris, found)
        return 0
    for name in ("pyarrow", "pandas"):
        __import__(name)  # their address space is not the input's doing
    size = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_BYTES,) * 2)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    counts = dict.fromkeys(TARGETS, 0)
    with contextlib.suppress(KeyboardInterrupt):
        run(given.seconds, given.seed, given.only, found, counts)
    cache.cleanup()
    sys.stdout.write(
        json.dumps({"inputs": counts, "cpu_s": round(time.process_time()), "faults": found.seen,
                    "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}, indent=1) + "\n"
    )  # fmt: skip
    return 1 if found.seen else 0


if __name__ == "__main__":
    sys.exit(main())
