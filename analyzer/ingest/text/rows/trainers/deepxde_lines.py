"""Rows of DeepXDE: the step, then the parts of the training loss, those of the test loss, and the test metrics.

    Step      Train loss              Test loss               Test metric
    0         [1.25e+00, 2.50e-01]    [1.30e+00, 2.50e-01]    [9.00e-01]
    1000      [1.25e-02, 2.50e-01]    [1.50e-02, 2.50e-01]    []

The parts are terms of one sum: the equation, then the conditions at the boundary and at the start.
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

_PARTS = rf"\[({NUMBER}(?:, ?{NUMBER}){{0,40}})\]"
_ROW = LazyRegex(
    rf"^(?P<step>\d{{1,12}}) {{2,12}}{_PARTS} {{2,12}}{_PARTS}(?: {{2,12}}\[[^\[\]]{{0,400}}\])?\s{{0,8}}$"
)


class DeepXdeLines(WritesAtOnce):
    """Reads rows of two vectors of equal length behind a step."""

    # Where one vector ends and the next begins: behind two digits of an exponent, or a value that is no number.
    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        match = _ROW.match(line.text)
        if match is None:
            return False
        train, test = (_numbers(match[group]) for group in (2, 3))
        if len(train) != len(test):
            return False
        step = int(match["step"])
        log.saw_step(step)
        log.metric("loss", sum(train), line, step)
        log.metric("eval_loss", sum(test), line, step)
        if len(train) > 1:
            for number, part in enumerate(train, 1):
                log.metric(f"loss_term_{number}", part, line, step)
        return True


def _numbers(text: str) -> list[float]:
    values = (parse_number(word) for word in text.split(","))
    return [value for value in values if value is not None]
