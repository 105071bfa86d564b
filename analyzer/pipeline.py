"""From a loaded run to a diagnosis: detectors, facts, rules, folding of consequences, status.

Not for reading files (ingest) nor for judging (rules): this module only connects them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from analyzer.casebook.memory import Remembered, own_records, remember
from analyzer.detect import run_detectors
from analyzer.expr import decided_by
from analyzer.facts.build import Facts, build_facts, device_time, onset
from analyzer.guard import STRICT, Guard
from analyzer.ingest.discover import Loaded, load_run
from analyzer.ingest.masking import clean_text
from analyzer.ingest.quote import Quoter
from analyzer.looked_at import coverage_of
from analyzer.model.diagnosis import (
    Diagnosis,
    Ended,
    Evidence,
    Finding,
    FirstFailure,
    GapNote,
    Headline,
    Place,
    RootCause,
)
from analyzer.model.labels import ORDINARY
from analyzer.model.refs import SourceRef
from analyzer.model.run import Run
from analyzer.model.tables import Scalar
from analyzer.model.wording import LIKELY, REPORTED
from analyzer.record import NamedTuple
from analyzer.rules.causes import catalogue
from analyzer.rules.ending import judged_training
from analyzer.rules.fixing.fixes import resolve_fixes
from analyzer.rules.fixing.words import localised
from analyzer.rules.folding import Folding, came_first, fold, in_order
from analyzer.rules.health import health
from analyzer.rules.load import RuleSet
from analyzer.rules.next_checks import next_checks
from analyzer.rules.restart import restart_of
from analyzer.rules.score import LedgerLine, Ranking, Scored, rank
from analyzer.rules.shape_line import POOLED
from analyzer.rules.status import Verdict, judge, outcome, says_less_than_end
from analyzer.rules.telling import Telling, telling
from analyzer.rules.template import fill
from analyzer.rules.tree import headline_of
from analyzer.version import __version__

if TYPE_CHECKING:
    from analyzer.rules.cases import Case

LISTED_FROM = 0.02
"""Probability below which a considered cause counts as ruled out: 1 in 50."""

CANDIDATE_FROM = 0.05
"""Probability from which a cause is a candidate where too little was seen for a verdict and no labelled runs are like it."""

GUESS = 0.1
"""Probability below which the first of the candidates is a guess where no error was printed: of 50 such answers for unseen runs one was
right, of the 79 from there to .15 18. Of 75 by the words of an error 17 were right, and 47 had the cause among three."""

REFS_PER_LINE = 3


class Assessment(NamedTuple):
    """Everything between facts and report; kept for ``explain`` and for tests."""

    facts: Facts
    ranking: Ranking
    remembered: Mapping[str, Remembered]


def assess(run: Run, rules: RuleSet, baseline: Run | None = None, guard: Guard = STRICT) -> Assessment:
    """Facts of a run and the ranking of the causes that come into question."""
    facts = build_facts(run_detectors(run, baseline, guard), guard)
    remembered: dict[str, Remembered] = {}

    def base_rates(causes: Sequence[str]) -> Mapping[str, float]:
        found = remember(own_records(), facts.plain, causes, datetime.now(UTC).date())
        remembered.update(found)
        return {cause: entry.bits for cause, entry in found.items()}

    in_question = rules.in_question(facts.plain)
    ranking = rank(in_question, facts.plain, base_rates, guard)
    if records := own_records():
        from analyzer.casebook.confirmed_only import confirmed_only  # noqa: PLC0415  (few users keep a casebook)

        found = confirmed_only(records, facts.plain, rules, ranking, datetime.now(UTC).date())
        if found is not None:
            ranking, remembered[found[2]] = found[0], found[1]
    return Assessment(facts, ranking, remembered)


def diagnose_loaded(
    loaded: Loaded, rules: RuleSet, baseline: Run | None, quoter: Quoter, started_s: float
) -> Diagnosis:
    """The whole answer for one run.

    Args:
        loaded: The run and which of several it is.
        rules: Rules in use.
        baseline: A run that worked, or None.
        quoter: Reads the files of the run again, for diffs and quotes.
        started_s: ``time.perf_counter()`` when work on the run began.

    Raises:
        InputError: Nothing was read but the last words of a log, and they tell nothing.
    """
    run, guard = loaded.run, Guard(cpu_s=loaded.judging_s)
    assessment = assess(run, rules, baseline, guard)
    facts = assessment.facts
    folded = fold(assessment.ranking, assessment.facts.plain)
    listed = _by_rules(run, assessment, folded, quoter, guard)
    tests = health(facts.plain)
    seen = outcome(facts.plain)
    by_rules = listed
    verdict = _unless_part_failed(judge(by_rules, seen, tests, facts.plain), guard)
    kinds: Collection[str] = ()
    if _may_be_like_others(verdict.status, listed, in_doubt=bool(tests.doubts)):
        listed, first, kinds = _pooled(listed, assessment, folded, rules, run, quoter)
        if first is not None:
            verdict = judge(by_rules, seen, tests, facts.plain, first)
    status = verdict.status
    findings, ruled_out = _split(listed, status, is_pooled=bool(kinds))
    every = (*findings, *ruled_out)
    as_told = telling(every, status, kinds)
    findings, ruled_out = (tuple(map(as_told.finding, part)) for part in (findings, ruled_out))
    _refuse_unread(loaded, findings, facts.plain)
    other = _other(listed, assessment.ranking, folded, kinds)
    return Diagnosis(
        run_id=run.id,
        root=clean_text(run.root),
        subject=loaded.subject,
        others=loaded.others,
        status=status,
        summary=verdict.summary(findings),
        findings=findings,
        ruled_out=ruled_out,
        other_probability={kind: as_told.other(kind, share) for kind, share in other.items()},
        next_checks=guard.value(
            "next checks", (), lambda: next_checks(facts, assessment.ranking, status, folded, findings)
        ),
        coverage=coverage_of(run, facts.plain, verdict.missing, tests.passed),
        tool_version=__version__,
        rules_digest=rules.digest,
        rule_packs=rules.packs,
        elapsed_s=time.perf_counter() - started_s,
        first_failure=guard.value("first failure", None, lambda: _first_failure(run, facts, quoter)),
        device_time=guard.value("device time", None, lambda: device_time(facts.plain)),
        headline=guard.value("headline", None, lambda: _headline(every, other, as_told)),
        ended=guard.value("end of the run", None, lambda: _ended(run, facts, quoter)),
        onset=guard.value("onset", None, lambda: onset(facts.plain)),
        earlier=loaded.earlier,
        judged=judged_training(facts.plain),
        passed_over=tuple(GapNote(label, None, reason) for label, reason in loaded.passed_over),
        gaps=_gap_notes(run, (*rules.left_out, *guard.gaps)),  # all parts are done by now
    )


def _refuse_unread(loaded: Loaded, findings: Sequence[Finding], facts: Mapping[str, Scalar]) -> None:
    """Raise what was read in vain, if the last words of the log tell nothing either."""
    if loaded.unread is None:
        return
    from analyzer.rules.candidates.pooled import says_nothing  # noqa: PLC0415  (few logs hold nothing known)

    if says_nothing(findings, facts):
        raise loaded.unread()


def _unless_part_failed(verdict: Verdict, guard: Guard) -> Verdict:
    """The verdict; what failed of analyzer might have seen the fault of a run that looks healthy."""
    if not guard.gaps or verdict.status != "healthy":
        return verdict
    what = "failed" if guard.faults else f"did not end in time ({guard.late[0]})"
    return verdict._replace(status="insufficient", text=f"{verdict.text}, but a part of analyzer {what}")


def _by_rules(
    run: Run, assessment: Assessment, folded: Folding, quoter: Quoter, guard: Guard
) -> list[Finding]:
    """What rules alone make of a run, in order."""
    listed: list[Finding] = []
    for item in in_order(assessment.ranking, folded):
        with guard.part(f"finding of rule {item.rule.id}"):
            explains = folded.get(item.rule.symptom_kind, {})
            listed.append(_finding(item, run, assessment, quoter, explains, {}))
    return listed


def _ended(run: Run, facts: Facts, quoter: Quoter) -> Ended | None:
    """How the run ended, by the facts about it; None where there is no log to end."""
    plain = facts.plain
    state = str(plain.get("ended.state", "unknown"))
    if state == "unknown" and not run.log_ends and not len(run.metrics):
        return None

    def number(name: str) -> float | None:
        value = plain.get(f"ended.{name}")
        return value if isinstance(value, float) else None

    refs = facts["ended.state"].refs if "ended.state" in plain else ()
    return Ended(
        state=state,
        because=str(plain.get("ended.because", "")),
        evidence=tuple(_place(run, ref, quoter) for ref in refs[:REFS_PER_LINE]),
        planned=number("planned"),
        reached=number("reached"),
        unit=str(plain.get("ended.unit", "")),
        silent_s=number("silent_s"),
        resume_from="" if state == "completed" else str(plain.get("ended.checkpoint", "")),
    )


def _other(
    listed: Sequence[Finding], ranking: Ranking, folded: Folding, pooled: Collection[str]
) -> dict[str, float]:
    """Share of "something else" by kind: what rules leave, of kinds that are pooled what the pool leaves."""
    spent = sum(f.share for f in listed if f.symptom_kind in pooled)
    return {
        kind: max(0.0, 1.0 - spent) if kind in pooled else share
        for kind, share in ranking.other.items()
        if kind not in folded["*"]
    }


def _headline(every: Sequence[Finding], other: Mapping[str, float], as_told: Telling) -> Headline | None:
    """The headline of the kind that the answer leads with; None by the words of a message alone."""
    kind = every[0].symptom_kind if every else ""
    if kind not in other or every[0].words_only or every[0].likeness_only:
        return None
    weighed = [
        (catalogue()[f.cause.id], as_told.of(kind, f.cause.id, f.probability))
        for f in every
        if f.symptom_kind == kind
    ]
    weighed.sort(key=lambda item: -item[1])
    return headline_of(weighed, as_told.other(kind, other[kind]))


def _may_be_like_others(status: str, listed: Sequence[Finding], *, in_doubt: bool) -> bool:
    """Whether labelled runs with such numbers are worth naming: of one that stopped, if nobody is known to have ended it."""
    if status == "interrupted":
        return in_doubt and all(f.cause.id == "log-truncated" for f in listed if f.cause.kind in ORDINARY)
    return status != "healthy"


def _pooled(
    listed: list[Finding],
    assessment: Assessment,
    folded: Folding,
    rules: RuleSet,
    run: Run,
    quoter: Quoter,
) -> tuple[list[Finding], Finding | None, Collection[str]]:
    """The findings by the pool of rules and labelled runs, the first of them if the course of the run leads, and the kinds pooled.

    A failure that was written down is judged by its words, the course of a run by its numbers; what tells by itself needs no
    other runs.
    """
    from analyzer.rules.candidates.pooled import (  # noqa: PLC0415  (of no use for a sound run)
        WORDING,
        asked,
        is_written,
        pooled,
        stands_alone,
        weighed_causes,
    )

    ranking, plain = assessment.ranking, assessment.facts.plain
    leader = next((f for f in listed if f.cause.kind not in ORDINARY and f.probability >= REPORTED), None)
    by_course = leader is not None and leader.symptom_kind in POOLED
    by = asked(None if leader is None else leader.symptom_kind, plain)
    if by is WORDING and (folded["*"] or assessment.remembered):
        return listed, None, ()  # the order of failures, and what the user confirmed, tell more than words do
    weighed = weighed_causes(ranking, folded)
    if (
        leader is not None
        and leader.cause.id in weighed
        and stands_alone(weighed[leader.cause.id], plain, by)
    ):
        return listed, None, ()
    found = {(item.rule.entry.id, item.rule.symptom_kind): item for item in pooled(plain, rules, weighed, by)}
    if not found:
        return listed, None, ()
    kept = [f for f in listed if (f.cause.id, f.symptom_kind) not in found]
    said = {(f.rule_id, line.id): line for f in listed for line in f.evidence}  # the same but for its share
    moved = [
        _finding(item, run, assessment, quoter, folded.get(item.rule.symptom_kind, {}), said)
        for item in found.values()
    ]
    moved.sort(key=lambda each: (-each.probability, each.cause.id))
    leads = leader is not None and (leader.cause.id, leader.symptom_kind) in found
    if not leads and moved[0].probability < (LISTED_FROM if by is WORDING and is_written(plain) else GUESS):
        return listed, None, ()
    at = next(
        (place for place, f in enumerate(kept) if _stands_behind(f, moved[0], plain, by_words=by is WORDING)),
        len(kept),
    )
    if leads or not kept:
        at = 0
    kinds = by.kinds | {finding.symptom_kind for finding in moved}
    return [*kept[:at], *moved, *kept[at:]], moved[0] if by_course else None, kinds


def _stands_behind(kept: Finding, moved: Finding, facts: Mapping[str, Scalar], *, by_words: bool) -> bool:
    """Whether a finding is less likely than the first of the pool, or only says what made a run slow that then crashed."""
    crashed = by_words and facts.get("ended.state") == "crashed"
    return kept.probability < moved.probability or (crashed and kept.severity == "wasteful")


def _first_failure(run: Run, facts: Facts, quoter: Quoter) -> FirstFailure | None:
    plain = facts.plain
    kind, family = plain.get("failure.first.kind"), plain.get("failure.first.family")
    if not isinstance(kind, str) or not isinstance(family, str):
        if plain.get("event.error_line.seen") is not True:
            return None
        line = _place(run, facts["event.error_line.seen"].refs[0], quoter)
        return FirstFailure("error_line", "unknown", None, None, line, ranks=0)

    def number(name: str) -> int | None:
        value = plain.get(f"failure.{name}")
        return value if isinstance(value, int) else None

    host = plain.get("failure.first.host")
    return FirstFailure(
        kind=kind,
        family=family,
        rank=number("first.rank"),
        host=host if isinstance(host, str) else None,
        place=_place(run, facts["failure.first.kind"].refs[0], quoter),
        ranks=number("ranks") or 0,
        followers=number("followers") or 0,
        alike=number("alike") or 0,
        launcher_rank=number("launcher.rank") if plain.get("failure.launcher.misreported") is True else None,
    )


def _split(
    listed: Sequence[Finding], status: str, *, is_pooled: bool
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Findings worth a place in the answer, and those ruled out.

    For a run without a fault the weak competitors of a benign explanation are no findings. Where too little was seen for
    a verdict, the candidates are what can be said.
    """
    floors = {"failed": LISTED_FROM, "degraded": LISTED_FROM, "healthy": REPORTED}
    floor = floors.get(status, LISTED_FROM if is_pooled else CANDIDATE_FROM)
    if status == "healthy":  # what would tell more of a fault is of no use where there is none
        listed = [f for f in listed if (f.symptom_kind, f.cause.kind) != ("none", "benign")]
    else:
        listed = sorted(listed, key=lambda finding: _says_less(finding, listed, status))
    findings = tuple(finding for finding in listed if finding.probability >= floor)
    return findings, tuple(finding for finding in listed if finding.probability < floor)


def _says_less(finding: Finding, listed: Sequence[Finding], status: str) -> int:
    """2 for what hardly comes into question beside how the run ended, 1 for what explains no fault.

    Beside an end that is plain to see, a course that no rule finds fault with is no more than a guess, and so is what words alone
    suggest of a log that was cut off, or whose complaint is known to be harmless, or other runs of one whose end somebody wrote down.
    """
    ordinary = finding.cause.kind in ORDINARY
    is_weak = finding.probability < REPORTED or finding.by_likeness
    enough = min(REPORTED, finding.probability)
    ends = [each for each in listed if each.cause.kind == "lifecycle" and each.probability >= enough]
    is_cut = finding.words_only and any(
        each.cause.id == "log-truncated" and each.probability >= finding.probability for each in ends
    )
    is_noise = finding.words_only and any(
        each.cause.kind == "benign" and each.probability >= LIKELY and not each.words_only for each in listed
    )
    is_told = finding.by_likeness and any(each.probability >= LIKELY for each in ends)
    hardly = (status == "interrupted" or is_cut or is_noise or is_told) and is_weak and not ordinary
    if hardly or says_less_than_end(finding, listed):
        return 2
    return int(finding.is_remark if status in {"failed", "degraded"} else ordinary)


def _finding(
    item: Scored,
    run: Run,
    assessment: Assessment,
    quoter: Quoter,
    explains: Mapping[str, str],
    said: Mapping[tuple[str, str], Evidence],
) -> Finding:
    """What is told of a cause; ``said`` holds lines that were worked out before, by their rule and id."""
    rule, facts = item.rule, assessment.facts
    lines = sorted(item.lines, key=lambda line: (not line.counted, -abs(line.bits), line.line.id))
    kinds = [
        f"{kind}: {cause}"
        for kind, cause in explains.items()
        if {kind, cause} & set(rule.explains_also) or came_first(item, facts.plain)
    ]
    restart = restart_of(rule, facts.plain)
    known = assessment.remembered.get(rule.entry.id)
    return Finding(
        rule_id=rule.id,
        severity=rule.severity,
        symptom_kind=rule.symptom_kind,
        symptom=localised(fill(rule.says, facts.plain), facts.plain),
        bits=item.bits,
        probability=item.probability,
        evidence=tuple(
            said.get((rule.id, line.line.id)) or _evidence(line, run, facts, quoter) for line in lines
        ),
        cause=RootCause(
            id=rule.entry.id,
            # a second face of a cause has words of its own
            title=localised(rule.entry.title if rule.slug == rule.entry.id else rule.title, facts.plain),
            kind=rule.entry.kind,
            parent=rule.entry.parent,
            family=rule.entry.family,
            text=localised(rule.text, facts.plain),
            references=rule.references,
            look_alikes=rule.entry.look_alikes,
        ),
        # nobody is told to fix what was ruled out
        fixes=resolve_fixes(rule, run, facts.plain, quoter.lines) if item.probability >= LISTED_FROM else (),
        explains=tuple(kinds),
        restart_advice=restart.decision,
        restart_because=localised(restart.because, facts.plain),
        resume_from=restart.resume_from,
        share=item.probability,
        seen_before=known.sentence() if known is not None and known.seen else "",
        casebook_bits=known.bits if known is not None else 0.0,
    )


def _evidence(entry: LedgerLine, run: Run, facts: Facts, quoter: Quoter) -> Evidence:
    names = decided_by(entry.line.test, facts.plain)
    refs: dict[SourceRef, None] = {}
    if entry.verdict is not None:
        for name in names:
            for ref in facts[name].refs[:REFS_PER_LINE]:
                refs[ref] = None
    return Evidence(
        id=entry.line.id,
        test=entry.line.test.text,
        verdict=entry.verdict,
        bits=entry.bits,
        counted=entry.counted,
        because=localised(entry.line.because, facts.plain),
        values={name: facts.plain[name] for name in names},
        refs=tuple(_place(run, ref, quoter) for ref in _readable_first(run, refs)[:REFS_PER_LINE]),
        if_true=entry.line.if_true,
        if_false=entry.line.if_false,
    )


_BINARY = frozenset({"tensorboard", "wandb", "safetensors"})


def _readable_first(run: Run, refs: Iterable[SourceRef]) -> list[SourceRef]:
    """Places that a person can open come before record numbers of binary files."""
    return sorted(refs, key=lambda ref: run.sources[ref.source].format in _BINARY)


def _place(run: Run, ref: SourceRef, quoter: Quoter) -> Place:
    source = run.sources[ref.source]
    text = "" if ref.line is None else run.events.text_at(ref) or quoter.line(ref.source, ref.line)
    return Place(source.path, ref.line, text)


def _gap_notes(run: Run, reasons: Iterable[str]) -> tuple[GapNote, ...]:
    """What could not be read, and why something could not be worked out."""
    return (
        *(_gap_note(run, gap.ref, gap.reason, gap.rows_lost) for gap in run.gaps),
        *(GapNote("analyzer", None, clean_text(reason)) for reason in reasons),
    )


def _gap_note(run: Run, ref: SourceRef | None, reason: str, rows_lost: int | None) -> GapNote:
    path = "" if ref is None else run.sources[ref.source].path
    return GapNote(path, None if ref is None else ref.line, reason, rows_lost)


def run_case(case: Case, rules: RuleSet) -> None:
    """Run one case beside a rule: on its facts, or on its files through ingest and detectors.

    Raises:
        RuleCaseError: The rule does not come out as the case says.
    """
    from analyzer.rules.cases import check_case, run_facts_case  # noqa: PLC0415  (of no use to a diagnosis)

    if case.facts is not None:
        run_facts_case(case, rules.in_question(case.facts))
        return
    assert case.run_directory is not None
    facts = build_facts(run_detectors(load_run(case.run_directory).run))
    # what like runs turned out to be changes with each training, and is no matter of the rule
    own = {name: value for name, value in facts.plain.items() if not name.startswith("likeness.")}
    check_case(case, rank(rules.in_question(own), own))
