"""``analyzer mcp``: the tools and resources of the Model Context Protocol, by its official SDK (extra ``mcp``)."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, unquote

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from analyzer.agents.excerpts import CHARACTERS_PER_TOKEN, MOST, NOTE, USUAL, lines_at, series_at, within
from analyzer.desk import Desk
from analyzer.errors import AnalyzerError
from analyzer.version import __version__

INSTRUCTIONS = f"""\
Tells why a deep-learning training run failed, how it knows, and what to change.
Begin with `diagnose`: its brief names candidates with odds and cites path:line. Check what decides with `lines`, `series`
and `explain` before you advise; say so where the evidence is thin. `search_causes` and `rules_for_line` need no run.
Paths are relative to the folders that the server was started with; others cannot be read. {NOTE[:1].upper()}{NOTE[1:]}.
"""

_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

Run = Annotated[str, Field(description="Run directory or log file, within the allowed folders.")]
Tokens = Annotated[int, Field(description="About how many tokens the answer may have.")]


class _Tools:
    """The tools. Each answers with text; what a caller did wrong is said in one line."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._one = threading.Lock()  # diagnoses one after the other: two would only take each other's memory

    def answer(self, make: Callable[[], str], max_tokens: int = USUAL) -> str:
        """The text of an answer within its budget.

        Raises:
            ToolError: The question cannot be answered; says why.
        """
        try:
            with self._one:
                return within(make(), max_tokens)
        except AnalyzerError as error:
            raise ToolError(str(error)) from error

    def diagnose(
        self,
        run: Run,
        baseline: Annotated[str, Field(description="A run that worked, to be compared with.")] = "",
        checkpoint: Annotated[str, Field(description="Checkpoint directory that belongs to the run.")] = "",
        max_tokens: Tokens = USUAL,
    ) -> str:
        """Why a run failed: facts with their places, candidates with odds, the first fix, and what was not read."""
        from analyzer.render.brief import render_brief  # noqa: PLC0415  (a server starts before anybody asks)

        def make() -> str:
            study = self._desk.study(run, baseline, checkpoint)
            return f"({NOTE})\n" + render_brief(study.diagnosis, study.run, max_tokens * CHARACTERS_PER_TOKEN)

        return self.answer(make, max_tokens + 100)  # the brief bounds itself

    def lines(
        self,
        run: Run,
        place: Annotated[str, Field(description="path:line as an answer cites it.")],
        reach: Annotated[int, Field(description="Lines before and after.")] = 5,
        max_tokens: Tokens = USUAL,
    ) -> str:
        """The lines of a file around a reference, with their numbers, secrets masked."""
        return self.answer(lambda: lines_at(self._desk.study(run).run, place, reach), max_tokens)

    def series(
        self,
        run: Run,
        metric: Annotated[str, Field(description="loss, grad_norm, …; empty: which were logged.")] = "",
        step: Annotated[
            float | None, Field(description="Show the points around it; else all, thinned.")
        ] = None,
        points: Annotated[int, Field(description="About how many points.")] = 40,
        max_tokens: Tokens = USUAL,
    ) -> str:
        """A logged series: whole and thinned (extremes and NaN are kept), or every point around a step."""
        return self.answer(lambda: series_at(self._desk.study(run).run, metric, step, points), max_tokens)

    def explain(
        self,
        run: Run,
        cause: Annotated[str, Field(description="Cause or rule id; empty: the leading one.")] = "",
        max_tokens: Tokens = USUAL,
    ) -> str:
        """Every line of evidence for and against one cause, with its weight in bits and where it stands."""

        def make() -> str:
            diagnosis = self._desk.study(run).diagnosis
            try:
                return f"({NOTE})\n{diagnosis.explain(cause)}"
            except KeyError:
                known = ", ".join(f.cause.id for f in (*diagnosis.findings, *diagnosis.ruled_out)) or "none"
                raise ToolError(
                    f"{cause or 'no cause'} was not considered for this run; considered were: {known}"
                ) from None

        return self.answer(make, max_tokens)

    def compare(
        self,
        good: Annotated[str, Field(description="A run that worked.")],
        bad: Annotated[str, Field(description="The run to hold against it.")],
        max_tokens: Tokens = USUAL,
    ) -> str:
        """Settings and versions in which two runs differ, ranked by what they could explain, and where curves part."""
        from analyzer.render import Style  # noqa: PLC0415
        from analyzer.render.beside import render_comparison  # noqa: PLC0415

        def make() -> str:
            worked = self._desk.study(good).run
            found = self._desk.study(bad, good)
            return f"({NOTE})\n" + render_comparison(
                worked, found.run, found.diagnosis, Style(colour=False), plots=False
            )

        return self.answer(make, max_tokens)

    def search_causes(self, words: str, max_tokens: Tokens = USUAL) -> str:
        """Root causes of training failures that speak of some words, without a run."""
        from analyzer.agents.knowledge import search  # noqa: PLC0415

        return self.answer(lambda: search(words, self._desk.rules), max_tokens)

    def rules_for_line(
        self,
        line: Annotated[str, Field(description="A line of a log, as it stands.")],
        max_tokens: Tokens = USUAL,
    ) -> str:
        """What a pasted log line is read as, and which causes look at such a line."""
        from analyzer.agents.knowledge import rules_for  # noqa: PLC0415

        return self.answer(lambda: rules_for(line, self._desk.rules), max_tokens)

    def triage(
        self,
        folder: Annotated[str, Field(description="A folder that holds many runs.")] = ".",
        max_tokens: Tokens = USUAL,
    ) -> str:
        """Many runs at once: what failed, by which cause, which failures are one. Takes a second or so a run."""
        return self.answer(lambda: _triage(self._desk.place(folder), self._desk.rule_packs), max_tokens)


MOST_RUNS = 200
"""Runs that one call diagnoses: about a minute on two cores. More are for ``analyzer triage --out``."""


def _triage(folder: Path, rules: tuple[Path, ...]) -> str:
    from analyzer.triage.campaign import Campaign, run_campaign  # noqa: PLC0415  (a server starts before anybody asks)
    from analyzer.triage.pages import render_fleet  # noqa: PLC0415
    from analyzer.triage.places import open_place  # noqa: PLC0415
    from analyzer.triage.plan import make_plan  # noqa: PLC0415
    from analyzer.triage.specs import Options, worker_count  # noqa: PLC0415
    from analyzer.triage.store import Dataset  # noqa: PLC0415

    plan = make_plan([str(folder)], offline=True)
    found = len(plan.runs)
    del plan.runs[MOST_RUNS:]
    options = Options(tuple(str(place) for place in rules), offline=True)
    with tempfile.TemporaryDirectory(prefix="analyzer-") as directory:
        place = open_place(directory)
        result = run_campaign(Campaign(place, options, workers=worker_count(None)), plan, lambda *_: None)
        text = render_fleet(result.summary, Dataset(place).records, "terminal")
    left = f"only the first {MOST_RUNS} of {found} runs; all: analyzer triage {folder}\n"
    return left + text if found > MOST_RUNS else text


def build_server(desk: Desk) -> MCPServer[None]:
    """The server, ready to ``run``."""
    server: MCPServer[None] = MCPServer(
        "analyzer",
        title="Training run analyzer",
        version=__version__,
        instructions=INSTRUCTIONS,
        log_level="WARNING",
    )
    tools = _Tools(desk)
    for tool in (
        tools.diagnose, tools.lines, tools.series, tools.explain, tools.compare, tools.search_causes,
        tools.rules_for_line, tools.triage,
    ):  # fmt: skip
        server.tool(annotations=_READS, structured_output=False)(tool)
    _add_resources(server, desk, tools)
    return server


def _add_resources(server: MCPServer[None], desk: Desk, tools: _Tools) -> None:
    """Causes and runs, each as a list and one by one."""

    def causes() -> str:
        """Every root cause of the catalogue, one per line."""
        from analyzer.rules.causes import catalogue  # noqa: PLC0415

        return "\n".join(f"{entry.id}: {entry.title}" for entry in catalogue().values()) + "\n"

    def cause(cause: str) -> str:
        """One root cause: how it comes about, how it is told from its look-alikes, what cures it."""
        from analyzer.agents.knowledge import cause_page  # noqa: PLC0415

        try:
            return cause_page(cause, desk.rules)
        except AnalyzerError as error:
            raise ResourceError(str(error)) from error

    def runs() -> str:
        """Every run below the allowed folders: its path, and the address of its brief."""
        shown = [desk.shown(Path(run.location)) for run in desk.runs()]
        return within("".join(f"{run}  analyzer://runs/{quote(run, safe='')}\n" for run in shown), MOST)

    def run(run: str) -> str:
        """The brief of one run, its path percent-encoded."""
        try:
            return tools.diagnose(unquote(run))
        except ToolError as error:
            raise ResourceError(str(error)) from error

    server.resource("analyzer://causes", mime_type="text/plain")(causes)
    server.resource("analyzer://causes/{cause}", mime_type="text/markdown")(cause)
    server.resource("analyzer://runs", mime_type="text/plain")(runs)
    server.resource("analyzer://runs/{run}", mime_type="text/plain")(run)
