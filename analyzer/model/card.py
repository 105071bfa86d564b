"""A diagnosis where Python shows it by itself: a line at the prompt, a short card in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analyzer.model.wording import percent
from analyzer.record import NamedTuple

_COLOURS = {"failed": "#b3330a", "degraded": "#8a5300", "interrupted": "#8a5300", "healthy": "#00694f"}
"""Behind the word, which is white: readable in light and dark notebooks, and the same as in the report."""


class Card(NamedTuple):
    """What is shown of a diagnosis."""

    status: str  # its status
    root: str  # the run
    summary: str  # what happened
    cause: str = ""  # id of the leading cause; empty if there is none
    title: str = ""  # its sentence
    probability: float = 0.0  # its probability
    places: Sequence[str] = ()  # where its evidence stands
    fix: str = ""  # its first fix
    diffs: Sequence[str] = ()  # the change to the user's files

    @classmethod
    def of(cls, status: str, root: str, summary: str, leads: Any) -> Card:
        """The card of a diagnosis whose leading ``Finding``, if any, is given (its module imports this one)."""
        if leads is None:
            return cls(status, root, summary)
        places = dict.fromkeys(str(place) for line in leads.speaks_for() for place in line.refs[:1])
        diffs = [change.diff for fix in leads.fixes[:1] for change in fix.changes if change.diff]
        fix = leads.fixes[0].title if leads.fixes else ""
        cause = leads.cause
        return cls(
            status, root, summary, cause.id, cause.title, leads.probability, tuple(places)[:3], fix, diffs
        )

    def line(self) -> str:
        """``<Diagnosis runs/7b: failed, 97% bf16-pretrained-model-in-fp16>``."""
        cause = f", {percent(self.probability)} {self.cause}" if self.cause else ""
        return f"<Diagnosis {self.root}: {self.status}{cause}>"

    def html(self) -> str:
        """A few lines; all but the status in the colours of the notebook."""
        from html import escape as e  # noqa: PLC0415  (few diagnoses are shown in a notebook)

        colour = _COLOURS.get(self.status, "#57606a")
        rows = [
            f'<b style="background:{colour};color:#fff;padding:0 .5em;border-radius:.8em">{e(self.status.upper())}</b> <code>{e(self.root)}</code>',
            e(self.summary),
        ]
        if self.cause:
            rows.append(f"<b>{percent(self.probability)}</b> {e(self.title)} <code>{e(self.cause)}</code>")
        if self.places:
            rows.append(f"evidence: {', '.join(f'<code>{e(place)}</code>' for place in self.places)}")
        if self.fix:
            rows.append(f"fix: {e(self.fix)}")
        rows += [f"<pre>{e(diff)}</pre>" for diff in self.diffs]
        return f"<div>{'<br>'.join(rows)}</div>"
