"""Console rows of YOLO (Ultralytics v5, v8 and later): a table with a bar in it.

          Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
          1/100      2.05G      1.125      2.250      1.500         12        640: 100%|##########| 8/8 [00:02<00:00,  3.2it/s]
                     Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|##########| 4/4 [00:01<00:00]
                       all        128        929      0.625      0.500      0.550      0.375

The losses are means since the epoch began: the last state of each epoch counts. Versions with a column
``total`` print the loss there; YOLOv6 has the same table without a column of memory; what is left of such a table when somebody copies its losses alone is a head
without ``Epoch`` and one row of numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

_HEAD = LazyRegex(
    r"^\s{0,20}Epoch\s{1,20}(?:(?:GPU_mem|gpu_mem)\s{1,20}|(?=(?:lr\s{1,20})?iou_loss\s))(?P<columns>[\w\s-]{1,300})$"
)
_BARE_HEAD = LazyRegex(
    r"^\s{0,40}(?P<columns>box\s{1,20}obj\s{1,20}cls\s[\w\s]{1,200}labels\s{1,20}img_size)\s{0,20}$"
)
_BARE_ROW = LazyRegex(rf"^\s{{0,40}}(?P<values>(?:{NUMBER}\s{{1,30}}){{3,16}}{NUMBER})\s{{0,20}}$")
_ROW = LazyRegex(
    rf"^\s{{0,20}}(?P<epoch>\d{{1,7}})/(?P<epochs>\d{{1,7}})\s{{1,20}}(?:(?P<memory>[\d.]{{1,12}})G\s{{1,20}})?"
    rf"(?P<values>(?:{NUMBER}\s{{1,20}}){{1,16}}{NUMBER}):\s{{1,4}}\d{{1,3}}%(?:.{{0,200}}?\s(?P<at>\d{{1,9}})/(?P<of>\d{{1,9}})\s)?"
)
_RESULT_HEAD = LazyRegex(
    r"^\s{1,40}(?:Class\s{1,20}Images\s{1,20}|(?P<classifier>classes)\s{1,20}(?=top1_acc\s))(?P<columns>[^%]{1,200}?)(?::\s{1,4}\d{1,3}%|$)"
)
_RESULT = LazyRegex(rf"^\s{{1,40}}all\s{{1,20}}(?P<values>(?:{NUMBER}\s{{1,20}}){{1,15}}{NUMBER})\s{{0,20}}$")
_SAVED = LazyRegex(
    rf"^\s{{0,20}}(?P<epoch>\d{{1,7}})/\d{{1,7}}\s{{1,20}}(?P<memory>[\d.]{{1,12}})G\s{{1,20}}(?P<values>(?:{NUMBER}\s{{1,20}}){{12}}{NUMBER})\s{{0,20}}$"
)
_SAVED_NAMES = ("box_loss", "obj_loss", "cls_loss", "total_loss", "labels", "img_size",
                "val/precision", "val/recall", "val/mAP50", "val/mAP50-95", "val/box_loss", "val/obj_loss", "val/cls_loss")  # fmt: skip
_BEHIND = LazyRegex(r"%[^\]]{0,300}\]\s{0,8}[^\s\]].{3}|Traceback \(most recent call last\)")
_LABELS = frozenset({"instances", "labels", "targets"})
_DROPPED = _LABELS | {"size", "img_size"}
_RESULTS = {"p": "precision", "r": "recall", "map@.5": "mAP50", "map50": "mAP50"}
_MEANS = ("map50-95", "map@.5:.95")

TINY = 1e-12
F1_BY = 0.01
"""By how much of it F1 may be missed by what it is computed from: each is printed with three digits."""

MAX_OTHER_LINES = 400
"""Lines after a head that are no row of it before the table is given up: warnings stand in between."""


class YoloLines(WritesAtOnce):
    """Begins a table at its head, which is printed for every epoch."""

    def __init__(self) -> None:
        self._first_epoch: int | None = None
        self.results: list[str] = []
        """Names of the results, from the last bar of an evaluation: they hold for all epochs."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        text = line.text.rstrip()
        head = _HEAD.match(text) or _BARE_HEAD.match(text)
        if head is None:
            return False
        columns = [name.lower() for name in head["columns"].split()]
        log.captures.append(_Table(columns, self))
        return True

    def epoch_index(self, epoch: int) -> int:
        """Epochs before this one: version 5 counts them from 0, later ones from 1."""
        if self._first_epoch is None:
            self._first_epoch = 1 if epoch else 0
        return max(epoch - self._first_epoch, 0)


class YoloResults(WritesAtOnce):
    """Reads the rows of ``results.txt``, which have no head; the last digits of a column align, so spaces vary."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        match = _SAVED.match(line.text.rstrip())
        if match is None:
            return False
        log.out.framework("ultralytics")
        log.metric("epoch", float(match["epoch"]), line, None)
        if (memory := parse_number(match["memory"])) is not None:
            log.metric("gpu_memory_reserved_gib", memory, line, None)
        values = {
            name: parse_number(text) for name, text in zip(_SAVED_NAMES, match["values"].split(), strict=True)
        }
        for name, number in values.items():
            if name not in _DROPPED and number is not None:
                own = "val/f1" if name == "val/mAP50-95" and _is_f1(number, values) else name
                log.metric(own, number, line, None)
        return True


def _is_f1(number: float, values: Mapping[str, float | None]) -> bool:
    """Whether the fourth result is what precision and recall make of F1, which version 3 prints there."""
    precision, recall = values["val/precision"] or 0.0, values["val/recall"] or 0.0
    f1 = 2 * precision * recall / max(precision + recall, TINY)
    return f1 > 0 and abs(number - f1) <= F1_BY * f1


def _owned(text: str) -> Fed:
    """Whether a row is all that its line holds: how the program ended stands right behind a bar that is drawn without an end of line."""
    return Fed.PASSED if text.endswith("Killed") or _BEHIND.search(text) else Fed.OWNED


def _results(columns: list[str]) -> list[str]:
    """Names of results by the columns of their head, whose end a narrow terminal cuts; empty where one has none.

    >>> _results(["labels", "p", "r", "map50", "m"]), _results(["mask(p", "r", "map50", "map50-95)"])
    (['labels', 'precision', 'recall', 'mAP50', 'mAP50-95'], ['mask_precision', 'mask_recall', 'mask_mAP50', 'mask_mAP50-95'])
    """
    part, names = "", list[str]()
    for column in columns:
        ahead, parted, bare = column.rstrip(")").rpartition("(")
        part = f"{ahead}_".removeprefix("box_").removeprefix("_") if parted else part
        cut = names[-1:] == [f"{part}mAP50"] and any(mean.startswith(bare) for mean in _MEANS)
        known = "mAP50-95" if cut else _RESULTS.get(bare, "")
        names.append(bare if bare in _LABELS else known and part + known)
    return names


class _Table:
    """The rows of one epoch."""

    def __init__(self, columns: list[str], owner: YoloLines) -> None:
        self._columns = columns
        self._owner = owner
        self._row: tuple[LogLine, dict[str, float], int | None] | None = None
        self._others = 0

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        text = line.text.rstrip()
        if match := _ROW.match(text):
            self._keep(match, line)
            return _owned(text)
        if (match := _BARE_ROW.match(text)) and len(match["values"].split()) == len(self._columns):
            self._row = (line.detached(), self._losses(match["values"].split()), None)
            self.finish(log)
            return Fed.OWNED | Fed.ENDED
        if match := _RESULT_HEAD.match(text):
            columns = match["columns"].lower().split()
            # the row of a detector begins with its images, which are no result
            self._owner.results = columns if match["classifier"] else ["", *_results(columns)]
            return _owned(text)
        if match := _RESULT.match(text):
            # Output that is held back prints the results of an epoch below the head of the next, before its rows.
            early = self._row is None
            self.finish(log)
            self._write_results(match["values"].split(), line, log)
            return Fed.OWNED if early else Fed.OWNED | Fed.ENDED
        if text:
            self._others += 1
        if self._others > MAX_OTHER_LINES or _HEAD.match(text) or _BARE_HEAD.match(text):
            self.finish(log)
            return Fed.ENDED
        return Fed.PASSED

    def _keep(self, match: re.Match[str], line: LogLine) -> None:
        values = self._losses(match["values"].split())
        memory = parse_number(match["memory"]) if match["memory"] else None
        if memory is not None:
            values["gpu_memory_reserved_gib"] = memory
        values["epoch"] = float(match["epoch"])
        step = None
        if match["of"]:
            step = self._owner.epoch_index(int(match["epoch"])) * int(match["of"]) + int(match["at"])
        self._row = (line.detached(), values, step)

    def _losses(self, numbers: list[str]) -> dict[str, float]:
        """Values of a row by name: "box" and "total" become "box_loss" and "total_loss"."""
        values: dict[str, float] = {}
        for name, text in zip(self._columns, numbers, strict=False):
            number = parse_number(text)
            if name not in _DROPPED and number is not None:
                values[name if name.endswith("loss") or name == "lr" else f"{name}_loss"] = number
        return values

    def _write_results(self, numbers: list[str], line: LogLine, log: LogState) -> None:
        # The first column counts images; a head that is cut at its end names fewer columns than there are.
        for name, text in zip(self._owner.results, numbers, strict=False):
            number = parse_number(text)
            if name in _LABELS and number is not None:
                log.event(
                    "labelled_objects" if number else "labelled_objects_none",
                    "info",
                    line,
                    {"evaluated": True},
                )
            elif name and number is not None:
                log.metric(f"val/{name}", number, line, log.step)

    def finish(self, log: LogState) -> None:
        """See ``Capture.finish``."""
        if self._row is None:
            return
        line, values, step = self._row
        self._row = None
        log.out.framework("ultralytics")
        if step is not None:
            log.saw_step(step)
        for name, value in values.items():
            log.metric(name, value, line, step)
