"""What a launch script asks for: the scheduler's options, variables of the environment, arguments of launcher and program.

    #!/bin/bash
    #SBATCH --mem=64G
    export NCCL_SOCKET_IFNAME=eth0
    BATCH=16
    srun torchrun --nproc-per-node 8 train.py --batch-size $BATCH --lr 3e-4

Nothing of it is run. Variables count where the script itself gives them a plain value; an argument that needs another
one is left out, for what it became is not told. Of several scripts in one folder none is read: which of them started
the run stands in none of them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.formats.config.argument_file import command_line
from analyzer.ingest.scalar_text import config_scalar
from analyzer.ingest.source_text import read_text
from analyzer.lazy_regex import LazyRegex
from analyzer.record import dataclass

MAX_BYTES = 256 << 10
"""Launch scripts of large programs have some hundred lines."""

MAX_NEIGHBOURS = 2_000
"""Files of the folder that are looked at for a second script."""

MAX_WORD = 4_096
"""Characters of a word with its variables filled in. Variables that hold each other several times double with each line."""

MAX_LINES = 300
"""Lines of one command in which the place of a setting is looked for; beyond them its first line is named."""

SUFFIXES = frozenset({".sh", ".bash", ".zsh", ".sbatch", ".slurm", ".pbs", ".lsf", ".job"})

_SHELL = re.compile(rb"#!\s{0,4}/\S{0,60}\b(?:ba|z|da|k)?sh\b")
_STARTS = LazyRegex(
    r"(?m)(?:^|[\s;&|(])(?:\S{0,200}/)?(?P<program>python[\d.]{0,6}|torchrun|accelerate|deepspeed|srun|mpirun|horovodrun|docker|podman)\s"
)
_DIRECTIVE = LazyRegex(r"#(?:SBATCH|PBS|BSUB)\s{1,20}(?P<options>-.{1,300})")
_ASSIGNED = LazyRegex(
    r"(?:^|\s)(?:export\s{1,8}|declare -x\s{1,8})?(?P<name>[A-Za-z_]\w{0,80})=(?P<value>\"[^\"]{0,400}\"|'[^']{0,400}'|[^\s;&|\"']{0,400})"
)
_EXPORTED = LazyRegex(r"\s{0,40}(?:export|declare -x)\s")
_VARIABLE = LazyRegex(r"\$(?:\{(?P<braced>\w{1,80})(?::?-(?P<default>[^}$]{0,200}))?\}|(?P<plain>\w{1,80}))")
_SHORT = {"-N": "--nodes", "-n": "--ntasks", "-c": "--cpus-per-task", "-t": "--time", "-G": "--gpus"}
_LAUNCHERS = frozenset({"torchrun", "accelerate", "deepspeed"})
_MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"})
_CONTAINERS = frozenset({"docker", "podman"})
_OF_CONTAINERS = frozenset({"--shm-size", "--ipc", "--ulimit", "--gpus", "--memory"})


class LaunchScript:
    """Reads the script that started a run."""

    def sniff(self, candidate: Candidate) -> Match:
        """A shell script by its first line or its name, that starts a program of training."""
        if candidate.size_bytes > MAX_BYTES or b"\0" in candidate.head[:4096]:
            return Match.NO
        suffix = PurePosixPath(candidate.name).suffix.lower()
        is_shell = suffix in SUFFIXES or (not suffix and _SHELL.match(candidate.head) is not None)
        if not is_shell:
            return Match.NO
        text = candidate.head.decode("utf-8", "replace")
        return Match.SURE if _STARTS.search(text) or _DIRECTIVE.search(text) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Directives, variables and arguments, each as a setting with its line."""
        if _others_beside(source):
            out.gap(
                "several launch scripts lie here; which of them started the run is not told, so none is read"
            )
            return
        known: dict[str, str] = {}
        for command in _commands(read_text(source, out, MAX_BYTES)):
            directive = _DIRECTIVE.match(command.text.strip())
            if directive is not None:
                _directive(directive["options"], command, out)
            elif not command.text.lstrip().startswith("#"):
                _command(command, known, out)


def _others_beside(source: OpenSource) -> bool:
    """Whether another launch script lies in the folder."""
    try:
        scripts = [
            path
            for path in islice(source.path.parent.iterdir(), MAX_NEIGHBOURS)
            if path.suffix.lower() in SUFFIXES and path.is_file()
        ]
    except OSError:
        return False
    return len(scripts) > 1


@dataclass(frozen=True)
class _Command:
    """One command of a script."""

    text: str  # its lines joined
    first: int  # number of the first of them
    lines: tuple[str, ...]  # the lines as they stand

    def line_of(self, key: str) -> int:
        """The line in which an option or variable stands; the first where none holds it."""
        wanted = _plain(key)
        for number, line in enumerate(self._plain_lines, start=self.first):
            if wanted in line:
                return number
        return self.first

    @cached_property
    def _plain_lines(self) -> list[str]:
        return [_plain(line) for line in self.lines[:MAX_LINES]]


def _plain(text: str) -> str:
    return text.replace("-", "").replace("_", "")


def _commands(text: str) -> Iterator[_Command]:
    """Every command; a line that ends in a backslash goes on in the next."""
    parts: list[str] = []
    number = 0
    for number, line in enumerate(text.splitlines(), start=1):
        parts.append(line)
        if line.rstrip().endswith("\\") and not line.lstrip().startswith("#"):
            continue
        yield _joined(parts, number)
        parts = []
    if parts:
        yield _joined(parts, number)


def _joined(lines: Sequence[str], last: int) -> _Command:
    text = " ".join(line.rstrip().removesuffix("\\") for line in lines)
    return _Command(text, last - len(lines) + 1, tuple(lines))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # an open quote, or half a here-document
        return text.split()


def _directive(options: str, command: _Command, out: SourceWriter) -> None:
    words = _words(options)
    for place, word in enumerate(words):
        key, _, value = word.partition("=")
        key = _SHORT.get(key, key)
        if not key.startswith("--"):
            continue
        if not value and place + 1 < len(words) and not words[place + 1].startswith("-"):
            value = words[place + 1]
        setting = config_scalar(value) if value else True
        out.config(key, setting, framework="slurm", line=command.first, raw=value)


def _command(command: _Command, known: dict[str, str], out: SourceWriter) -> None:
    """One command: what it assigns, and what it passes to a launcher and to the program."""
    line = command.text
    started = _STARTS.search(line + " ")
    before = line[: started.start()] if started else line
    exported = _EXPORTED.match(line) is not None or started is not None
    for assigned in _ASSIGNED.finditer(before):
        value = _resolved(assigned["value"].strip("\"'"), known)
        if value is None:
            known.pop(assigned["name"], None)
            continue
        known[assigned["name"]] = value
        if exported:
            name = assigned["name"]
            place = command.line_of(name)
            out.config(name, config_scalar(value), framework="env", layer="env", line=place, raw=value)
    if started is None:
        return
    words = [_resolved(word, known) for word in _words(line[started.start("program") :].split(" > ")[0])]
    _started([word or "" for word in words], command, out)


def read_command(text: str, number: int, out: SourceWriter) -> None:
    """What one command passes to launcher and program, where a log shows it in one line."""
    _command(_Command(text, number, (text,)), {}, out)


def _resolved(word: str, known: Mapping[str, str]) -> str | None:
    """A word with its variables filled in; None if one of them is not known, it is too long, or a command would have to be run."""
    if "$(" in word or "`" in word or len(word) > MAX_WORD:
        return None
    missing = False

    def fill(match: re.Match[str]) -> str:
        nonlocal missing
        name = match["braced"] or match["plain"]
        value = known.get(name, match["default"])
        missing = missing or value is None
        return value or ""

    filled = _VARIABLE.sub(fill, word)
    return None if missing or len(filled) > MAX_WORD else filled


def _started(words: Sequence[str], command: _Command, out: SourceWriter) -> None:
    """Arguments of each launcher up to the program, then those of the program."""
    launcher, program = "", False
    own: list[str] = []
    for place, word in enumerate(words):
        if program:
            if word in {"|", "||", "&&", ";", "&", "2>&1"}:
                break
            own.append(word)
            continue
        base = word.rpartition("/")[2]
        if base in _LAUNCHERS | _CONTAINERS | {"srun", "mpirun"}:
            launcher = base
        elif word in _MODULES:
            launcher = "torchrun" if word.startswith("torch") else "accelerate"
        elif word.endswith(".py") or (
            place and words[place - 1] == "-m" and not launcher.startswith("docker")
        ):
            program = True
        elif word.startswith("--") and launcher:
            _of_launcher(launcher, word, words[place + 1 : place + 2], command, out)
    whole = [word for word in own if word]
    if len(whole) < len(own):
        whole = list(_without_unknown(own))
    for key, text in command_line(whole):
        value = True if text is None else config_scalar(text)
        out.config(key, value, framework="config", layer="cli", line=command.line_of(key), raw=text)


def _without_unknown(words: Sequence[str]) -> Iterator[str]:
    """The words without those that are not known, and without the option whose value they are."""
    for place, word in enumerate(words):
        follows_unknown = place + 1 < len(words) and not words[place + 1]
        if word and not (follows_unknown and word.startswith("-")):
            yield word


def _of_launcher(
    launcher: str, word: str, following: Sequence[str], command: _Command, out: SourceWriter
) -> None:
    flag, _, value = word.partition("=")
    if not value and following and not following[0].startswith("-"):
        value = following[0]
    if launcher in _CONTAINERS and flag not in _OF_CONTAINERS:
        return
    line = command.line_of(flag)
    if launcher == "srun":
        out.config(flag, config_scalar(value) if value else True, framework="slurm", line=line, raw=value)
        return
    if value:
        key = f"{'docker' if launcher in _CONTAINERS else launcher} {flag}"
        out.config(key, config_scalar(value), framework="launcher", layer="cli", line=line, raw=value)
