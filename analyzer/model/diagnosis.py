"""The answer: findings with their evidence and fixes, what to check next, and what was not seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzer.model.happened import DeviceTime, Onset
from analyzer.model.tables import Scalar
from analyzer.model.wording import format_scalar, percent, word_for
from analyzer.record import NamedTuple, dataclass

SCHEMA_ID = "analyzer.diagnosis/1"
"""Version of the JSON contract: keys may be added within version 1, none is removed or changes its meaning."""

STATUSES = ("failed", "degraded", "interrupted", "healthy", "unreadable", "insufficient")
ENDINGS = ("completed", "crashed", "interrupted", "still running", "unknown")
"""How a run can have ended."""
SEVERITIES = ("fatal", "degrading", "wasteful", "advisory")


class Place(NamedTuple):
    """A citation as shown to the user.

    Attributes:
        path: Path relative to the run's root.
        line: 1-based line, or record number of a binary file; None for the whole file.
        text: The cited line, cleaned and masked; empty for metrics and binary files.
    """

    path: str
    line: int | None = None
    text: str = ""

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


LIKENESS, WORDS, ALIKE, SOUND_ALIKE = "likeness", "words", "likeness-cause", "likeness-sound"
"""Ids of the lines on labelled runs with such numbers or words: of a candidate, of a cause that a rule found, of sound ones."""
OF_LABELLED_RUNS = frozenset({ALIKE, LIKENESS, WORDS})
"""Ids of lines that say how many labelled runs had a cause."""


class Evidence(NamedTuple):
    """One line of the ledger.

    Attributes:
        id: Id of the line within its rule.
        test: The condition.
        verdict: True, False, or None when a fact is missing.
        bits: What the line adds, log2 of the likelihood ratio; 0 when unknown.
        counted: False if another line of the same group outweighs it.
        because: The author's reason.
        values: The facts that decided the condition and their values.
        refs: Where those facts were seen.
        if_true: Bits that the line adds when its test holds.
        if_false: Bits that it adds when the test does not hold.
    """

    id: str
    test: str
    verdict: bool | None
    bits: float
    counted: bool
    because: str
    values: Mapping[str, Scalar] = {}
    refs: tuple[Place, ...] = ()
    if_true: float = 0.0
    if_false: float = 0.0

    def observed(self) -> str:
        """The facts behind the line, ``loss_scale.floor_step=17, fp16.hysteresis=2``; the test if none is known."""
        shown = [f"{_short(name)}={format_scalar(value)}" for name, value in self.values.items()]
        return ", ".join(shown[:3]) or self.test


def _short(name: str) -> str:
    return name.removeprefix("signal.").removeprefix("config.")


class RootCause(NamedTuple):
    """A cause of the catalogue. ``id``, ``kind``, ``parent`` and ``look_alikes`` come from there and nowhere else."""

    id: str
    title: str
    kind: str
    parent: str | None
    family: str
    text: str
    references: tuple[str, ...] = ()
    look_alikes: tuple[str, ...] = ()


class ConfigChange(NamedTuple):
    """One key to change.

    Attributes:
        framework: Whose key it is.
        key: The dotted key as that framework spells it.
        old: Present value as written in the user's file; None if the key is not set.
        new: Value to set.
        path: The user's file in which the key stands, or None if no such file was seen.
        line: Its line there.
        diff: A unified diff of that file; empty if ``path`` is None.
    """

    framework: str
    key: str
    old: str | None
    new: str
    path: str | None = None
    line: int | None = None
    diff: str = ""

    def in_words(self) -> str:
        """What to set; a switch of a command line has no value, it stands there or not.

        >>> ConfigChange("megatron", "--bf16", None, "true").in_words()
        'add --bf16'
        """
        if self.key.startswith("--") and self.new in {"true", "false"}:
            return f"{'add' if self.new == 'true' else 'leave out'} {self.key}"
        return f"{self.key} = {self.new}"


LAB = "lab/"
"""Begin of a proof that is a planted fault of the fault lab, not a sample."""


class Fix(NamedTuple):
    """A change that cures, mitigates or diagnoses.

    Attributes:
        id: Id within the rule.
        title: What to do, as an order.
        strength: cures, mitigates or diagnoses.
        cost: restart, preprocess, code or hardware.
        applicable: Verdict of the fix's precondition; None if it cannot be known from the run.
        requires: The precondition in words, empty if there is none.
        changes: Keys to change.
        code: Code to use where no key exists; empty if none.
        verify: What to look at in the next run.
        verified_by: Sample, or planted fault of the fault lab as `lab/<fault>`, that proves the effect; empty if not tried.
        scope: Why the advice is in general words and not in the keys of the run's trainer; empty if it is in these.
    """

    id: str
    title: str
    strength: str
    cost: str
    applicable: bool | None = True
    requires: str = ""
    changes: tuple[ConfigChange, ...] = ()
    code: str = ""
    verify: str = ""
    verified_by: str = ""
    scope: str = ""


class Finding(NamedTuple):
    """One cause that was considered, with its ledger.

    Attributes:
        rule_id: Rule that speaks.
        severity: fatal, degrading, wasteful or advisory.
        symptom_kind: Competition in which ``probability`` was computed.
        symptom: One sentence with the facts filled in.
        bits: Prior plus counted evidence.
        probability: How often such answers were right on labelled runs; of rivals, what the leader leaves.
        evidence: The ledger, strongest line first.
        cause: The catalogue entry.
        fixes: Applicable fixes, the best first.
        explains: Kinds of later symptoms folded under this cause.
        restart_advice: restart-as-is, restart-excluding-node, fix-then-restart, resume-from-earlier-checkpoint, no-action.
        restart_because: Reason of that advice.
        resume_from: Checkpoint to resume from, in words; empty if none is known or needed.
        calibrated: Whether ``probability`` was measured on labelled runs; else it is ``share``.
        share: Share among the competing causes and "something else", by the hand-set weights of rules.
        shape_only: Always false; no finding rests on the shape of the curves alone.
        seen_before: What the user's casebook says of this cause, as a sentence; empty if nothing.
        casebook_bits: Part of ``bits`` that comes from there.
    """

    rule_id: str
    severity: str
    symptom_kind: str
    symptom: str
    bits: float
    probability: float
    evidence: tuple[Evidence, ...]
    cause: RootCause
    fixes: tuple[Fix, ...] = ()
    explains: tuple[str, ...] = ()
    restart_advice: str = ""
    restart_because: str = ""
    resume_from: str = ""
    calibrated: bool = False
    share: float = 0.0
    shape_only: bool = False
    seen_before: str = ""
    casebook_bits: float = 0.0

    @property
    def is_remark(self) -> bool:
        """Whether it explains no fault: a log that merely stops, or a metric that was not logged."""
        return self.cause.id == "log-truncated" or (self.symptom_kind, self.cause.kind) == ("none", "benign")

    @property
    def likeness_only(self) -> bool:
        """Whether no rule speaks: labelled runs with such numbers had this cause, and that is all."""
        return [line.id for line in self.evidence] == [LIKENESS]

    @property
    def words_only(self) -> bool:
        """Whether no rule speaks: its last words are like those of labelled runs with this cause, and that is all."""
        return [line.id for line in self.evidence] == [WORDS]

    @property
    def by_likeness(self) -> bool:
        """Whether labelled runs alike lend it weight and no rule found it: it is a candidate, whatever rules saw of it."""
        return any(line.id in {LIKENESS, WORDS} for line in self.evidence)

    def speaks_for(self) -> list[Evidence]:
        """Counted lines that raise the cause: the rule's own, strongest first, then what labelled runs lend it."""
        raising = [line for line in self.evidence if line.counted and line.bits > 0]
        return sorted(raising, key=lambda line: line.id in OF_LABELLED_RUNS)

    def speaks_against(self) -> list[Evidence]:
        """Counted lines that lower the cause, strongest first."""
        return [line for line in self.evidence if line.counted and line.bits < 0]

    def ledger(self, notes: Mapping[str, str] | None = None) -> str:
        """Every line of evidence with its bits, values and places, as text; ``notes`` adds a sentence to lines of some ids."""
        counted = sum(line.bits for line in self.evidence if line.counted)
        head = f"{self.cause.id} [{self.rule_id}]: {percent(self.probability)} {word_for(self.probability)}"
        rows = [head, f"  {self.symptom}"]
        rows.append(f"  {self.bits - counted - self.casebook_bits:+6.1f}  prior")
        if self.seen_before:
            rows.append(f"  {self.casebook_bits:+6.1f}  casebook: {self.seen_before}")
        for line in self.evidence:
            verdict = {True: "true", False: "false", None: "unknown"}[line.verdict]
            note = "" if line.counted else " (another line of its group counts)"
            rows.append(f"  {line.bits:+6.1f}  {line.id}: {verdict}{note}")
            rows.append(f"          {line.test}" + (f"   [{line.observed()}]" if line.values else ""))
            rows.append(f"          {line.because}")
            if more := (notes or {}).get(line.id):
                rows.append(f"          {more}")
            rows.extend(f"          {place}  {place.text[:100]}".rstrip() for place in line.refs)
        rows.append(f"  {self.bits:+6.1f}  total, in bits")
        if percent(self.share) != percent(self.probability):
            rows.append(
                f"          a share of {percent(self.share)}; such answers were right in {percent(self.probability)} of unseen runs"
            )
        return "\n".join(rows) + "\n"


class Candidate(NamedTuple):
    """A cause that a headline leaves open, with its probability."""

    id: str
    title: str
    probability: float


class Headline(NamedTuple):
    """The deepest statement that holds at least a half of the probability of the gravest kind of symptom.

    Attributes:
        level: ``cause``; ``class`` if only what the causes have in common can be told; ``open`` if not even that.
        id: The cause or class; empty if open.
        title: Its sentence; empty if open.
        probability: Of the cause, of the class with all its causes, or, if open, of all candidates together.
        candidates: Causes below the class, or of the whole kind if open, the most probable first.
        untold: Part of a class's probability that no candidate holds: what cannot be told further.
        other: Probability that it is something else.
    """

    level: str
    id: str
    title: str
    probability: float
    candidates: tuple[Candidate, ...]
    untold: float
    other: float


class NextCheck(NamedTuple):
    """A fact that nobody logged and that would move the top cause most.

    Attributes:
        fact: Name of the fact.
        meaning: What it says.
        how: How to get it.
        cause_id: Cause that it would confirm or refute.
        if_true: Probability of that cause if the evidence line turns out true.
        if_false: Probability if it turns out false.
        information_bits: What the answer is expected to tell about that cause.
        test: The condition that the answer decides, empty if it is the fact itself.
    """

    fact: str
    meaning: str
    how: str
    cause_id: str
    if_true: float
    if_false: float
    information_bits: float = 0.0
    test: str = ""


class SourceNote(NamedTuple):
    """A file that was read, and as what."""

    path: str
    format: str


class Coverage(NamedTuple):
    """What was seen.

    ``metrics`` maps a canonical metric to its number of points. ``rows_by_name`` counts rows of loops without a
    known format: their names were known, that their step and meaning are as usual was assumed. ``passed`` names the tests
    of health that the run passed. ``guesses`` maps a
    name that only its words explain to the canonical metric that it was taken for.
    """

    sources: tuple[SourceNote, ...]
    metrics: Mapping[str, int]
    events: int
    config_keys: int
    frameworks: tuple[str, ...]
    last_step: int | None = None
    completed: bool | None = None
    missing: tuple[str, ...] = ()
    rows_by_name: int = 0
    guesses: Mapping[str, str] = {}
    passed: tuple[str, ...] = ()


class GapNote(NamedTuple):
    """A gap as shown to the user."""

    path: str
    line: int | None
    reason: str
    rows_lost: int | None = None


class FirstFailure(NamedTuple):
    """The failure that came first, where several lines report one.

    Attributes:
        kind: Kind of the log line.
        family: hardware, host, exception, device, numeric, memory, peers or cleanup; unknown for a line that only reads
            like an error.
        rank: Global rank that failed first, None if unknown.
        host: Its host, None if unknown.
        place: The line.
        ranks: Ranks that report a failure, the first one included; 0 if no line names a rank.
        followers: Ranks of which every failure follows from the first one.
        alike: Further ranks that failed in the same way.
        launcher_rank: Rank that the launcher calls the root cause, if that is contradicted; else None.
    """

    kind: str
    family: str
    rank: int | None
    host: str | None
    place: Place
    ranks: int
    followers: int = 0
    alike: int = 0
    launcher_rank: int | None = None


class Ended(NamedTuple):
    """How the run ended.

    Attributes:
        state: One of ``ENDINGS``.
        because: What says so, in a sentence without a full stop.
        evidence: Where that stands.
        planned: Steps or epochs that the run was to do; None if nothing says it.
        reached: How many it did.
        unit: ``steps`` or ``epochs``; empty if nothing is known.
        silent_s: Seconds since its last sign when it was read, as far as that is certain; None if unknown.
        resume_from: Its last checkpoint, if it did not complete and one is known; else empty.
    """

    state: str
    because: str
    evidence: tuple[Place, ...] = ()
    planned: float | None = None
    reached: float | None = None
    unit: str = ""
    silent_s: float | None = None
    resume_from: str = ""

    def progress(self) -> str:
        """``130 of 300 steps``; empty if nothing is known."""
        if self.planned is None or self.reached is None:
            return ""
        return f"{format_scalar(self.reached)} of {format_scalar(self.planned)} {self.unit}"


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis:
    """The whole answer for one run.

    Attributes:
        run_id: Id of the run.
        root: What the user asked about.
        subject: Which run or attempt of several the answer is about; empty if there was one.
        others: The other runs found beside it.
        status: One of ``STATUSES``.
        summary: One sentence that justifies the status.
        findings: Causes considered, ranked; only those with a probability worth reading.
        ruled_out: Causes considered and refuted, with the line that refutes them.
        other_probability: Per symptom kind, the probability of "something else".
        next_checks: What to look at to decide.
        coverage: What was seen.
        gaps: What could not be read.
        tool_version: Version of analyzer.
        rules_digest: Digest of all rules used.
        elapsed_s: Wall time.
        first_failure: Which line, rank and host failed first; None if no failure was seen.
        device_time: Where the time of the devices went; None without a trace that holds events of a device.
        headline: What can be said with more than a half; None where no cause came into question.
        ended: How the run ended; None if nothing was read.
        onset: When trouble began; None if no step is known for it.
        passed_over: Newer runs of which nothing could be read, by their label, with the reason.
        earlier: A sentence for each earlier launch that wrote into the same log; the answer is about the last one.
        judged: Which of several trainings that one log holds the answer is about; empty for a log of one.
        rule_packs: Name and version of each rule pack beside the bundled one.
    """

    run_id: str
    root: str
    subject: str
    others: tuple[str, ...]
    status: str
    summary: str
    findings: tuple[Finding, ...]
    ruled_out: tuple[Finding, ...]
    other_probability: Mapping[str, float]
    next_checks: tuple[NextCheck, ...]
    coverage: Coverage
    gaps: tuple[GapNote, ...]
    tool_version: str
    rules_digest: str
    elapsed_s: float
    first_failure: FirstFailure | None = None
    device_time: DeviceTime | None = None
    headline: Headline | None = None
    ended: Ended | None = None
    onset: Onset | None = None
    passed_over: tuple[GapNote, ...] = ()
    earlier: tuple[str, ...] = ()
    judged: str = ""
    rule_packs: tuple[str, ...] = ()

    def __repr__(self) -> str:
        from analyzer.model.card import prompt_line  # noqa: PLC0415  (what the command line shows needs none of it)

        return prompt_line(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from analyzer.model.card import notebook_card  # noqa: PLC0415

        return notebook_card(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data in the order of the JSON contract; NaN and infinities become strings."""
        from analyzer.model.card import plain_data  # noqa: PLC0415

        return {"schema": SCHEMA_ID, **plain_data(self)}

    def finding(self, word: str = "") -> Finding | None:
        """A considered cause by rule id or cause id, also one that was ruled out; the leading one if none is named."""
        if not word:
            return next(iter(self.findings), None)
        wanted = word.lower()
        for finding in (*self.findings, *self.ruled_out):
            if wanted in {finding.rule_id.lower(), finding.cause.id}:
                return finding
        return None

    def explain(self, word: str = "") -> str:
        """All the evidence for and against one considered cause, or of the leading one.

        Raises:
            KeyError: The cause was not considered.
        """
        found = self.finding(word)
        if found is None:
            raise KeyError(word or "no cause was considered")
        return found.ledger()
