"""The runs that a caller (an agent, TensorBoard, a service) may look at, and the studies of those that it looked at last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from analyzer import api
from analyzer.errors import InputError
from analyzer.ingest.written import written
from analyzer.rules.load import RuleSet, load_rules
from analyzer.triage.specs import RunSpec

KEPT = 4
"""Studies kept: a caller asks several things about a run, and compares it with one or two others."""


class Desk:
    """Answers for runs below some folders; a run is read again only if its files have changed.

    Args:
        folders: Folders that may be looked into, with all below them.
        rules: Further rule packs.

    Raises:
        InputError: A folder does not exist.
    """

    def __init__(self, folders: Sequence[Path], rules: Sequence[Path] = ()) -> None:
        missing = [folder for folder in folders if not folder.is_dir()]
        if missing:
            raise InputError(f"{missing[0]}: no such folder; name folders that hold runs")
        self.folders = tuple(folder.resolve() for folder in folders)
        self.rule_packs = tuple(rules)
        self._kept: OrderedDict[tuple[Path, Path | None, Path | None], tuple[object, api.Study]] = (
            OrderedDict()
        )

    @cached_property
    def rules(self) -> RuleSet:
        """All rules in use."""
        return load_rules(self.rule_packs)

    def place(self, text: str) -> Path:
        """A path within the folders.

        Args:
            text: Absolute, or relative to one of the folders.

        Raises:
            InputError: It is not there, or it lies outside.
        """
        for folder in self.folders:
            try:
                path = (folder / text).resolve(strict=True)  # an absolute text replaces the folder
            except (OSError, ValueError):  # not there; a null byte
                continue
            if any(path.is_relative_to(allowed) for allowed in self.folders):
                return path
        # the same words for "outside" and "not there": a caller learns nothing about the rest of the machine
        raise InputError(f"{text!r}: not among the folders that may be looked into, or not there")

    def runs(self) -> list[RunSpec]:
        """Every run below the folders, by names alone."""
        from analyzer.triage.plan import make_plan  # noqa: PLC0415  (not for who names the run)

        return make_plan([str(folder) for folder in self.folders], offline=True).runs

    def shown(self, path: Path) -> str:
        """A path as ``place`` takes it back."""
        for folder in self.folders:
            if path.is_relative_to(folder):
                relative = path.relative_to(folder).as_posix()
                return relative if len(self.folders) == 1 else str(path)
        return str(path)

    def study(self, run: str, baseline: str = "", checkpoint: str = "") -> api.Study:
        """Diagnose a run, or return the kept answer if its files have not changed.

        Raises:
            InputError: A path is not allowed or not there, or nothing could be read.
        """
        path = self.place(run)
        good = self.place(baseline) if baseline else None
        weights = self.place(checkpoint) if checkpoint else None
        key = (path, good, weights)
        state = tuple(written(place) for place in key if place is not None)
        if key in self._kept and self._kept[key][0] == state:
            self._kept.move_to_end(key)
            return self._kept[key][1]
        study = api.study(path, baseline=good, checkpoint=weights, rules=self.rule_packs, offline=True)
        self._kept[key] = (state, study)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return study
