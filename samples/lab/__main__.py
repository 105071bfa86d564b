"""`python -m samples.lab make --out DIR`: the corpus of labelled runs; `excerpt`, `fixes`: what is made from it."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from . import answers
from .planning import Wanted
from .spec import ENGINE_SHARES
from .trainings.make import RUNS_PER_FAULT, STORED

OLD_DEEPSPEED = "deepspeed==0.14.5"


def install_old_deepspeed(target: Path) -> None:
    """The older of the two DeepSpeed versions, beside the installed one."""
    if (target / "deepspeed").exists():
        return
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(target), OLD_DEEPSPEED,
    ]  # fmt: skip
    environment = {"DS_BUILD_OPS": "0", "DS_ACCELERATOR": "cpu", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    subprocess.run(command, check=True, env=environment)


def make(options: argparse.Namespace) -> None:
    """Make what is not there yet, then the manifest and the data card."""
    from .card import write_card
    from .corpus import make_metric_runs, write_manifest

    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    if options.kind in {"all", "metric"}:
        install_old_deepspeed(out / "deepspeed-0.14")
        make_metric_runs(out, _wanted(options), options.jobs)
    if options.kind in {"all", "process"}:
        from .process.make import make_process_runs

        make_process_runs(out, [options.seed])
    labels = write_manifest(out)
    write_card(out, options.runs, options.seed)
    for label, count in labels.most_common():
        print(f"{count:5d}  {label}")
    print(f"{sum(labels.values())} runs in {out}, {time.monotonic() - started:.0f} s")


def _wanted(options: argparse.Namespace) -> Wanted:
    return Wanted(options.runs, options.seed, options.first, tuple(options.faults), tuple(options.engines))


def judge(options: argparse.Namespace) -> None:
    """Label what was made anew."""
    from .corpus import judge_metric_runs, write_manifest

    judge_metric_runs(options.out, _wanted(options))
    print(dict(write_manifest(options.out).most_common()))


def try_fixes(options: argparse.Namespace) -> None:
    """Try the rules' fixes and print the table."""
    from .fixes import verify_fixes

    verify_fixes(options.out, options.seed, options.repeats, only=options.only, keep=options.keep)


def make_trainings(options: argparse.Namespace) -> None:
    """Train the small genuine runs and store them."""
    from .trainings.make import make

    make(options.seed, options.runs_per_fault, options.jobs, options.faults, options.out)


def _say_what(command: argparse.ArgumentParser) -> None:
    """Options that say which corpus is meant."""
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--runs", type=int, default=600, help="metric runs (default 600)")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--first", type=int, default=0, help="number of the first configuration")
    command.add_argument("--faults", nargs="*", default=[], help="plant only these")
    command.add_argument(
        "--engines", nargs="*", default=[], choices=list(ENGINE_SHARES), help="only these engines"
    )


def main() -> None:
    """Command line of the lab."""
    parser = argparse.ArgumentParser(prog="python -m samples.lab", description=__doc__)
    commands = parser.add_subparsers(required=True)
    maker = commands.add_parser("make", help="make the corpus; run it again to go on where it stopped")
    _say_what(maker)
    maker.add_argument("--jobs", type=int, default=2, help="worker processes (default 2)")
    maker.add_argument("--kind", choices=("all", "metric", "process"), default="all")
    maker.set_defaults(command=make)
    judging = commands.add_parser("judge", help="run the outcome tests again on what was made")
    _say_what(judging)
    judging.set_defaults(command=judge)
    fixer = commands.add_parser(
        "fixes", help="try the rules' fixes on planted faults; goes on where it stopped"
    )
    fixer.add_argument("--out", type=Path, required=True)
    fixer.add_argument("--seed", type=int, default=0)
    fixer.add_argument("--repeats", type=int, default=3, help="configurations a fix (default 3)")
    fixer.add_argument("--only", default="", help="try the fixes of this fault alone")
    fixer.add_argument(
        "--keep", action="store_true", help="also write the table that rules are checked against"
    )
    fixer.set_defaults(command=try_fixes)
    training = commands.add_parser("trainings", help="train the small genuine runs and store them")
    training.add_argument("--seed", type=int, default=1)
    training.add_argument("--runs-per-fault", type=int, default=RUNS_PER_FAULT)
    training.add_argument("--jobs", type=int, default=2)
    training.add_argument("--faults", nargs="*", default=[], help="only groups of these")
    training.add_argument("--out", type=Path, default=STORED)
    training.set_defaults(command=make_trainings)
    answering = commands.add_parser(
        "answers",
        help="diagnose the runs of the excerpt or the trainings in their forms and judge the answers",
    )
    answers.add_options(answering)
    answering.set_defaults(command=answers.run)
    options = parser.parse_args()
    options.command(options)


if __name__ == "__main__":
    main()
