"""The sections of the report of one run."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analyzer.digest import policy_digest
from analyzer.model.diagnosis import Diagnosis, Evidence, Finding, Fix, GapNote
from analyzer.model.run import Run
from analyzer.model.wording import counted, percent, word_for
from analyzer.render.curves import panels_of
from analyzer.render.html.baseline import baseline_section, with_baseline
from analyzer.render.html.charts import Marks, chart, shared_domain
from analyzer.render.html.excerpts import Anchors, breakable
from analyzer.render.html.ranks import ranks_section
from analyzer.render.html.tensors import tensors_section
from analyzer.render.html.tested import tested
from analyzer.render.machine_curves import machine_panels
from analyzer.render.sentences import (
    NAMED_FROM,
    Opening,
    amounts_read,
    arrange,
    because_here,
    device_time_note,
    ended_note,
    ended_words,
    explained,
    first_failure_note,
    fix_heading,
    fix_note,
    happened,
    is_quotable,
    made_by,
    odds_note,
    opening,
    restart_note,
    resume_note,
    seen_against,
    something_else,
)
from analyzer.render.words import answers_in_words, grounds, ledger_in_words, strongest

HERE = Path(__file__).parent
FULL = 3
"""Causes in full."""

RIVALS = 40
"""Rivals listed: what is ranked below explains nothing."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src '{script}'; img-src data:; base-uri 'none'; form-action 'none'"
"""The browser itself refuses every request, and every script but the one with this digest."""

e = html.escape


def render_html(diagnosis: Diagnosis, run: Run | None = None, baseline: Run | None = None) -> str:
    """The whole page.

    Args:
        diagnosis: What to show.
        run: The run, for curves and excerpts; without it the page has none.
        baseline: The run that worked, if one was given; its curves stand within the charts.
    """
    layout = arrange(diagnosis, show_all=False, top=FULL)
    anchors = Anchors(run)
    for finding in layout.full:
        for line in finding.evidence:
            if line.counted and line.verdict is not None:
                anchors.add(line.refs)
    if diagnosis.first_failure is not None:
        anchors.add([diagnosis.first_failure.place])
    if diagnosis.ended is not None:
        anchors.add(diagnosis.ended.evidence)
    charts, points = ("", []) if run is None else _charts(diagnosis, run, anchors, layout.full, baseline)
    ranks, tensors = ("", "") if run is None else (ranks_section(run, anchors), tensors_section(run))
    above = opening(diagnosis)
    open_question = above is not None and not above.leads
    body = [
        _top(diagnosis, above),
        *(
            _cause(finding, anchors, first=number == 0, only_if=open_question)
            for number, finding in enumerate(layout.full)
        ),
        *(
            f"<p>Note: {e(f.cause.title)} <span class=soft>({f.cause.id}, {percent(f.probability)})</span></p>"
            for f in layout.notes
        ),
        charts,
        "" if run is None or baseline is None else baseline_section(diagnosis, run, baseline),
        ranks,
        tensors,
        _device_time(diagnosis),
        _ledgers(layout.full, anchors),
        _rivals(layout.rivals, something_else(diagnosis) if layout.full else ""),
        _checks(diagnosis),
        _excerpts(anchors),
        _seen(diagnosis),
        (
            f"<footer>{e(_sentence(odds_note(diagnosis)) + made_by(diagnosis))}. "
            "This page is one file and asks no server for anything.</footer>"
        ),
    ]
    script = _file("script.js")
    policy = _POLICY.format(script=f"sha256-{policy_digest(script)}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="generator" content="analyzer">'
        f'<link rel="icon" href="data:,"><title>{e(diagnosis.status)}: {e(diagnosis.root)}</title>'
        f"<style>{_file('style.css')}</style></head><body><main>\n{chr(10).join(part for part in body if part)}\n</main>"
        f'<script type="application/json" id="data">{_json(points)}</script><script>{script}</script></body></html>\n'
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}. " if text else ""


def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    """JSON that no text of a log can turn into markup."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _top(diagnosis: Diagnosis, above: Opening | None) -> str:
    words = ended_words(diagnosis)
    subject = f" [{e(diagnosis.subject)}]" if diagnosis.subject else ""
    rows = [
        (
            f'<header><h1><span class="status {e(diagnosis.status)}">{e(diagnosis.status.upper())}</span><code>{breakable(diagnosis.root)}</code>{subject}'
            f"{f' <span class=soft>({e(words)})</span>' if words else ''}</h1>"
        ),
        f'<p class="happened">{e(happened(diagnosis))}</p>',
    ]
    notes = [ended_note(diagnosis), resume_note(diagnosis), first_failure_note(diagnosis)]
    rows += [f"<p>{e(note)}</p>" for note in notes if note]
    if diagnosis.others:
        names = ", ".join(diagnosis.others[:10]) + (" and others" if len(diagnosis.others) > 10 else "")
        rows.append(
            f"<p>One of {len(diagnosis.others) + 1} runs found here, the last to start; not looked at: {e(names)}</p>"
        )
    if above is not None:
        head = above.head[:1].upper() + above.head[1:]
        listed = "".join(f"<li>{e(row)}</li>" for row in above.rows)
        rows.append(f"<p><b>{e(head)}</b></p>" + (f"<ul>{listed}</ul>" if listed else ""))
    return "".join(rows) + "</header>"


def _cause(finding: Finding, anchors: Anchors, *, first: bool, only_if: bool) -> str:
    """A cause in full; ``only_if`` where none stands out, so that its fix depends on whether it is this one."""
    parts = [
        (
            f'<section class="verdict" id="{"cause" if first else e(finding.cause.id)}"><div class="figure">{percent(finding.probability)}'
            f"<small>{word_for(finding.probability)}</small></div><div><h2>{e(finding.cause.title)}</h2>"
            f'<p class="soft"><code>{e(finding.cause.id)}</code></p><p>{e(finding.cause.text)}</p><ul>'
        ),
        # of labelled runs with such numbers the page has told above; of this run nothing speaks for it
        *(f"<li>{_reason(line, anchors)}</li>" for line in strongest(finding) if not finding.likeness_only),
        "</ul>",
    ]
    if finding.seen_before:
        parts.append(f"<p>{e(finding.seen_before)} (your casebook)</p>")
    if finding.explains:
        parts.append(f"<p>It also explains {e(', '.join(explained(finding)))}</p>")
    parts.append("</div></section>")
    for fix in finding.fixes[:1]:
        heading = fix_heading(fix, finding.cause.id if only_if else "").capitalize()
        parts.append(_fix(fix, heading))
    parts.append(f"<p><b>Restart:</b> {e(restart_note(finding))}</p>")
    if len(finding.fixes) > 1:
        rest = "".join(_fix(fix, f"Way {number}") for number, fix in enumerate(finding.fixes[1:], start=2))
        parts.append(
            f"<details class=ways><summary>Other ways ({len(finding.fixes) - 1}), the best first</summary>{rest}</details>"
        )
    return "".join(parts)


def _reason(line: Evidence, anchors: Anchors) -> str:
    reason = e(grounds(line))
    where = f" ({anchors.link(line.refs[0])})" if line.refs and is_quotable(line) else ""
    return (
        f"{reason}{where}" if line.bits > 0 else f'<span class="against">Against it:</span> {reason}{where}'
    )


def _fix(fix: Fix, heading: str) -> str:
    parts = [f'<div class="fix"><h3>{heading}: {e(fix.title)}</h3><p class="soft">{e(fix_note(fix))}</p>']
    diff = "".join(change.diff for change in fix.changes)
    if diff:
        parts.append(_box("".join(_diff_line(line) for line in diff.splitlines())))
    loose = [change for change in fix.changes if not change.diff and not (diff and change.path)]
    if loose:
        rows = "".join(
            f"<span>{e(change.framework)}: {e(change.in_words())}"
            f"{f'  # {e(change.path)}:{change.line}, now {e(str(change.old))}' if change.path else ''}</span>"
            for change in loose
        )
        parts.append(_box(rows))
    if fix.code:
        parts.append(_box("".join(f"<span>{e(line)}</span>" for line in fix.code.splitlines())))
    if fix.verify:
        parts.append(f"<p>Then look at: {e(fix.verify)}</p>")
    return "".join(parts) + "</div>"


def _diff_line(line: str) -> str:
    if line.startswith(("--- ", "+++ ", "@@")):
        return f'<span class="soft">{e(line)}</span>'
    kind = "add" if line.startswith("+") else "del" if line.startswith("-") else ""
    return f'<span class="{kind}">{e(line)}</span>' if kind else f"<span>{e(line)}</span>"


def _box(rows: str) -> str:
    return f'<div class="box"><button class="copy" type="button">copy</button><pre tabindex="0">{rows}</pre></div>'


def _charts(
    diagnosis: Diagnosis, run: Run, anchors: Anchors, full: Sequence[Finding], baseline: Run | None
) -> tuple[str, list[dict[str, Any]]]:
    panels, machine = panels_of(run), machine_panels(run)
    if baseline is not None:
        panels = with_baseline(panels, baseline)
    if not (panels or machine):
        return "", []
    onset = None if diagnosis.onset is None else float(diagnosis.onset.step)
    marks = Marks(shared_domain([*panels, *machine]), onset, anchors.by_panel(full))
    drawn = [chart(panel, marks) for panel in (*panels, *machine)]
    when = ""
    if diagnosis.onset is not None and panels:
        what = f": {diagnosis.onset.what.rstrip(' ,')}" if diagnosis.onset.what else ""
        begins = diagnosis.onset.when or f"from step {diagnosis.onset.step} on"
        when = f"<p>Trouble {e(begins)}{e(what)}. The dashed line marks its beginning.</p>"
    shaded = (
        "<p class=soft>Every second attempt of a restarted run is shaded.</p>"
        if any(figure.count('class="attempt"') for figure, _ in drawn)
        else ""
    )
    tools = (
        '<div class="tools"><span class="soft point">Point at a curve to read it, drag to zoom all charts, double-click for the whole; by '
        'keyboard the arrows, + and -, Escape.</span><span class="soft touch">Touch a curve to read it.</span>'
        '<button class="reset" type="button" hidden>whole run</button></div>'
    )
    figures = [figure for figure, _ in drawn]
    groups = (("", figures[: len(panels)]), ("<h3>The machine</h3>", figures[len(panels) :]))
    grids = "".join(
        f'{head}<div class="charts{" three" if len(group) == 3 else ""}">{"".join(group)}</div>'
        for head, group in groups
        if group
    )
    text = f'<section><h2 id="curves">Curves</h2>{when}{shaded}{tools}{grids}</section>'
    return text, [points for _, points in drawn]


def _device_time(diagnosis: Diagnosis) -> str:
    split = diagnosis.device_time
    if split is None:
        return ""
    parts = (
        (split.compute, "compute"),
        (split.communication, "communication alone"),
        (split.copies, "copies"),
        (split.idle, "idle"),
    )
    shown = [(number, part, word) for number, (part, word) in enumerate(parts) if part]
    bars = "".join(
        f'<span class="c{number}" style="width:{100 * part:.1f}%"></span>' for number, part, _ in shown
    )
    words = "".join(
        f'<span><i class="m c{number}"></i>{word} {percent(part)}</span>' for number, part, word in shown
    )
    return f'<section><h2>Where the time of the device went</h2><div class="split" aria-hidden="true">{bars}</div><div class="legend" aria-hidden="true">{words}</div><p>{e(device_time_note(diagnosis))}</p></section>'


def _ledgers(full: Sequence[Finding], anchors: Anchors) -> str:
    if not full:
        return ""
    return (
        '<section><h2 id="ledger">Evidence</h2>'
        + "".join(_ledger(finding, anchors) for finding in full)
        + "</section>"
    )


def _ledger(finding: Finding, anchors: Anchors) -> str:
    decided = [line for line in finding.evidence if line.counted and line.bits]
    unknown = [line for line in finding.evidence if line.verdict is None]
    rows = "".join(
        f'<tr><td class="n {"for" if line.bits > 0 else "against"}">{"for" if line.bits > 0 else "against"} {abs(line.bits):.1f}</td>'
        f"<td>{e(because_here(line))}</td><td>{_seen_here(line)}</td><td>{'<br>'.join(anchors.link(place) for place in line.refs)}</td></tr>"
        for line in decided
    )
    open_rows = "".join(f"<li>{e(line.because)} <code>{e(line.test)}</code></li>" for line in unknown)
    more = (
        f"<details><summary>Not logged, so it counts neither way ({len(unknown)})</summary><ul>{open_rows}</ul></details>"
        if unknown
        else ""
    )
    return (
        f"<h3>{e(finding.cause.title)}: {percent(finding.probability)}</h3>"
        '<table class="wide"><thead><tr><th class="n">weight, bits</th><th>why it counts</th><th>what was seen</th><th>where</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}"
    )


def _seen_here(line: Evidence) -> str:
    """What was seen, in words; the names that a rule's author knows stand beside the pointer."""
    return f'<span title="{e(line.observed())}">{"<br>".join(map(breakable, ledger_in_words(line)))}</span>'


def _rivals(rivals: Sequence[Finding], other: str) -> str:
    if not rivals and not other:
        return ""
    likelier = [finding for finding in rivals if finding.probability >= NAMED_FROM]
    rest = (
        f'<tr><td class="n">{e(other)}</td><td>something else</td><td>what no rule here explains</td></tr>'
        if other
        else ""
    )
    unlikely = [finding for finding in rivals if finding.probability < NAMED_FROM][:RIVALS]
    more = (
        f"<details><summary>Below 1% ({len(unlikely)}), each with what speaks against it</summary>"
        f"{_rival_table(''.join(map(_rival, unlikely)))}</details>"
        if unlikely
        else ""
    )
    table = _rival_table("".join(map(_rival, likelier)) + rest) if likelier or rest else ""
    return f'<section><h2 id="rivals">What else was considered</h2>{table}{more}</section>'


def _rival_table(rows: str) -> str:
    return (
        '<table class="wide"><thead><tr><th class="n">probability</th><th>cause</th><th>why not</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _rival(finding: Finding) -> str:
    against = finding.speaks_against()[:1]
    seen = f"<br><span class=soft>{_seen_here(against[0])}</span>" if against else ""
    return (
        f'<tr><td class="n">{percent(finding.probability)}</td><td>{e(finding.cause.title)}<br><code class="soft">{e(finding.cause.id)}</code></td>'
        f"<td>{e(seen_against(finding)[1])}{seen}</td></tr>"
    )


def _checks(diagnosis: Diagnosis) -> str:
    if not diagnosis.next_checks:
        return ""
    rows = "".join(
        f"<li><b>{e(check.how or check.meaning)}</b><br>{e(answers_in_words(check))}</li>"
        for check in diagnosis.next_checks
    )
    return f'<section><h2 id="checks">To be more certain</h2><ol>{rows}</ol></section>'


def _excerpts(anchors: Anchors) -> str:
    text = anchors.html()
    return f'<section><h2 id="excerpts">Cited lines</h2>{text}</section>' if text else ""


def _seen(diagnosis: Diagnosis) -> str:
    coverage = diagnosis.coverage
    files = "".join(
        f"<tr><td><code>{breakable(note.path)}</code></td><td>{e(note.format)}</td></tr>"
        for note in coverage.sources[:200]
    )
    gaps = "".join(f"<li>{_gap(gap)}</li>" for gap in diagnosis.gaps[:100])
    checked = "".join(
        f"<tr><td>{e(subject)}</td><td>{e(what)}</td><td>{'yes' if there else 'nothing to look at'}</td></tr>"
        for subject, what, there in tested(coverage)
    )
    passed = "".join(f"<li>{e(test)}</li>" for test in coverage.passed)
    sound = diagnosis.status in {"healthy", "insufficient"} and passed
    missing = f"<p>Not seen: {e(', '.join(coverage.missing))}</p>" if coverage.missing else ""
    return (
        f'<section><h2 id="read">What was read and looked for</h2><p>{counted(len(coverage.sources), "file")}, '
        f"{e(amounts_read(coverage))}.</p>{missing}"
        + (f"<h3>Not read, or not whole</h3><ul>{gaps}</ul>" if gaps else "")
        + '<table class="wide"><thead><tr><th>subject</th><th>looked for</th><th>was there</th></tr></thead>'
        f"<tbody>{checked}</tbody></table>"
        + (
            f"<details class=ways><summary>Tested and passed ({len(coverage.passed)})</summary><ul>{passed}</ul></details>"
            if sound
            else ""
        )
        + f"<details><summary>Files</summary><table><tbody>{files}</tbody></table></details></section>"
    )


def _gap(gap: GapNote) -> str:
    line = f":{gap.line}" if gap.line else ""
    place = f"<code>{breakable(gap.path)}{line}</code>: " if gap.path else ""
    return place + e(gap.reason)
