"""Iteration lines of Megatron-LM and its relatives (Megatron-DeepSpeed, GPT-NeoX, NeMo's Megatron).

     iteration      120/ 1716613 | consumed samples: 30720 | elapsed time per iteration (ms): 591.5 | learning rate: 7.019E-06 |
     global batch size:   256 | lm loss: 8.958018E+00 | loss scale: 2048.0 | grad norm: 1.2 | number of skipped iterations:   0 | number of nan iterations:   0 |

Fields are read by name: their set and order differ by version. A loss that is NaN is *not printed*: the
field is missing. It is also missing when every iteration since the last line was skipped by the loss
scaler, and then nothing is known about it. Counters start anew on each line; they are summed up here.
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import Learnable, LogLine, LogState, Origin
from analyzer.ingest.text.rows.forms.row_forms import StepGaps
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

_HEAD = LazyRegex(r"\biteration\s{1,12}(\d{1,12})/\s{0,12}(\d{1,12}) \|")
_FIELD = LazyRegex(rf"\|\s{{0,4}}([A-Za-z][\w ()/.-]{{1,60}}?):?\s{{1,16}}({NUMBER})(?=\s)")
_VALIDATION = LazyRegex(
    rf"validation loss at (?:iteration\s{{1,12}}(?P<step>\d{{1,12}})|[^|]{{1,60}}) \|.{{0,200}}?(?:lm[ _]loss value|lm_loss_value|(?<=\| )loss): (?P<loss>{NUMBER})"
)

_SKIPPED = "number of skipped iterations"
_NAN = "number of nan iterations"
_TIME = "elapsed time per iteration (ms)"
_KEPT = frozenset(
    {
        "learning rate",
        "grad norm",
        "loss scale",
        "num zeros",
        "params norm",
        _NAN,
        _TIME,
        "throughput per GPU (TFLOP/s/GPU)",
        "tokens per gpu per second (tgs)",
        "samples per second",
        "TFLOPs",
    }
)
# Losses that a line still prints when the loss proper is NaN, and so left out.
_AUXILIARY = LazyRegex(r"(?i)balanc|aux|\bz[ _-]|mtp|router|moe")


_PLACEHOLDERS = frozenset({"loss scale", "grad norm", "num zeros", "params norm"})


class MegatronLines(Learnable):
    """Reads iteration and validation lines."""

    def __init__(self) -> None:
        self._gaps = StepGaps()
        self._losses: dict[str, None] = {}
        self._lossless: list[tuple[Origin, int]] = []
        self._last_fields: set[str] = set()

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        head = _HEAD.search(line.raw)
        if head is not None:
            self._iteration(int(head[1]), int(head[2]), line, log)
            return True
        if match := _VALIDATION.search(line.raw):
            value = parse_number(match["loss"])
            if value is not None:
                log.metric("eval_loss", value, line, int(match["step"]) if match["step"] else log.step)
            return True
        return False

    def _iteration(self, step: int, total: int, line: LogLine, log: LogState) -> None:
        numbers = ((name, parse_number(text)) for name, text in _FIELD.findall(line.raw))
        fields = {name: value for name, value in numbers if value is not None}
        before = log.last_step_of(_TIME, line.rank)
        log.out.framework("megatron")
        log.saw_step(step)
        log.total_steps = total
        self._gaps.add(step)
        # DeepSpeed keeps norm and scale to itself when it runs the optimizer: the line then shows
        # "loss scale: -1.0 | grad norm: 0.000 | num zeros: 0.0", which are placeholders.
        left_out = _PLACEHOLDERS if fields.get("loss scale", 0.0) < 0 else frozenset()
        losses = [name for name in fields if name.replace("-", " ").replace("_", " ").endswith("loss")]
        for name in [*losses, *(name for name in fields if name in _KEPT - left_out)]:
            log.metric(name.replace("-", " "), fields[name], line, step)
        skipped = fields.get(_SKIPPED, -1.0)
        if skipped >= 0:
            count = float(int(min(skipped, 1e9)))
            log.point("skipped_steps", count, step, line.number, line.rank, line.time_s, summed=True)
        proper = [name.replace("-", " ") for name in losses if not _AUXILIARY.search(name)]
        self._losses.update(dict.fromkeys(proper))
        gap = step - before if before is not None and before < step else None
        end = next(reversed(fields), "")
        self._last_fields.update([end] if proper else ())
        whole = (
            _NAN in fields or _SKIPPED in fields or end in self._last_fields
        )  # a row that was cut lacks more than its loss
        if whole and not proper and not self._all_skipped(fields, gap):
            self._lossless.append((line.origin(), step))

    @staticmethod
    def _all_skipped(fields: dict[str, float], gap: int | None) -> bool:
        """Whether no iteration since the last line had a loss to print, for want of a step."""
        if fields.get(_NAN, 0.0) > 0:
            return False
        skipped = fields.get(_SKIPPED, 0.0)
        return skipped > 0 and (gap is None or skipped >= gap)

    def finish(self, log: LogState) -> None:
        """Write NaN for the losses that were left out, under the names that the log uses elsewhere."""
        names = list(self._losses) or ["lm loss"]
        for origin, step in self._lossless:
            for name in names:
                log.metric(name, float("nan"), origin, step)
        self._gaps.state_window(log)
