"""The fleet on a screen: what failed, why, what it cost, which hosts, what is new."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.ingest.masking import clean_text
from analyzer.model.wording import counted
from analyzer.triage.pages.words import hours, number, verdict
from analyzer.triage.summary import FleetSummary, Tally

ROWS = 12
LESS = 5
MAX_LINE = 2_000
"""Characters of a line before it is cut to the width; names of files may hold anything, also escape sequences."""
_NAMES = {"cause": "cause", "node": "host", "user": "user", "model": "model"}


class _Screen:
    def __init__(self, width: int, *, colour: bool) -> None:
        self.lines: list[str] = []
        self.width = width
        self.colour = colour

    def add(self, text: str = "", code: str = "") -> None:
        text = clean_text(text, MAX_LINE)
        cut = text if len(text) <= self.width else text[: self.width - 1] + "…"
        self.lines.append(f"\x1b[{code}m{cut}\x1b[0m" if code and self.colour else cut)

    def path(self, indent: int, before: str, path: str) -> None:
        """A path, of which the end says most."""
        room = self.width - indent - len(before)
        self.add(" " * indent + before + (path if len(path) <= room else "…" + path[1 - room :]), "2")

    def head(self, text: str) -> None:
        self.add()
        self.add(text, "1")

    def more(self, shown: int, total: int) -> None:
        if total > shown:
            self.add(f"  … {total - shown} more in the dataset")


def render_terminal(summary: FleetSummary, group_by: str, *, colour: bool, width: int) -> str:
    """The fleet for a terminal."""
    screen = _Screen(width, colour=colour)
    order = ("failed", "degraded", "interrupted", "healthy", "insufficient", "unreadable", "not diagnosed")
    counts = ", ".join(f"{summary.statuses[name]} {name}" for name in order if summary.statuses[name])
    screen.add(f"{counted(summary.runs, 'run')}: {counts or 'none'}", "1")
    if summary.all_failed.failed:
        screen.add(
            f"GPU-hours of failed runs: {hours(summary.all_failed)}; work saved in checkpoints is not subtracted"
        )
    if summary.baselines:
        screen.add(f"{summary.baselines} compared with a healthy run of like configuration")
    _table(screen, summary.grouped(group_by), group_by)
    _restart(screen, summary)
    _shared(screen, summary)
    _nodes(screen, summary)
    _shapes(screen, summary)
    _problems(screen, summary)
    return "\n".join(screen.lines) + "\n"


def _table(screen: _Screen, tallies: Sequence[Tally], group_by: str) -> None:
    if not tallies:
        return
    screen.head(f"by {group_by}")
    wide = max(20, screen.width - 46)
    screen.add(f"  {_NAMES[group_by]:<{wide}} {'runs':>5} {'failed':>6}  GPU-hours lost")
    for tally in tallies[:ROWS]:
        name = tally.name if len(tally.name) <= wide else tally.name[: wide - 1] + "…"
        screen.add(f"  {name:<{wide}} {tally.runs:>5} {tally.failed:>6}  {hours(tally)}")
        if group_by != "cause" and tally.causes:
            top = ", ".join(f"{cause} {count}" for cause, count in tally.causes.most_common(3))
            screen.add(f"      {top}", "2")
    screen.more(ROWS, len(tallies))
    if group_by == "cause" and any(tally.gpu_hours for tally in tallies):
        costly = sorted(tallies, key=lambda tally: (-tally.gpu_hours, tally.name))[:LESS]
        screen.head("most GPU-hours lost")
        for tally in costly:
            if tally.gpu_hours:
                screen.add(
                    f"  {number(tally.gpu_hours):>8}  {tally.name} ({counted(tally.failed, 'failed run')})"
                )


def _restart(screen: _Screen, summary: FleetSummary) -> None:
    if summary.restarts:
        screen.head("restart (restart.jsonl has each run)")
        ordered = sorted(summary.restarts.items(), key=lambda item: (-item[1], item[0]))
        screen.add("  " + ", ".join(f"{decision} {count}" for decision, count in ordered))


def _shared(screen: _Screen, summary: FleetSummary) -> None:
    groups = summary.shared_failures()
    if not groups:
        return
    screen.head("runs that share one root failure")
    for group in groups[:LESS]:
        who = f", {len(group['users'])} users" if len(group["users"]) > 1 else ""
        screen.add(f"  {group['runs']} runs{who}: {group['cause']}  [{group['fingerprint']}]")
        if group["text"]:
            screen.add(f"      {group['text']}", "2")
        screen.path(6, "e.g. ", group["examples"][0])
    screen.more(LESS, len(groups))


def _nodes(screen: _Screen, summary: FleetSummary) -> None:
    nodes = summary.nodes()
    if not nodes:
        return
    screen.head("hosts in several failures")
    for node in nodes[:LESS]:
        screen.add(f"  {'BAD ' if node.bad else ''}{node.host}", "31;1" if node.bad else "")
        screen.add(f"      {verdict(node)}")
    screen.more(LESS, len(nodes))


def _shapes(screen: _Screen, summary: FleetSummary) -> None:
    shapes = summary.shapes()
    if not shapes:
        return
    screen.head("no rule explains (last words, by shape)")
    for shape in shapes[:LESS]:
        screen.add(f"  {counted(shape.runs, 'run')}, {shape.shape}: {shape.template}")
        screen.path(6, "e.g. ", shape.location)
    screen.more(LESS, len(shapes))


def _problems(screen: _Screen, summary: FleetSummary) -> None:
    for title, problems in (
        ("could not be diagnosed", summary.problems),
        ("could not be read", summary.unreadable),
    ):
        if problems:
            screen.head(title)
            for problem in problems[:LESS]:
                screen.path(2, "", problem["location"])
                screen.add(f"      {problem['problem'].removeprefix(problem['location'] + ': ')}")
            screen.more(LESS, len(problems))
