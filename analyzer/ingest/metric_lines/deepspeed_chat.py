"""What the three stages of DeepSpeed-Chat print beside DeepSpeed's own lines.

    ***** Evaluating perplexity, Epoch 1/16 *****
    ppl: 2.125, loss: 0.7537
    ***** Evaluating rewards, Epoch 1/1 *****
    chosen: -32.0, rejected: -34.0, loss: 0.625
    ***** Evaluating reward, Epoch 1/1 *****
    chosen_last_scores (higher is better) : 2.25, acc (higher is better) : 0.75
    average reward score: -0.75

The line after a banner is a result on held-out data; the last form belongs to the step above it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.ingest.lazy_regex import LazyRegex
from analyzer.ingest.metric_lines.printed_numbers import NUMBER, parse_number

if TYPE_CHECKING:
    from analyzer.ingest.log_line import LogLine, LogState

_EVALUATING = "***** Evaluating "
_PAIR = LazyRegex(
    rf"\b(?P<key>ppl|loss|acc|chosen|rejected|chosen_last_scores)(?: \(higher is better\))? ?: ?(?P<value>{NUMBER})"
)
_REWARD = LazyRegex(rf"^average reward score: (?P<value>{NUMBER})")
_NAMES = {"ppl": "eval_perplexity", "loss": "eval_loss", "acc": "eval_accuracy"}

RESULT_WITHIN = 3
"""Lines between banner and result: warnings of libraries may come between."""


class DeepSpeedChatLines:
    """Reads results of evaluations and rewards."""

    literals = (_EVALUATING, "ppl: ", "chosen: ", "chosen_last_scores (", "average reward score: ")

    def __init__(self) -> None:
        self._banner: int | None = None

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if _EVALUATING in line.text:
            self._banner = line.number
            return True
        reward = _REWARD.match(line.text)
        score = None if reward is None else parse_number(reward["value"])
        if score is not None:
            log.metric("reward_mean", score, line, log.step)
            return True
        if self._banner is None or line.number - self._banner > RESULT_WITHIN:
            return False
        self._banner = None
        for match in _PAIR.finditer(line.text):
            value = parse_number(match["value"])
            if value is not None:
                log.metric(_NAMES.get(match["key"], f"eval/{match['key']}"), value, line, log.step)
        return True

    def finish(self, log: LogState) -> None:
        """Nothing is left to write."""
