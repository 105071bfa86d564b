"""Rows that are printed as a block: a head, then one quantity a line.

    [step=10/1000,epoch=0]                         --> STEP: 10/100 -- GLOBAL_STEP: 1010
        train/CrossEntropyLoss=8.125                  | > loss: 0.125  (0.250)
        optim/total_grad_norm=1.5                     | > grad_norm: 1.5  (1.25)

                 Learning iteration 10/1500                 Result for PPO_env_0:
             Value function loss: 0.1250                      episode_reward_mean: 21.5
                     Mean reward: 21.50                       training_iteration: 10

A block is written when it is complete, because its step may stand at its end. Boxes of strokes are read by ``boxes``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.log_line import Fed
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyzer.ingest.text.log_line import LogLine, LogState

MAX_LINES = 400
"""Lines of a block; the longest, OLMo's norms of every layer, has some 300."""

_CELL = rf"(?P<value>[1-9]\d{{0,2}}(?:,\d{{3}}){{1,5}}(?:\.\d{{1,6}})?|{NUMBER})"
# Timers of Megatron that have a name here; (min, max) of the ranks is printed, and the slowest one counts.
_TIMERS = ("batch-generator", "forward-backward", "forward-compute", "backward-compute", "optimizer", "save-checkpoint", "load-checkpoint",
           "grads-all-reduce", "all-grads-sync", "backward-params-all-reduce")  # fmt: skip
_INTEGER = r"\d{1,12}"


class BlockForm(NamedTuple):
    """How one program prints a block.

    Attributes:
        program: Name of the framework.
        literals: Texts of which one stands in every head.
        head: The first line, with the groups ``step`` and ``total`` where it states them.
        row: A line of the block: groups ``key`` and ``value``, or ``section`` for the title of a part.
        names: The name under which a key is kept; an empty name drops it.
        step_key: The key whose value is the step.
        end: A line that ends the block; without it, the first line ends it that is neither blank nor a row.
        validation: The values were measured on held-out data.
        known_only: The block holds much else, so only quantities known by name are kept.
        names_only: Only keys in ``names`` are kept.
    """

    program: str
    literals: tuple[str, ...]
    head: LazyRegex
    row: LazyRegex
    names: Mapping[str, str] = {}
    step_key: str = ""
    end: LazyRegex | None = None
    validation: bool = False
    known_only: bool = False
    names_only: bool = False


RSL_RL = BlockForm(
    "rsl_rl",
    ("Learning iteration ",),
    LazyRegex(rf"Learning iteration (?P<step>{_INTEGER})/(?P<total>{_INTEGER})"),
    LazyRegex(rf"^ {{1,80}}(?P<key>[A-Z][A-Za-z /_]{{1,60}}): {{1,8}}{_CELL}(?=s?(?:\s|$))"),
    {"Mean value_function loss": "value_loss", "Mean value loss": "value_loss", "Mean surrogate loss": "policy_loss",
     "Mean total reward": "reward_mean", "Iteration time": "", "Total time": "", "ETA": "", "Total timesteps": "", "Total steps": "", "Time elapsed": "", "Computation": ""},
    end=LazyRegex(r"^ {0,40}(?:-{8}|ETA:)"),
)  # fmt: skip

COQUI = BlockForm(
    "coqui",
    ("-- GLOBAL_STEP: ",),
    LazyRegex(rf"-- GLOBAL_STEP: (?P<step>{_INTEGER})"),
    LazyRegex(rf"^ {{1,20}}\| > (?P<key>[A-Za-z]\w{{0,60}}): {{1,4}}{_CELL}(?=\s|$)"),
    {"step_time": "step_time", "loader_time": "data_time"},
)

COQUI_EVALUATION = BlockForm(
    "coqui",
    ("--> EVAL PERFORMANCE",),
    LazyRegex(r"--> EVAL PERFORMANCE"),
    LazyRegex(rf"^ {{1,20}}\| > (?P<key>avg_\w{{1,60}}):\s{{1,4}}{_CELL}(?=\s|$)"),
    {"avg_loss": "loss", "avg_loader_time": ""},
    validation=True,
)

OLMO = BlockForm(
    "olmo",
    (",epoch=",),
    LazyRegex(rf"\[step=(?P<step>{_INTEGER})/(?P<total>{_INTEGER})"),
    LazyRegex(rf"^ {{1,8}}(?P<key>[A-Za-z][\w/. ()-]{{0,100}})={_CELL}$"),
)

RLLIB = BlockForm(
    "rllib",
    ("Result for ",),
    LazyRegex(r"\bResult for [\w.-]{1,200}:\s*$"),
    LazyRegex(rf"^ {{1,20}}(?P<key>[a-z]\w{{0,60}}):(?: {_CELL}| .{{0,400}})?$"),
    step_key="training_iteration",
    known_only=True,
)

MEGATRON_TIMERS = BlockForm(
    "megatron",
    ("time across ranks (ms)",),
    LazyRegex(r"\btime across ranks \(ms\)"),
    LazyRegex(rf"^ {{1,8}}(?P<key>[a-z][\w-]{{1,60}}) ?\.{{2,80}}: \((?:{NUMBER}, {{0,8}})?{_CELL}\)"),
    {name: f"{name}_ms" for name in _TIMERS},
    names_only=True,
)

FORMS = (
    RSL_RL,
    COQUI,
    COQUI_EVALUATION,
    OLMO,
    RLLIB,
    MEGATRON_TIMERS,
)


class BlockForms:
    """Begins a block at its head."""

    literals = tuple(literal for form in FORMS for literal in form.literals)

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        for form in FORMS:
            if any(literal in line.raw for literal in form.literals) and (head := form.head.search(line.raw)):
                groups = head.groupdict()
                if groups.get("step"):
                    log.saw_step(int(groups["step"]))
                    if groups.get("total"):
                        log.total_steps = int(groups["total"])
                block = _Block(form, groups)
                if first := form.row.match(line.text.rstrip()):  # a table without a title begins with a row
                    block.row(first.groupdict(), line)
                log.captures.append(block)
                return True
        return False

    def finish(self, log: LogState) -> None:
        """Nothing is left to write."""


class _Block:
    """A block in progress."""

    def __init__(self, form: BlockForm, head: Mapping[str, str | None]) -> None:
        self._form = form
        self._section = head.get("section") or ""
        self._step = int(head["step"] or 0) if head.get("step") else None
        self._values: dict[str, tuple[float, LogLine]] = {}
        self._lines = 0
        self.ends_at_rows = form.names_only  # no row of it is one that others read

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        form, text = self._form, line.text.rstrip()
        self._lines += 1
        # A row may be indented more than what was peeled off with a prefix.
        match = form.row.match(text) or form.row.match(line.raw.rstrip())
        if match is not None:
            self.row(match.groupdict(), line)
            if self._lines < MAX_LINES:
                return Fed.OWNED
        elif self._lines < MAX_LINES and not (form.end.match(text) if form.end else text):
            return Fed.PASSED
        self.finish(log)
        return Fed.ENDED

    def row(self, row: Mapping[str, str | None], line: LogLine) -> None:
        """Read one row of the block."""
        if row.get("section"):
            self._section = row["section"] or ""
            return
        value = parse_number(row.get("value") or "")
        if value is None:
            return
        key = (row["key"] or "").strip()
        name = f"{self._section}/{key}" if self._section else key
        if name == self._form.step_key and 0 <= value < 1e15:
            self._step = int(value)
        if self._form.names_only and name not in self._form.names:
            return
        name = self._form.names.get(name, name)
        if not name or (self._form.known_only and canonical_metric(name) not in METRICS):
            return
        self._values.setdefault(name, (value, line.detached()))

    def finish(self, log: LogState) -> None:
        """See ``Capture.finish``."""
        if not self._values:
            return
        log.out.framework(self._form.program)
        if self._step is not None:
            log.saw_step(self._step)
        step = log.step if self._step is None else self._step
        for name, (value, line) in self._values.items():
            if self._form.validation:
                log.metric("eval_loss" if name == "loss" else f"val/{name}", value, line, log.step)
            else:
                log.metric(name, value, line, step)
        self._values = {}
