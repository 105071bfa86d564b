"""What models that learn one task after the other score on each task.

    Accuracy by task:                Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp000 = 0.0120
     - Task 1: 0.0120                ExperienceForgetting/eval_phase/test_stream/Task000/Exp000 = 0.9410
     - Task 2: 0.9730                Test on task 1: loss = 0.31, acc = 97.3 %

What stands for one task is no score of the model, so no series is made of it. What became of the tasks that were learned
before is one event for each evaluation.
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import LogLine, LogState
from analyzer.lazy_regex import LazyRegex
from analyzer.model.score_words import read_score
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple

LEAST_TASKS = 2
"""Tasks that one evaluation lists."""

LINES_APART = 40
"""Lines between two tasks of one evaluation, which draws a bar and prints some values for each; more is another training."""

KNOWN, LOST, NEVER = 0.5, 0.6, 0.05
"""Half right knows a task; of what was known less than six tenths are left; one in twenty is no better than not to know it."""

_TASK = LazyRegex(
    r"(?i)^(?P<head>[^\r\n]{0,80}?)\btask[ _#:]{0,3}(?P<task>\d{1,3})\b(?P<rest>[^\r\n]{1,160})$"
)
_PAIR = LazyRegex(
    r"(?P<name>[A-Za-z][\w@]{0,24})\s{0,3}[:=]\s{0,3}(?P<value>\d{1,3}(?:\.\d{1,12})?)(?![\d.])"
)
_ALONE = LazyRegex(r"^[\s:=|>*-]{1,8}(?P<value>\d{1,3}(?:\.\d{1,12})?)\s{0,2}%?[\s|<*]{0,8}$")
_STREAM = LazyRegex(
    r"^\s{0,16}(?:(?P<name>\w{1,32})_Exp|ExperienceForgetting)/eval_phase/\w{1,32}/Task\d{1,4}/Exp(?P<task>\d{1,4}) = (?P<value>-?\d{1,3}\.\d{1,12})\s{0,8}$"
)
_TRAINS = LazyRegex(r"(?i)epoch|iter|batch|step|train|loss[\s:=]*\d[^a-z]*$")
_OF_AGENT = LazyRegex(r"(?i)success|solved|\bwin(?:ning|s)?[ _-]?rate")
_WORD = LazyRegex(r"[A-Za-z][A-Za-z0-9_]{1,24}")


class _Row(NamedTuple):
    """The score of one task."""

    task: int
    score: float
    named: bool  # whether the row says itself that its number is a score
    of_agent: bool = False  # whether it says that an agent reached its aim


class TaskScores:
    """Follows the evaluations by task; see ``LineReader``."""

    def __init__(self) -> None:
        self._rows: list[_Row] = []
        self._forgetting: list[float] = []
        self._best: dict[int, float] = {}
        self._first: LogLine | None = None
        self._last = 0
        self._around = ""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        stream = _STREAM.match(line.text)
        if stream is not None:
            task, value = int(stream["task"]), float(stream["value"])
            if stream["name"] is None:
                self._begin(line, task, log, again=False)
                self._forgetting.append(value)
                self._best[task] = max(self._best.get(task, 0.0), value)
                return True
            row = _Row(task, value, named=True) if read_score(stream["name"]).better > 0 else None
        else:
            row = _row(line.text)
        if row is None:
            return False
        self._begin(line, row.task, log)
        self._rows.append(row)
        self._around = self._around if row.named else self._around + " " + _line_of(line.after(), 0)
        return True

    def _begin(self, line: LogLine, task: int, log: LogState, *, again: bool = True) -> None:
        """A row of a task: another evaluation begins where the tasks begin again, or far below the row before."""
        over = bool(self._rows) and (task <= self._rows[-1].task if again else task < self._rows[-1].task)
        if self._first is None or over or line.number - self._last > LINES_APART:
            self.finish(log)
            self._first, self._around = line.without_block(), _line_of(line.before(), -1)
        self._last = line.number

    def finish(self, log: LogState) -> None:
        """See ``LineGrammar.finish``."""
        rows, forgetting, first = self._rows, self._forgetting, self._first
        self._rows, self._forgetting, self._first = [], [], None
        if first is None or not (all(row.named for row in rows) or _names_score(self._around)):
            return
        scale = 100.0 if any(row.score > 1 for row in rows) else 1.0
        scores = {row.task: row.score / scale for row in rows}
        if max(len(scores), len(forgetting)) >= LEAST_TASKS:
            of_agent = any(row.of_agent for row in rows) or _OF_AGENT.search(self._around) is not None
            fields = self._told(scores, of_agent=of_agent)
            if forgetting:
                fields["forgetting"] = sum(forgetting) / len(forgetting)
            log.event("task_scores", "info", first, fields)
        for task, score in scores.items():
            self._best[task] = max(self._best.get(task, 0.0), score)

    def _told(self, scores: dict[int, float], *, of_agent: bool) -> dict[str, Scalar]:
        """The newest task that is known, and how many before it are lost."""
        known = [task for task, score in scores.items() if score >= KNOWN]
        newest = max(known, default=-1)
        earlier = [task for task in scores if task < newest]
        best = {task: self._best.get(task, 0.0) for task in earlier}
        # Behind the newest nothing is listed where each evaluation lists what was learned so far. Of a success rate nothing is what
        # an agent begins with; of an accuracy it is less than a guess, and all answers are those of another task.
        in_turn = newest == max(scores, default=-1) and not of_agent
        return {
            "tasks": len(scores),
            "highest": max(scores, default=0),
            "newest": scores.get(newest, 0.0),
            "earlier": len(earlier),
            "at_zero": sum(scores[task] <= NEVER for task in earlier) if in_turn else 0,
            "lost": sum(best[task] >= KNOWN and scores[task] <= LOST * best[task] for task in earlier),
        }


def _row(text: str) -> _Row | None:
    """A task and its score."""
    found = _TASK.match(text)
    if found is None or _TRAINS.search(text):
        return None
    task, of_agent = int(found["task"]), _OF_AGENT.search(text) is not None
    for pair in _PAIR.finditer(found["rest"]):
        if read_score(pair["name"]).better > 0:
            return _Row(task, float(pair["value"]), named=True, of_agent=of_agent)
    alone = _ALONE.match(found["rest"])
    named = _names_score(found["head"])
    return None if alone is None else _Row(task, float(alone["value"]), named, of_agent)


def _names_score(text: str) -> bool:
    """Whether a word of a text names a score, and none a loss."""
    return "loss" not in text.lower() and any(read_score(word[0]).better > 0 for word in _WORD.finditer(text))


def _line_of(text: str, place: int) -> str:
    """The first or the last line of a text that is not empty."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[place][:200] if lines else ""
