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

from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

_PAIR = LazyRegex(
    rf"\b(?P<key>ppl|loss|acc|chosen|rejected|chosen_last_scores)(?: \(higher is better\))? ?: ?(?P<value>{NUMBER})"
)
_REWARD = LazyRegex(rf"^average reward score: (?P<value>{NUMBER})")
_NAMES = {"ppl": "eval_perplexity", "loss": "eval_loss", "acc": "eval_accuracy"}

RESULT_WITHIN = 3
"""Lines between banner and result: warnings of libraries may come between."""


class _Result:
    """Waits for the result that follows a banner."""

    def __init__(self, banner: int) -> None:
        self._last = banner + RESULT_WITHIN

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        pairs = [
            (match["key"], value)
            for match in _PAIR.finditer(line.text)
            if (value := parse_number(match["value"])) is not None
        ]
        for key, value in pairs:
            log.metric(_NAMES.get(key, f"eval/{key}"), value, line, log.step)
        if pairs:
            return Fed.OWNED | Fed.ENDED
        return Fed.ENDED if line.number >= self._last else Fed.PASSED

    def finish(self, log: LogState) -> None:
        """The result never came."""


class DeepSpeedChatLines(WritesAtOnce):
    """Reads results of evaluations and rewards."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        reward = _REWARD.match(line.text)
        score = None if reward is None else parse_number(reward["value"])
        if score is not None:
            log.metric("reward_mean", score, line, log.step)
            return True
        if "***** Evaluating " in line.text:
            log.captures.append(_Result(line.number))
            return True
        return False
