"""Boxes: one quantity a line, between strokes, as programs of reinforcement learning and of diffusion print them.

    -----------------------------------        ----------------------------------
    | rollout/           |            |        | EpThisIter      | 4            |
    |    ep_rew_mean     | 21.5       |        | TimestepsSoFar  | 2048         |
    | time/              |            |        | EpRewMean       | 21.5         |
    |    total_timesteps | 2048       |        | loss_kl         | 0.0125       |
    | train/             |            |        ----------------------------------
    |    loss            | 0.125      |
    -----------------------------------

A box is written when it is complete, because its step may stand at its end. It counts if it holds a loss, a reward or
another quantity of a course and says how far the run is; without that, from the second of its kind on: tables of
settings and of results look the same and stand alone.
"""

from __future__ import annotations

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.log_line import Fed, LogLine, LogState
from analyzer.ingest.text.rows.learned.quantities import is_sign
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name
from analyzer.model.score_words import read_score

MAX_ROWS = 400
"""Lines of a box; the longest, of agents with norms of every layer, have some 200."""

MAX_KINDS = 32
"""Kinds of boxes without a counter that are kept in mind."""

_ROW = LazyRegex(
    rf"^\s{{0,4}}[|\u2502] {{0,80}}(?P<key>[A-Za-z%][\w /%.()@-]{{0,60}}?) {{0,80}}[|\u2502] {{0,80}}(?P<value>{NUMBER})?(?: {{0,4}}s)? {{0,80}}[|\u2502]\s{{0,8}}$"
)
_TWO = LazyRegex(
    rf"^\s{{0,4}}[|\u2502] {{0,80}}(?P<key>[A-Za-z][\w/.@-]{{0,60}}) {{0,80}}[|\u2502] {{0,80}}(?P<value>{NUMBER}) {{0,80}}[|\u2502] {{0,80}}(?:(?P<second>[A-Za-z][\w/.@-]{{0,60}}) {{0,80}}[|\u2502] {{0,80}}(?P<number>{NUMBER})|[|\u2502]?) {{0,80}}[|\u2502]\s{{0,8}}$"
)
_ALONE = LazyRegex(
    rf"^\s{{0,4}}\u2502 {{1,4}}(?P<key>[a-z]\w{{1,60}}) {{2,80}}(?P<value>{NUMBER}) {{1,4}}\u2502\s{{0,8}}$"
)
_EVALUATED = LazyRegex(
    r"(?:^|\n)[^\n]{0,4}\u2503 {1,80}(?:Test|Validate) metric {1,80}\u2503 {1,80}DataLoader \d{1,3} {1,80}\u2503\s{0,8}\n[^\n\w]{0,400}$"
)
"""The head of what Lightning shows of an evaluation, which stands alone and is a result all the same."""
_STEPS = ("total_timesteps", "timestepssofar", "totalenvinteracts", "num_timesteps", "num_env_steps_sampled", "total_env_steps", "env_steps", "total_steps", "global_step",
          "steps", "step", "timesteps", "update", "n_updates", "iteration", "iterations", "itr")  # fmt: skip
"""Keys that say the step, the surest first; in small letters, without the name of their part."""

_OTHER_COUNTERS = frozenset({"epoch", "episodes", "episode", "episodessofar", "epthisiter", "serial_timesteps", "nupdates", "samples", "time", "time_elapsed",
                             "timeelapsed", "episodes_total"})  # fmt: skip
_EXPLORES = "%_time_spent_exploring"
_NAMES = {
    "fps": "env_steps_per_second",
    "averageepret": "reward_mean",
    "losspi": "policy_loss",
    "lossv": "value_loss",
    "eplen": "ep_len",
}
_PROGRAMS = (("rollout/", "stable-baselines3"), ("time/total_timesteps", "stable-baselines3"), ("approxkl", "stable-baselines"), ("% time spent exploring", "stable-baselines"),
             ("averageepret", "spinningup"), ("averagetestepret", "spinningup"), ("lg_loss_scale", "guided-diffusion"))  # fmt: skip


class Boxes:
    """Begins a box at its first line."""

    literals = ("| rollout/ ", "| train/ ", "| time/ ", "| eval/ ", "| epoch  ", "| test/", "| success_rate ", "| approxkl ", "| % time spent exploring", "AverageEpRet |", "AverageTestEpRet |", "| grad_norm ", "| lg_loss_scale ")  # fmt: skip

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, ...], _Box | None] = {}  # None for a kind that came again

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        pairs = _pairs(line.text)
        if not pairs:
            return False
        box = _Box(self, log.step)
        box.counts = box.alone = _EVALUATED.search(line.before()) is not None
        for key, value in pairs:
            box.row(key, value, line)
        log.captures.append(box)
        return True

    def wants(self, text: str) -> bool:
        """See ``Curious.wants``."""
        return bool(_pairs(text))

    def complete(self, box: _Box, log: LogState) -> None:
        """Write a box, or keep it in mind until another of its kind shows that it is one of a course."""
        kind = tuple(box.values)
        plain = [name.rpartition("/")[2] for name in kind]
        if not any(is_sign(name) or read_score(name).better for name in plain):
            return
        if box.counts or kind in self._waiting:
            if (first := self._waiting.get(kind)) is not None:
                first.write(log)
                self._waiting[kind] = None
            box.write(log)
        elif len(self._waiting) < MAX_KINDS:
            self._waiting[kind] = box

    def finish(self, log: LogState) -> None:
        """A box that stayed alone is none of a course."""


def _pairs(text: str) -> list[tuple[str, str | None]]:
    """The names of a line with what stands beside them; none if it is no line of a box.

    >>> _pairs("| loss | 0.5 |"), _pairs("| a/loss | 0.5 | a/lr | 1e-5 |"), _pairs("\u2502 reward_mean    2.5 \u2502")
    ([('loss', '0.5')], [('a/loss', '0.5'), ('a/lr', '1e-5')], [('reward_mean', '2.5')])
    >>> _pairs("| road | 0.5 | 0.25 |"), _pairs("| reward_mean    2.5 |")
    ([], [])
    """
    if row := _ROW.match(text) or _ALONE.match(text):
        return [(row["key"], row["value"])]
    if two := _TWO.match(text):
        return [(two["key"], two["value"])] + ([(two["second"], two["number"])] if two["second"] else [])
    return []


class _Box:
    """A box in progress.

    Attributes:
        values: Value and line by name.
        counts: Whether it says how far the run is.
        alone: Whether it is the result of an evaluation, above which a bar counted the batches of that.
    """

    def __init__(self, boxes: Boxes, step: int | None) -> None:
        self._boxes = boxes
        self._above = step
        self._part = ""
        self._steps: dict[str, int] = {}
        self._program = ""
        self._rows = 0
        self._begun: set[str] = set()  # its first key and its parts, which come once in a box
        self.values: dict[str, tuple[float, LogLine]] = {}
        self.counts = self.alone = False

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        pairs = _pairs(line.text)
        if pairs and pairs[0][0] in self._begun:  # the frames between two boxes were lost
            self._boxes.complete(self, log)
            return Fed.ENDED
        if pairs and self._rows < MAX_ROWS:
            for key, value in pairs:
                self.row(key, value, line)
            return Fed.OWNED
        if line.text.lstrip()[:1] in {"|", "\u2502"}:
            return Fed.PASSED
        self._boxes.complete(self, log)
        return Fed.ENDED

    def row(self, key: str, value: str | None, line: LogLine) -> None:
        """Read one row."""
        self._rows += 1
        number = parse_number(value or "")
        if number is None or not self._begun:
            self._begun.add(key)
        if number is None:
            self._part = key if key.endswith("/") else self._part
            return
        name = f"{self._part}{key}"
        plain = key.lower().replace(" ", "_").removeprefix("total/")
        self._program = self._program or next(
            (p for mark, p in _PROGRAMS if name.lower().startswith(mark)), ""
        )
        if plain == _EXPLORES:  # how far the run is, and a course of its own
            self.counts = True
            self.values.setdefault(name, (number, line.detached()))
        elif plain in _STEPS or plain in _OTHER_COUNTERS:
            self.counts = True
            if plain in _STEPS and 0 <= number < 1e15:
                self._steps[plain] = int(number)
        elif not read_name(key).setting or is_sign(key) or canonical_metric(name) in METRICS:
            self.values.setdefault(_NAMES.get(plain, name), (number, line.detached()))

    def write(self, log: LogState) -> None:
        """Write what was read, at the step that the box names."""
        if self._program:
            log.out.framework(self._program)
        step = next(
            (self._steps[name] for name in _STEPS if name in self._steps), None if self.alone else self._above
        )
        if self._steps and step is not None:
            log.saw_step(step)
        for name, (value, line) in self.values.items():
            log.metric(name, value, line, step)

    def finish(self, log: LogState) -> None:
        """See ``Capture.finish``."""
        self._boxes.complete(self, log)
