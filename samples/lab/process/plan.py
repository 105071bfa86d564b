"""What defines one process run: its script and settings, what is planted, how it is launched and judged."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Hit:
    """Something that is done to the running job from outside.

    Attributes:
        due: True as soon as the working directory shows that the moment has come.
        strike: Does it; a `LookupError` means that the process is not there yet, and it is tried again.
    """

    due: Callable[[Path], bool]
    strike: Callable[[Path], None]


@dataclass
class Plan:
    """One run to be made; a fault changes it.

    Attributes:
        run_dir: Working directory, in which the data lie already.
        settings: What the script reads from train_config.yaml.
        rng: Source of every choice that a fault makes.
        command: The training command of run.sh.
        shell: Lines of run.sh before that command (limits).
        wrapper: Command under which run.sh runs (name spaces).
        environment: Variables added for the run.
        hit: What is done to the job from outside, if anything.
        held: What is held open while the job runs (a port).
        earlier: Settings of a launch before this one, whose checkpoint the run goes on from.
        between: Done after the earlier launch.
        onset_step: Optimizer step at which the fault acts, 0 for the set-up.
        severity: Strength from 0 to 1 where the fault has one.
        planted: What was planted, in words.
    """

    run_dir: Path
    settings: dict[str, Any]
    rng: random.Random
    command: str
    shell: list[str] = field(default_factory=list)
    wrapper: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    hit: Hit | None = None
    held: AbstractContextManager[Any] | None = None
    earlier: dict[str, Any] | None = None
    between: Callable[[Path], None] | None = None
    onset_step: int = 0
    severity: float = 1.0
    planted: str = ""


@dataclass(frozen=True)
class Result:
    """What a run left behind, as an outcome test may see it.

    Attributes:
        exit_code: Of the whole command; 128 + number for a signal, as a shell gives it.
        text: The console log.
        files: Paths relative to the working directory of everything it left.
        history: `log_history` of the Trainer's last trainer_state.json, [] without one.
    """

    exit_code: int
    text: str
    files: frozenset[str] = frozenset()
    history: tuple[Mapping[str, Any], ...] = ()

    @property
    def completed(self) -> bool:
        """Whether the script came to its planned end."""
        return self.exit_code == 0 and "training finished after" in self.text


Outcome = Callable[[Result], tuple[bool, str]]


@dataclass(frozen=True)
class ProcessFault:
    """One way in which a process ends badly.

    Attributes:
        name: Key in the table.
        label: Cause (an id of the catalogue) that is true if the fault bit.
        script: Stem of a file in scripts/.
        plant: Changes the plan, which is that of the healthy twin before.
        outcome: Decides from exit code, files and the libraries' own text whether the fault bit, and says what it saw.
        alternatives: Other causes that are right too: the wider class, or what the log alone can tell.
        args: Settings that differ from the script's usual ones and that the twin shares.
        setup: Changes the plan of the twin as well (an earlier launch), before `plant`.
        seconds: Usual duration.
    """

    name: str
    label: str
    script: str
    plant: Callable[[Plan], None]
    outcome: Outcome
    alternatives: tuple[str, ...] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    setup: Callable[[Plan], None] | None = None
    seconds: float = 6.0

    @property
    def variant(self) -> str:
        """Names the twin that this fault shares with all others of the same script and settings."""
        words = [self.script, *(f"{key}-{value}" for key, value in self.args.items())]
        if self.setup is not None:
            words.append(self.setup.__name__)
        return "-".join(words).replace("_", "-")


def history_of(run_dir: Path) -> tuple[Mapping[str, Any], ...]:
    """The logged rows of the Trainer's newest state file."""
    states = sorted(run_dir.rglob("trainer_state.json"), key=lambda path: path.stat().st_mtime_ns)
    if not states:
        return ()
    return tuple(json.loads(states[-1].read_text(encoding="utf-8"))["log_history"])
