"""Ranks by time: a lane for each rank, a mark for each thing that it reports, and the same as a table."""

from __future__ import annotations

import html
from datetime import UTC, datetime

from analyzer.model.run import Run
from analyzer.render.html.excerpts import Anchors, breakable
from analyzer.render.rank_times import CAUSE, LAST, TOLD, WAITED, Lane, Mark, RankTimes, rank_times

_WORDS = {
    CAUSE: "failed by itself",
    WAITED: "waited for others or lost them",
    TOLD: "was ended, or so reported by the launcher",
    LAST: "last line of its own log",
}
CITED_CAUSES = 8
"""Failures whose lines are quoted below the picture; of more of one kind the first tell as much."""

e = html.escape


def ranks_section(run: Run, anchors: Anchors) -> str:
    """The section, and its failures among the cited lines; empty where fewer than two ranks are known."""
    times = rank_times(run)
    if times is None:
        return ""
    causes = [mark.place for lane in times.lanes for mark in lane.marks if mark.what == CAUSE]
    anchors.add(causes[:CITED_CAUSES])
    marks = [mark for lane in times.lanes for mark in lane.marks]
    low, high = min(mark.since for mark in marks), max(mark.at for mark in marks)
    lanes = "".join(_lane(lane, times, low, high, anchors) for lane in times.lanes)
    used = {mark.what for mark in marks}
    legend = "".join(
        f'<span><i class="m {what}"></i>{words}</span>' for what, words in _WORDS.items() if what in used
    )
    if any(lane.awaited for lane in times.lanes):
        legend += '<span><i class="m awaited"></i>the others wait for it, and it for nobody</span>'
    hidden = (
        f"<p class=soft>{times.hidden} further ranks report nothing else than these.</p>"
        if times.hidden
        else ""
    )
    return (
        f'<section><h2 id="ranks">Ranks by {"time" if times.by_clock else "order in the log"}</h2>{_axis_note(times, low, high)}'
        f'<p class="legend">{legend}</p><div class="lanes" role="group" aria-label="One lane for each rank; the table below says the same.">'
        f"{lanes}</div>{hidden}{_table(times, low)}</section>"
    )


def _axis_note(times: RankTimes, low: float, high: float) -> str:
    if not times.by_clock:
        return "<p>No line of these has a clock: what stands to the left was written first.</p>"
    begin = datetime.fromtimestamp(low, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"<p>From {begin} UTC (or the clock of the log, if it names no zone), over {_seconds(high - low)}.</p>"


def _seconds(length: float) -> str:
    if length < 1:
        return f"{length * 1e3:.3g} ms"
    return f"{length:.3g} s" if length < 600 else f"{length / 60:.4g} min"


def _lane(lane: Lane, times: RankTimes, low: float, high: float, anchors: Anchors) -> str:
    def at(value: float) -> float:
        return (value - low) / ((high - low) or 1.0) * 100

    drawn = []
    for mark in lane.marks:
        if mark.at > mark.since:
            drawn.append(
                f'<span class="bar" style="left:{at(mark.since):.2f}%;width:{at(mark.at) - at(mark.since):.2f}%"></span>'
            )
        word = e(f"rank {lane.rank}: {mark.words}{_when(mark, times, low)}, {mark.place}")
        anchor = anchors.of(mark.place)
        tag, link = ("a", f' href="#{anchor}" aria-label="{word}"') if anchor else ("span", "")
        drawn.append(
            f'<{tag} class="m {mark.what}"{link} style="left:{at(mark.at):.2f}%" title="{word}"></{tag}>'
        )
    if not lane.marks:
        drawn.append("<em>had finished every collective that it issued</em>")
    name = f"{lane.rank}{' first' if lane.first else ''}"
    host = f' title="{e(lane.host)}"' if lane.host else ""
    return f'<div{" class=first" if lane.first or lane.awaited else ""}><b{host}>{name}</b><span class="lane">{"".join(drawn)}</span></div>'


def _when(mark: Mark, times: RankTimes, low: float) -> str:
    if not times.by_clock:
        return ""
    waited = f", since {_seconds(mark.at - mark.since)}" if mark.at > mark.since else ""
    return f", +{_seconds(mark.at - low)}{waited}"


def _table(times: RankTimes, low: float) -> str:
    rows = "".join(
        f'<tr><td class="n">{lane.rank}</td><td>{e(lane.host)}</td><td class="n">{_when(mark, times, low).removeprefix(", ")}</td>'
        f"<td>{e(mark.words)}</td><td><code>{breakable(str(mark.place))}</code></td></tr>"
        for lane in times.lanes
        for mark in lane.marks
    )
    return (
        '<details><summary>Table of these marks</summary><div class="scroll"><table><thead><tr><th class="n">rank</th><th>host</th>'
        f'<th class="n">when</th><th>what</th><th>place</th></tr></thead><tbody>{rows}</tbody></table></div></details>'
    )
