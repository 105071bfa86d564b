"""Where a loop of several trainings (folds, settings, a script that was started again) begins the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from analyzer.ingest.text.log_line import LogLine, LogState

EPOCHS_OF_A_TRAINING = 3
"""Epochs passed before a fall back to the first one begins another training; tables of results count up to two anew."""

_TRAINING = LazyRegex(r"(?i)(?<![\w/-])(?:fold|seed)(?:[ _](?:no\.?|idx|id))?[ :=#]{1,3}\d{1,9}(?![\w.])")
"""Which of several trainings a line is of: ``Fold 2``, ``seed: 43``."""


class Trainings:
    """Follows the epochs of a log: those of one training never begin again."""

    def __init__(self) -> None:
        self._training = self._told_training = ""
        self._epoch: int | None = None
        self._first_epoch: int | None = None

    def hear(self, text: str) -> None:
        """A line that may name the training that comes."""
        if (training := _TRAINING.search(text)) is not None:
            self._training = training[0]

    def note(self, epoch: int, line: LogLine, log: LogState) -> None:
        """A row or a heading of an epoch; tell where the epochs start again."""
        if self._epoch is None or self._first_epoch is None:
            self._first_epoch = epoch
        elif epoch == self._first_epoch and (
            self._epoch >= epoch + EPOCHS_OF_A_TRAINING or self._training != self._told_training
        ):
            log.event("training_begins_again", "info", line, {"epoch": epoch}, None)
        self._epoch, self._told_training = epoch, self._training
