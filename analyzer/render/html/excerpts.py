"""Excerpts of the run's files around the cited lines, with line numbers; each cited line is an anchor."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence

from analyzer.ingest.quote import Quoter
from analyzer.model.diagnosis import Finding, Place
from analyzer.model.refs import SourceFile
from analyzer.model.run import Run
from analyzer.record import dataclass, field
from analyzer.render.curves import panel_key

REACH = 3
"""Lines shown before and after a cited one."""

MOST = 60
"""Cited lines in one report: whoever reads that many opens the file."""

LONGEST = 600
"""Characters of a line; logs hold whole dictionaries in one."""


def breakable(name: str) -> str:
    """A path or the name of a fact as HTML that a narrow column breaks between its words and never within one."""
    return re.sub(r"(?<=[/_=])(?=\w)|(?<=\w)(?=\.\w)", "<wbr>", html.escape(name))


@dataclass
class Anchors:
    """Every cited line and the anchor under which the page shows it."""

    run: Run | None
    places: dict[tuple[str, int], Place] = field(default_factory=dict)

    def add(self, places: Iterable[Place]) -> None:
        """Cite some places."""
        for place in places:
            if place.line is not None and len(self.places) < MOST:
                self.places.setdefault((place.path, place.line), place)

    def of(self, place: Place) -> str:
        """The anchor of a place; empty if the page does not show it."""
        if place.line is None or (place.path, place.line) not in self.places:
            return ""
        return self._name(place.path, place.line)

    def _name(self, path: str, line: int) -> str:
        number = next((source.index for source in self._sources() if source.path == path), 0)
        return f"line-{number}-{line}"

    def _sources(self) -> tuple[SourceFile, ...]:
        return () if self.run is None else self.run.sources

    def link(self, place: Place) -> str:
        """The place as HTML, a link if the page shows it."""
        shown = f"<code>{breakable(str(place))}</code>"
        anchor = self.of(place)
        return f'<a href="#{anchor}">{shown}</a>' if anchor else shown

    def by_panel(self, findings: Sequence[Finding]) -> Mapping[str, Mapping[tuple[str, int], str]]:
        """By key of a chart the cited lines whose evidence is seen in it."""
        found: dict[str, dict[tuple[str, int], str]] = {}
        for finding in findings:
            for line in finding.evidence:
                keys = {panel_key(name) for name in line.values if name.startswith("signal.")}
                for place in line.refs if line.counted else ():
                    anchor = self.of(place)
                    for key in keys if anchor and place.line is not None else ():
                        found.setdefault(key, {})[place.path, place.line or 0] = anchor
        return found

    def html(self) -> str:
        """The excerpts, file by file."""
        quoter = None if self.run is None else Quoter(self.run)
        numbers = {source.path: source.index for source in self._sources()}
        by_path: dict[str, list[int]] = {}
        for path, line in sorted(self.places):
            by_path.setdefault(path, []).append(line)
        return "".join(self._file(path, lines, numbers.get(path), quoter) for path, lines in by_path.items())

    def _file(self, path: str, cited: Sequence[int], source: int | None, quoter: Quoter | None) -> str:
        rows: dict[int, str] = {}
        for line in cited:
            around = quoter.around(source, line, REACH) if source is not None and quoter is not None else []
            rows.update(around or [(line, self.places[path, line].text)])
        if not any(rows.values()):
            return self._records(path, cited)
        written: list[str] = []
        before = None
        for number in sorted(rows):
            if before is not None and number > before + 1:
                written.append('<span class="row soft"><b>⋮</b></span>')
            before = number
            hit = f' hit" id="{self._name(path, number)}' if number in cited else ""
            text = rows[number] or "(a record that is no text)"
            shown = text if len(text) <= LONGEST else text[:LONGEST] + " … (cut)"
            written.append(f'<span class="row{hit}"><b>{number}</b>{html.escape(shown)}</span>')
        return (
            f'<div class="excerpt"><h3><code>{html.escape(path)}</code></h3>'
            f'<pre tabindex="0" aria-label="Excerpt of {html.escape(path)}">{"".join(written)}</pre></div>'
        )

    def _records(self, path: str, cited: Sequence[int]) -> str:
        """Records of a binary file, in one line: their values stand in the charts."""
        named = ", ".join(f'<b id="{self._name(path, number)}">{number}</b>' for number in sorted(cited))
        return (
            f'<div class="excerpt"><h3><code>{html.escape(path)}</code></h3>'
            f'<p class="soft">No text, a binary file; cited {"is record" if len(cited) == 1 else "are records"} {named}</p></div>'
        )
