"""Rows that are printed as a block: a head, then one quantity a line.

    [step=10/1000,epoch=0]                         --> STEP: 10/100 -- GLOBAL_STEP: 1010
        train/CrossEntropyLoss=8.125                  | > loss: 0.125  (0.250)
        optim/total_grad_norm=1.5                     | > grad_norm: 1.5  (1.25)

                 Learning iteration 10/1500                 Result for PPO_env_0:
             Value function loss: 0.1250                      episode_reward_mean: 21.5
                     Mean reward: 21.50                       training_iteration: 10

A block is written when it is complete, because its step may stand at its end. Boxes of strokes are read by ``boxes``.
What the blocks of each program look like stands in ``forms.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.log_line import Fed, Learnable, LogLine, LogState, WritesAtOnce, Written, make_line
from analyzer.ingest.text.rows.forms.row_form import BlockForm, block_forms
from analyzer.ingest.text.rows.learned.whole_rows import BREAK
from analyzer.ingest.text.rows.printed_numbers import parse_number

MAX_LINES = 400
"""Lines of a block; the longest, OLMo's norms of every layer, has some 300."""


MAX_LEARNED_LINES = 16
"""Lines of a block that is learned from; Megatron's timers have about ten."""


class BlockForms(WritesAtOnce, Learnable):
    """Begins a block at its head."""

    def __init__(self) -> None:
        self.literals = tuple(literal for form in block_forms() for literal in form.literals)

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        for form in block_forms():
            if any(literal in line.raw for literal in form.literals) and (head := form.head.search(line.raw)):
                groups = head.groupdict()
                if groups.get("step"):
                    log.saw_step(int(groups["step"]))
                    if groups.get("total"):
                        log.total_steps = int(groups["total"])
                block = FormBlock(form, groups, line)
                if first := form.row.match(line.text.rstrip()):  # a table without a title begins with a row
                    block.row(first.groupdict(), line)
                log.captures.append(block)
                return True
        return False


class FormBlock:
    """A block in progress.

    Attributes:
        ends_at_rows: Whether a row that others read may follow, but not stand within.
        lines: Its lines, if it is of a kind that may be learned and they stand together.
        told: What was written for it at the end, where nothing but the step above says its step.
    """

    def __init__(self, form: BlockForm, head: Mapping[str, str | None], line: LogLine) -> None:
        self._form = form
        self.lines = [line.raw] if form.names_only else []
        self.told: tuple[Written, ...] = ()
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
            if self.lines:
                self.lines.append(line.raw)
            if self._lines < MAX_LINES:
                return Fed.OWNED
        elif self._lines < MAX_LINES and not (form.end.match(text) if form.end else text):
            self.lines = []
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
        if self._form.program:
            log.out.framework(self._form.program)
        if self._step is not None:
            log.saw_step(self._step)
        step = log.step if self._step is None else self._step
        learned = self._step is None and 1 < len(self.lines) <= MAX_LEARNED_LINES
        log.written = [] if learned else None
        for name, (value, line) in self._values.items():
            if self._form.validation:
                log.metric("eval_loss" if name == "loss" else f"val/{name}", value, line, log.step)
            else:
                log.metric(name, value, line, step)
        self.told, log.written = tuple(log.written or ()), None
        self._values = {}

    def as_line(self) -> LogLine:
        """Its lines as one, with ``BREAK`` between them."""
        raw = BREAK.join(self.lines).encode()
        return make_line(raw, 0, len(raw), 0, None)
