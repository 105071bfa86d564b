"""The run beside one that worked: the settings that differ, and the baseline's curves within the charts."""

from __future__ import annotations

import html

from analyzer.model.diagnosis import Diagnosis
from analyzer.model.run import Run
from analyzer.model.wording import percent
from analyzer.render.beside import NAMED, differences, in_short
from analyzer.render.curves import Panel, panels_of
from analyzer.render.html.excerpts import breakable

e = html.escape


def with_baseline(panels: tuple[Panel, ...], baseline: Run) -> tuple[Panel, ...]:
    """The panels with the baseline's first series as their last one, where both are drawn over steps."""
    theirs = {panel.key: panel for panel in panels_of(baseline)}
    return tuple(
        panel._replace(
            log=panel.log and other.log, lines=(*panel.lines, other.lines[0]._replace(label="baseline"))
        )
        if (other := theirs.get(panel.key)) is not None and panel.by_step and other.by_step
        else panel
        for panel in panels
    )


def baseline_section(diagnosis: Diagnosis, run: Run, baseline: Run) -> str:
    """The section: what differs, that first which bears on the cause, and where the curves part."""
    rows = differences(baseline, run, diagnosis)
    curves = in_short(baseline, run, diagnosis)[1]
    body = "".join(
        f"<tr><td><code>{breakable(row.key)}</code></td><td>{e(row.good or 'not stated')}</td><td>{e(row.bad or 'not stated')}</td>"
        f"<td>{f'{e(row.cause)}, {percent(row.weight)}' if row.weight else ''}</td></tr>"
        for row in rows[:NAMED]
    )
    table = (
        '<table class="wide"><thead><tr><th>setting</th><th>baseline</th><th>this run</th><th>bears on</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
        if rows
        else "<p>No setting differs.</p>"
    )
    more = f"<p class=soft>{len(rows) - NAMED} more differ.</p>" if len(rows) > NAMED else ""
    return (
        f'<section><h2 id="baseline">Beside the baseline</h2><p><code>{e(baseline.root)}</code></p>'
        f"<p>The curves are {e(curves)}.</p>{table}{more}</section>"
    )
