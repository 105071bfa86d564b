"""Sentences that all renderers share: reasons against a cause, notes of a fix, what to show in full."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.lazy_regex import LazyRegex
from analyzer.model.diagnosis import (
    ALIKE,
    LAB,
    OF_LABELLED_RUNS,
    SOUND_ALIKE,
    Coverage,
    Diagnosis,
    Evidence,
    Finding,
    Fix,
)
from analyzer.model.wording import LIKELY, REPORTED, counted, percent, word_for
from analyzer.record import NamedTuple
from analyzer.rules.calibration import shipped_calibration

CANDIDATES_NAMED = 4
"""Candidates that are named where no cause stands out."""

WITHIN_FROM = 0.05
"""Share from which a cause is named within a class that leads: below 1 in 20 it is what any run of the class might have."""

NAMED_FROM = 0.01
"""Share from which a rival is named before the mere look-alikes: 1 in 100."""

LEADS_FROM = 0.1
"""Below it a cause is worth less to a reader than a harmless line that says where to look."""


def is_of_likeliest(line: Evidence, cause: str) -> bool:
    """Whether a line tells that more labelled runs alike had this cause than any other: no reader takes that as said against it."""
    return line.id in OF_LABELLED_RUNS and any(
        name.endswith(".first") and value == cause for name, value in line.values.items()
    )


def is_quotable(line: Evidence) -> bool:
    """Whether the cited line shows what is said of it: no row of numbers shows what like runs had, nor words what they had not."""
    by_words = any(name.startswith("message.") for name in line.values)
    return line.id != SOUND_ALIKE and (line.id not in OF_LABELLED_RUNS or (by_words and line.bits > 0))


def because_here(evidence: Evidence) -> str:
    """The reason of a line; one that is written for the case that its test holds says so where it does not."""
    if evidence.id in OF_LABELLED_RUNS and evidence.bits < 0:
        return f"{evidence.because}, less than its rule alone would say"
    not_so = evidence.verdict is False and evidence.if_true
    return f"not so here: {evidence.because}" if not_so else evidence.because


def reason_against(finding: Finding) -> str:
    """Why a cause is not the answer, in one clause."""
    seen, why = seen_against(finding)
    return f"{seen}: {why}" if seen else why


def seen_against(finding: Finding) -> tuple[str, str]:
    """What was seen against a cause, empty if nothing was, and why it is not the answer."""
    against = finding.speaks_against()
    if against:
        return against[0].observed(), because_here(against[0])
    undecided = [line for line in finding.evidence if line.verdict is None and line.if_true > 0]
    if undecided:
        return "", f"nothing shows that {max(undecided, key=lambda line: line.if_true).because}"
    return "", "weaker evidence than the cause above"


TELLING_BITS = 1.5
"""Hints (2:1) are left to ``--all``: they weigh in the sum, but convince nobody by themselves."""


def telling(lines: Sequence[Evidence], *, show_all: bool) -> list[Evidence]:
    """The lines that a reader should see: more than hints, or the strongest one if there are only hints."""
    strong = [line for line in lines if show_all or abs(line.bits) >= TELLING_BITS]
    return strong or list(lines[:1])


def headline(finding: Finding) -> str:
    """``83% likely``."""
    return f"{percent(finding.probability)} {word_for(finding.probability)}"


class Opening(NamedTuple):
    """What stands above the findings where no cause reaches a half."""

    head: str  # the class with its probability, or that no cause stands out
    rows: tuple[str, ...]  # the candidates, one per line; what cannot be told further
    # whether ``head`` names the leading finding itself, whose own headline would say the same again
    leads: bool = False


def opening(diagnosis: Diagnosis) -> Opening | None:
    """The opening; None where one cause is more probable than not, or the first that is told at length heads itself."""
    found = diagnosis.headline
    leading = next((finding for finding in diagnosis.findings if not _ends_as_note(diagnosis, finding)), None)
    if leading is not None and leading.by_likeness:
        is_fault = diagnosis.status not in {"insufficient", "healthy"} or diagnosis.first_failure is not None
        return _by_likeness(diagnosis.findings, is_fault=is_fault)
    if found is None or found.level == "cause" or leading not in diagnosis.findings[:1]:
        return None
    rows = [
        f"{percent(item.probability)} {item.title}  [{item.id}]"
        for item in found.candidates[:CANDIDATES_NAMED]
        if found.level != "class" or item.probability >= WITHIN_FROM
    ]
    if found.level == "class" and not found.candidates:
        return None  # the class itself leads, and nothing below it came into question
    other = f"{percent(found.other)} for something else"
    if found.level == "open":
        if any(
            finding.probability >= 0.5 for finding in diagnosis.findings[1:]
        ):  # why it ended is named below
            return Opening(f"behind its numbers no cause stands out, {other}; the likeliest", tuple(rows))
        return Opening(f"no cause stands out: none reaches 50%, {other}; the likeliest", tuple(rows))
    if rows and found.untold >= NAMED_FROM:
        rows.append(
            f"for the other {percent(found.untold)} nothing that was read tells which of its causes it is"
        )
    rows[:1] = [f"of this, {row}" for row in rows[:1]]
    head = f"{percent(found.probability)} {word_for(found.probability)}: {found.title}  [{found.id}]"
    leads = bool(diagnosis.findings) and diagnosis.findings[0].cause.id == found.id
    return Opening(head, tuple(rows), leads)


def _by_likeness(findings: Sequence[Finding], *, is_fault: bool) -> Opening:
    """What labelled runs alike turned out to be, and what rules found beside it.

    ``is_fault`` tells that there is something to explain; of a run in which nothing wrong was seen others say what might be.
    """
    alike = [f for f in findings if any(line.id in OF_LABELLED_RUNS for line in f.evidence)]
    alike.sort(key=lambda finding: -finding.probability)  # kinds are told apart, and pooled together
    asked = {name for line in alike[0].evidence if line.id in OF_LABELLED_RUNS for name in line.values}
    by_words = any(name.startswith("message.") for name in asked)
    what = "logs with such words" if by_words else "runs with such numbers"
    rows = [
        f"{percent(item.probability)} {item.cause.title}  [{item.cause.id}]"
        for item in alike[:CANDIDATES_NAMED]
    ]
    if any(line.id == ALIKE for finding in findings for line in finding.evidence):
        return Opening(f"no cause stands out; by rules and by labelled {what} the likeliest", tuple(rows))
    if not is_fault:
        return Opening(f"no rule finds a fault; labelled {what} that had one turned out to be", tuple(rows))
    return Opening(f"no rule explains it; labelled {what} turned out to be", tuple(rows))


def amounts_read(coverage: Coverage) -> str:
    """``582 metric points, 8 log events, 41 settings, last step 60``."""
    by_name = coverage.rows_by_name
    parts = [
        counted(sum(coverage.metrics.values()), "metric point")
        + (f" ({counted(by_name, 'row')} of no known format, read by name)" if by_name else ""),
        counted(coverage.events, "log event"),
        counted(coverage.config_keys, "setting"),
    ]
    return ", ".join([*parts, *([] if coverage.last_step is None else [f"last step {coverage.last_step}"])])


def odds_note(diagnosis: Diagnosis) -> str:
    """How far the probabilities were measured; empty where none is shown."""
    found = shipped_calibration()
    if not diagnosis.findings:
        return ""
    if found is None or not any(finding.calibrated for finding in diagnosis.findings):
        return "percentages are shares by the hand-set weights of rules"
    return (
        f"percentages are measured on {found.answers:,} answers for unseen runs; of those at {percent(LIKELY)} or more, "
        f"{percent(found.sure_right)} were right"
    )


def made_by(diagnosis: Diagnosis) -> str:
    """Which analyzer and which rules answered: what somebody needs who gets another answer."""
    packs = "".join(f", pack {pack}" for pack in diagnosis.rule_packs)
    return f"analyzer {diagnosis.tool_version}, rules {diagnosis.rules_digest[:12]}{packs}"


def something_else(diagnosis: Diagnosis) -> str:
    """``4%`` for what no rule considered explains; empty where nothing competes."""
    return "" if diagnosis.headline is None else percent(diagnosis.headline.other)


def fix_note(fix: Fix) -> str:
    """Condition and proof of a fix, and whether it is in general words."""
    condition = f", if {fix.requires}" if fix.requires else ""
    notes = [_STRENGTHS[fix.strength, bool(fix.verified_by)] + condition]
    if fix.verified_by.startswith(LAB):
        notes.append(f"tried on a fault planted on purpose: {fix.verified_by.removeprefix(LAB)}")
    elif fix.verified_by:
        notes.append(f"reproduced: samples/{fix.verified_by}")
    elif fix.strength != A_TEST:
        notes.append("not tried by us")
    if fix.scope and fix.changes:
        notes.append(f"named in general words, since {fix.scope}")
    return "; ".join(notes)


A_TEST = "diagnoses"
"""Strength of a fix that changes nothing: it tells more."""

_STRENGTHS = {
    ("cures", True): "cures it",
    ("cures", False): "should cure it",
    ("mitigates", True): "eases it",
    ("mitigates", False): "should ease it",
    (A_TEST, True): "tells more, cures nothing",
    (A_TEST, False): "tells more, cures nothing",
}
"""By strength and whether it was tried."""


def fix_heading(fix: Fix, cause_id: str = "") -> str:
    """What stands before the title of the first fix: a test is none.

    Args:
        fix: The fix.
        cause_id: The cause, where the fix holds only if it is this one.
    """
    heading = "find out first" if fix.strength == A_TEST else "fix"
    return f"{heading}, if it is {cause_id}" if cause_id else heading


def only_if(diagnosis: Diagnosis, finding: Finding) -> str:
    """The cause that advice rests on, where it is no more than a candidate; empty where it is likelier than not."""
    above = opening(diagnosis)
    return "" if above is None or above.leads else finding.cause.id


def restart_line(diagnosis: Diagnosis, finding: Finding) -> str:
    """The restart decision as a line of its own; that of a candidate holds only if it is the cause."""
    cause_id = only_if(diagnosis, finding)
    return f"restart{f', if it is {cause_id}' if cause_id else ''}: {restart_note(finding)}"


_RESTARTS = {
    "restart-as-is": "as it is",
    "restart-excluding-node": "without that node",
    "fix-then-restart": "only after a fix",
    "resume-from-earlier-checkpoint": "from an earlier checkpoint",
    "no-action": "not needed",
}


def restart_note(finding: Finding) -> str:
    """The restart decision with its reason and the checkpoint, in one line."""
    words = _RESTARTS.get(finding.restart_advice, finding.restart_advice)
    resume = f", from {finding.resume_from}" if finding.resume_from else ""
    if not resume and finding.restart_advice == "resume-from-earlier-checkpoint":
        resume = ", if one was saved"
    return f"{words}{resume} ({finding.restart_because})"


def explained(finding: Finding) -> list[str]:
    """What else of the run a cause explains, each with the cause that it would point to by itself.

    ``crash: X`` reads ``the crash (by itself a sign of X)``.
    """
    parts = (item.partition(": ") for item in finding.explains)
    return [
        _KINDS.get(kind, kind.replace("_", " ")) + (f" (by itself a sign of {cause})" if cause else "")
        for kind, _, cause in parts
    ]


_KINDS = {
    "numerical_breakdown": "the NaN or overflow", "divergence": "the rise of the loss", "plateau": "why the loss does not fall",
    "oom": "the lack of memory", "crash": "the crash", "hang": "the hang", "slow": "the slow steps",
    "bad_restart": "the bad restart", "data_stall": "the wait for data", "eval_gap": "the gap to held-out data", "ended": "the end",
}  # fmt: skip
"""Kinds of symptoms as part of a sentence."""


_ENDED_FROM_OUTSIDE = frozenset(
    {"slurm_cancelled", "job_time_limit", "job_cancelled", "job_preempted", "keyboard_interrupt", "sighup"}
)
"""Ends that a person or the scheduler decided: the host that the line names has not failed."""


def first_failure_note(diagnosis: Diagnosis) -> str:
    """Which rank and host failed first and how many followed; empty if no line names a rank or host."""
    first = diagnosis.first_failure
    if first is None or diagnosis.status == "healthy" or first.kind in _ENDED_FROM_OUTSIDE:
        return ""
    alone = first.rank is None or (first.rank == 0 and first.ranks <= 1)
    if first.host is None and alone:  # nothing that the citation below does not say, if there is one
        words = first.place.text.strip()
        quoted = f"{words[:100]}{'…' if len(words) > 100 else ''} " if words else ""
        what = "reads like an error" if first.kind == "error_line" else "reports a failure"
        known = diagnosis.findings and not diagnosis.findings[0].words_only
        message = words.partition(": ")[2].rstrip(".")
        if not known and message and message in diagnosis.summary:
            return f"it stands in [{first.place}]"
        return "" if known else f"the first line that {what}: {quoted}[{first.place}]"
    who = [f"rank {first.rank}"] if first.rank is not None else []
    who += [f"on {first.host}"] if first.host is not None else []
    if first.alike:  # which of them was first nobody can tell
        text = f"{' '.join(who)} [{first.place}] and {first.alike} more report the same failure"
    else:
        text = f"first to fail: {' '.join(who)} [{first.place}]"
    if first.followers:
        text += f"; {first.followers} only followed"
    return text + (
        f"; the launcher blames rank {first.launcher_rank}" if first.launcher_rank is not None else ""
    )


OTHERS_NAMED, OTHERS_CHARACTERS = 3, 80
"""Of the runs beside the one that was diagnosed, if their names are no longer together; a folder of experiments holds hundreds."""


def others_notes(diagnosis: Diagnosis) -> list[str]:
    """Which of several runs the answer is about, how many others there are, and which newer ones could not be read."""
    notes = [
        f"the newest run, {note.path or 'in this place'}, could not be read ({note.reason}); this is an earlier one"
        for note in diagnosis.passed_over[:1]
    ]
    if diagnosis.others:
        total = len(diagnosis.others) + 1
        which = "" if diagnosis.passed_over else ", the last to start"  # of the newest it was told above
        unread = {note.path for note in diagnosis.passed_over[:1]}
        names = [name for name in diagnosis.others if name not in unread][:OTHERS_NAMED]
        while names and len(", ".join(names)) > OTHERS_CHARACTERS:
            names.pop()
        left = total - 1 - len(names) - len(unread.intersection(diagnosis.others))
        rest = f" and {left} more" if left else ""
        beside = f"; not looked at: {', '.join(names)}{rest}" if names else ""
        notes.append(
            f"1 of {total} runs found here{which}{beside}; all of them: analyzer triage {diagnosis.root}"
        )
    if diagnosis.earlier:
        notes.append(
            f"the last of {len(diagnosis.earlier) + 1} launches in this log; {'; '.join(diagnosis.earlier[-OTHERS_NAMED:])}"
        )
    if diagnosis.judged:
        notes.append(f"judged is {diagnosis.judged}")
    return notes


_NAMED_AT_END = LazyRegex(r"; (?:very likely|likely|possible|unlikely): [a-z0-9-]{1,80}$")


def happened(diagnosis: Diagnosis) -> str:
    """What went wrong, as a sentence without its end; the cause, which a summary names behind it, stands below anyway."""
    text = diagnosis.summary
    if diagnosis.findings:
        first = diagnosis.findings[0]
        # several findings of one run are joined in its summary, and the cause of the first stands at the end
        text = first.symptom if text.startswith(first.symptom) else _NAMED_AT_END.sub("", text)
    return text[:1].upper() + text[1:]


def ended_words(diagnosis: Diagnosis) -> str:
    """How the run ended, in a few words for the first line: ``interrupted at 130 of 300 steps``; empty if nothing was read."""
    ended = diagnosis.ended
    if ended is None:
        return ""
    progress = ended.progress()
    if ended.state == "unknown":
        return f"end unknown, {progress}" if progress else "end unknown"
    if ended.state in {"completed", "still running"}:
        return f"{ended.state}, {progress}" if progress else ended.state
    if ended.state == diagnosis.status:
        return progress
    return f"{ended.state} at {progress}" if progress else ended.state


def ended_note(diagnosis: Diagnosis) -> str:
    """What says how the run ended, with the place; empty where it completed or the summary says it."""
    ended = diagnosis.ended
    if ended is None or ended.state in {"completed", "unknown"} or ended.because in diagnosis.summary:
        return ""
    if ended.state == "crashed" and (diagnosis.findings or diagnosis.first_failure is not None):
        return ""  # the findings and the first failure tell it better
    cited = {str(ref) for finding in diagnosis.findings[:1] for line in finding.evidence for ref in line.refs}
    if cited & {str(place) for place in ended.evidence}:
        return ""  # the leading cause is what ended it
    where = f" [{ended.evidence[0]}]" if ended.evidence else ""
    return f"{ended.state}: {ended.because}{where}"


def resume_note(diagnosis: Diagnosis) -> str:
    """What to do with a run that was interrupted and of which no finding tells it."""
    ended = diagnosis.ended
    if (
        ended is None
        or diagnosis.status != "interrupted"
        or any(f.restart_advice for f in diagnosis.findings)
    ):
        return ""
    source = ended.resume_from or "its latest checkpoint, if it saved one (no line names any)"
    return f"restart: as it is, from {source}"


KERNEL_CHARACTERS = 60
"""Of a kernel's name; templates of C++ run to hundreds."""


def device_time_note(diagnosis: Diagnosis) -> str:
    """The step time split, and what takes most of it; empty without a trace of a device."""
    split = diagnosis.device_time
    if split is None:
        return ""
    late = "" if split.host_late is None else f" (host late {percent(split.host_late)})"
    parts = (
        (split.compute, "compute"),
        (split.communication, "communication alone"),
        (split.copies, "copies"),
    )
    text = (
        f"device time: {', '.join(f'{percent(part)} {word}' for part, word in parts if part)}, "
        f"{percent(split.idle)} idle{late} of {split.window_s * 1e3:.0f} ms traced"
    )
    if split.step_s is not None:
        text += f", {split.step_s * 1e3:.3g} ms per step"
    if split.top_operator and split.top_operator_share is not None:
        text += f"; most in {split.top_operator} ({percent(split.top_operator_share)})"
    if split.top_kernel:
        name = split.top_kernel
        text += f", kernel {name[:KERNEL_CHARACTERS]}{'…' if len(name) > KERNEL_CHARACTERS else ''}"
    return text


def notes_of(diagnosis: Diagnosis) -> list[str]:
    """What stands below the summary: how the run ended, what failed first, and where the time of the device went."""
    notes = (
        ended_note(diagnosis),
        resume_note(diagnosis),
        first_failure_note(diagnosis),
        device_time_note(diagnosis),
    )
    return [note for note in notes if note]


_SAID_ABOVE = frozenset({"log-truncated"})
"""What the first line tells beside a fault (``end unknown, 9 of 12 epochs``), with no more to say than that."""


def _ends_as_note(diagnosis: Diagnosis, finding: Finding) -> bool:
    """Whether it only says how the log of a run ends of which too little is known: what is missing leads there."""
    return diagnosis.status == "insufficient" and finding.cause.id in _SAID_ABOVE


class Layout(NamedTuple):
    """What of a diagnosis is shown how: in full, as a note of one line, as a rival with the reason against it."""

    full: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    rivals: tuple[Finding, ...]


def arrange(diagnosis: Diagnosis, *, show_all: bool, top: int) -> Layout:
    """Choose what to show.

    In full: of each kind of symptom the leading cause if it is at least "possible", and the first cause in any
    case, but for a harmless explanation of a faulty run beside which no cause holds a tenth. Notes: harmless
    explanations, and of a run of which too little is known how its log ends. Rivals: the rest, those that deserve the doubt first.
    """
    full: list[Finding] = []
    notes: list[Finding] = []
    faulty = diagnosis.status in {"failed", "degraded"}
    for finding in diagnosis.findings:
        leads = all(finding.symptom_kind != other.symptom_kind for other in (*full, *notes))
        if show_all and len(full) < top:
            full.append(finding)
        elif leads and (finding.cause.kind == "benign" or _ends_as_note(diagnosis, finding)):
            notes.append(finding)
        elif full and finding.cause.id in _SAID_ABOVE:
            continue
        elif leads and len(full) < top and (finding.probability >= REPORTED or not full):
            full.append(finding)
    if faulty and notes and all(finding.probability < LEADS_FROM for finding in full):
        full, notes = notes[:1], notes[1:]  # it says where to look, what has next to no share does not
    chosen = {finding.rule_id for finding in (*full, *notes)}
    rest = [f for f in (*diagnosis.findings, *diagnosis.ruled_out) if f.rule_id not in chosen]
    rivals = sorted(rest, key=lambda f: _doubt(f, full)) if faulty or show_all else []
    return Layout(tuple(full), tuple(notes), tuple(rivals))


def _doubt(rival: Finding, full: list[Finding]) -> tuple[bool, bool, float]:
    """Order of rivals: those with a share worth naming, then the known look-alikes of what stands above, then the rest."""
    look_alike = any(_alike(rival, finding) for finding in full)
    named = rival.probability >= NAMED_FROM
    return (not named, not named and not look_alike, -rival.probability)


def _alike(one: Finding, other: Finding) -> bool:
    return one.cause.id in other.cause.look_alikes or other.cause.id in one.cause.look_alikes
