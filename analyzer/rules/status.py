"""The one word for a run: failed, degraded, healthy or insufficient, and the sentence that justifies it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from analyzer.model.diagnosis import SOUND_ALIKE, Finding
from analyzer.model.labels import ORDINARY
from analyzer.model.tables import Scalar
from analyzer.model.wording import LIKELY, REPORTED, counted, word_for
from analyzer.record import NamedTuple
from analyzer.rules.calibration import told
from analyzer.rules.ending import crash_sign, little_seen, troubled_end, what_tells_more
from analyzer.rules.gates import holds
from analyzer.rules.health import Health
from analyzer.rules.shape_line import POOLED, anomalous_shape
from analyzer.rules.tree import HALF
from analyzer.vocabulary.events import said

ENOUGH_POINTS = 5
"""Fewer points show no course: nothing can be said about a run from them."""

ENOUGH_POINTS_COMPLETED = 2
"""A run that says itself that it completed needs less: a first and a last value that are finite."""

LITTLE_FALL = 0.1
"""Less than a tenth between two losses may be how two batches differ: the end of a run does not tell that it learned."""

ENOUGH_POINTS_CLEAR, CLEAR_FALL = 3, 0.2
"""Three epochs of which each is better, a fifth of the first loss gone: scatter does not do that."""

ENOUGH_POINTS_STEADY = 4
"""Four points of which each is better than the one before."""

ENOUGH_POINTS_VAST, VAST_FALL = 2, 0.5
"""Two points between which half of the loss went and a score rose by fifteen points: no scatter is as large."""

NEARLY_ALL, OF_ITS_ERRORS = 0.95, 0.2
"""Of the held-out answers; a fifth of the errors that are left, gained between the thirds of a run, is no scatter of a guess."""

ENOUGH_TO_LEARN = 10
"""Points of a loss from which one that ends above its first level has got nowhere, also if it ended as planned."""

MESSAGE_CHARACTERS = 160
"""Of the message of an exception that no rule explains: what names it stands in the first words."""

SURE_ENDING = 0.6
"""Probability from which an ordinary ending (a person or the scheduler stopped it) explains how the run ended."""


NUMERIC_SIGNS = (
    ("signal.nonfinite_loss.persists", "the loss is not finite to the end"),
    ("signal.nonfinite_grad.harmful", "the gradient norm is not finite"),
    ("signal.loss_scale.at_floor", "the loss scale reached its floor"),
    ("signal.module.forward_nonfinite", "the output of a module is not finite"),
)
"""What a run of which the numerics broke (``gate.numerics_broke``) failed by; a collapsing scale alone may recover."""


class Outcome(NamedTuple):
    """What the run itself shows, whatever its cause.

    Attributes:
        failed: Sentences, each a sign that the run failed.
        missing: What was not seen and would be needed to call the run healthy.
    """

    failed: tuple[str, ...]
    missing: tuple[str, ...]


def outcome(facts: Mapping[str, Scalar]) -> Outcome:
    """Signs of failure and what is missing for a verdict of health."""
    failed: list[str] = []
    if holds("numerics_broke", facts):
        failed += [words for fact, words in NUMERIC_SIGNS if facts.get(fact) is True]
    if _lost_its_loss(facts):
        failed.append("the loss is exactly 0 at once")
    if facts.get("signal.exact.nonfinite_training") is True and not failed:
        failed.append(f"{facts['signal.exact.nonfinite_name']} is not finite to the end")
    if facts.get("signal.exact.loss_zero") is True and not failed and not _zero_is_ordinary(facts):
        failed.append("the loss is exactly 0 at nearly every point")
    if _nothing_to_learn(facts):
        failed.append("loss and gradient are exactly 0 at most steps")
    if (ending := _bad_ending(facts)) is not None:
        failed.append(ending)
    needed = _needed(facts)
    counts = [facts.get(f"signal.{name}") for name in ("loss.points", "eval.points", "progress.score_points")]
    if facts.get("run.rl") is True:
        # the course of a policy is told from fewer rows than its levels
        counts += [facts.get(f"signal.{name}.reward_points") for name in ("rl", "policy")]
    # without a loss, only a run that reached its end tells that it learned, or one whose answers are nearly all right
    if facts.get("run.completed") is True or _answers_nearly_all(facts):
        counts.append(facts.get("signal.generalisation.accuracy_points"))
    most = max((count for count in counts if isinstance(count, int)), default=0)
    missing = () if most >= needed else (f"{needed} points of a training or evaluation loss (has {most})",)
    if missing and not failed and (reported := _reported_failure(facts)) is not None:
        failed.append(reported)
    if not failed and (crashed := crash_sign(facts)) is not None:
        failed.append(crashed)
    return Outcome(tuple(failed), missing)


def _needed(facts: Mapping[str, Scalar]) -> int:
    """Points that a verdict of health needs: fewer the more they show."""
    share = facts.get("signal.progress.fall_share")
    if facts.get("run.completed") is True:
        # of a run without a training loss nothing tells how far it fell
        fell_far = isinstance(share, float) and share >= LITTLE_FALL
        little = not fell_far and not facts.get("signal.progress.score_points")
        return ENOUGH_POINTS_CLEAR if little else ENOUGH_POINTS_COMPLETED
    if facts.get("signal.progress.kept") is not True:
        return ENOUGH_POINTS
    fell = share if isinstance(share, float) else 0.0
    risen = facts.get("signal.progress.score_points", 0)
    if fell >= VAST_FALL and isinstance(risen, int) and risen >= ENOUGH_POINTS_VAST:
        return ENOUGH_POINTS_VAST
    if fell >= CLEAR_FALL or (risen and facts.get("signal.progress.learned") is True):
        return ENOUGH_POINTS_CLEAR
    return ENOUGH_POINTS_STEADY if facts.get("signal.progress.every_point_better") is True else ENOUGH_POINTS


def _answers_nearly_all(facts: Mapping[str, Scalar]) -> bool:
    """Whether hardly a held-out answer is wrong, and fewer than at first: that shows without a loss that it learned."""
    best, last, gained = (
        facts.get(f"signal.generalisation.accuracy_{name}") for name in ("best", "last", "gained")
    )
    if not (isinstance(best, float) and isinstance(last, float) and isinstance(gained, float)):
        return False
    return min(best, last) >= NEARLY_ALL and gained >= OF_ITS_ERRORS * (1 - best)


def _zero_is_ordinary(facts: Mapping[str, Scalar]) -> bool:
    """Policy losses are 0 where all advantages are; a gradient, or held-out data that get better or are all right, show it is not the loss."""
    gained = facts.get("signal.generalisation.accuracy_gained", 0.0)
    fell = facts.get("signal.gap.held_out_gained")
    answers = (
        facts.get("signal.generalisation.score_kept") is True
        and isinstance(gained, float)
        and gained >= RISES_BESIDE_ZEROS
    )
    return (
        facts.get("run.rl") is True
        or facts.get("signal.loss_zero.with_finite_grad") is True
        or facts.get("signal.exact.zero_and_right") is True
        or (answers and facts.get("signal.loss_zero.share") == 1.0)
        or (isinstance(fell, float) and fell >= VAST_FALL and facts.get("signal.exact.all_finite") is True)
    )


RISES_BESIDE_ZEROS = 0.01
"""A hundredth gained between the thirds of a run: a ranking model of advertisements has little more to gain."""

NEARLY_ALWAYS = 0.9
"""A run that learned its data by heart prints zeros at its end; nine of ten zero gradients were there all along."""


def _nothing_to_learn(facts: Mapping[str, Scalar]) -> bool:
    """Whether no step had anything to learn from; rewards that agree make policy losses zero, and that passes."""
    zeros, still = facts.get("signal.loss_zero.share"), facts.get("signal.grad_norm.zero_share")
    if not isinstance(zeros, float) or not isinstance(still, float) or facts.get("run.rl") is True:
        return False
    return zeros > 0.5 and still >= NEARLY_ALWAYS


def _lost_its_loss(facts: Mapping[str, Scalar]) -> bool:
    """Whether the loss ends at 0 without having fallen there; in policy training a loss of 0 is ordinary."""
    return facts.get("signal.loss_zero.sudden") is True and not _zero_is_ordinary(facts)


BY_SIGNAL = "SignalException"
"""What torch's launcher raises when somebody ends it: the end came from outside, and nothing failed."""


def _bad_ending(facts: Mapping[str, Scalar]) -> str | None:
    """How the run ended, if it ended badly by its own record."""
    if facts.get("event.target_not_reached.seen") is True and facts.get("run.completed") is not True:
        return "it was given up before it reached its target"
    if facts.get("run.completed") is False and facts.get("event.python_traceback.seen") is True:
        raised = str(facts.get("event.python_traceback.exception", "an exception")).rpartition(".")[2]
        if raised == BY_SIGNAL and facts.get("ended.state") == "interrupted":
            return None
        message = str(facts.get("event.python_traceback.message", "")).partition("\n")[0][:MESSAGE_CHARACTERS]
        return f"it ended in {raised}" + (f": {message}" if message else "")
    code = facts.get("run.exit_code")
    return f"it ended with exit code {code}" if isinstance(code, int) and code != 0 else None


_BARE_REPORTS = {
    "event.traceback_cut.seen": "the log shows a traceback whose last line, the exception, is missing",
    "event.job_failed.seen": "the platform reports that the job failed",
    "event.error_line.is_last_error": "the log ends in an error that no rule knows",
    "event.native_stack.is_last_error": "the log ends in the calls of a library in C++, and what it says below them is missing",
}
"""Facts that tell of a failure and of nothing else, and the words for each."""


def _reported_failure(facts: Mapping[str, Scalar]) -> str | None:
    """What the log of a run that hardly trained reports as its first failure, if it is no end that was decided."""
    kind, family = facts.get("failure.first.kind"), facts.get("failure.first.family")
    # Ranks that lost or missed each other did not go on; a pipe alone breaks at many an ordinary end.
    lost_peers = family == "peers" and kind != "connection_lost"
    if facts.get("run.completed") is True:
        return None
    if not (facts.get("failure.root_seen") is True or lost_peers):
        return next((words for name, words in _BARE_REPORTS.items() if facts.get(name) is True), None)
    if family == "host" or not isinstance(kind, str):
        return None
    return f"the log reports a failure: {said(kind)}"


class Verdict(NamedTuple):
    """What is said of a run before its percentages are known."""

    status: str
    text: str  # the sentence, without how sure it is
    missing: tuple[str, ...]  # what was not seen
    cause: str = ""  # id of the cause that the sentence ends with
    is_unexplained: bool = False  # whether the run failed and no rule decides why

    def summary(self, findings: Sequence[Finding]) -> str:
        """The sentence, as sure as the percentages that are told beside it."""
        named = next((finding for finding in findings if finding.cause.id == self.cause), None)
        if named is not None:
            return f"{self.text}; {word_for(named.probability)}: {named.cause.id}"
        if self.is_unexplained and not (findings and findings[0].probability >= LIKELY):
            return f"{self.text}; no rule explains it with confidence"
        return self.text


def judge(
    findings: Sequence[Finding],
    seen: Outcome,
    tests: Health,
    facts: Mapping[str, Scalar],
    first: Finding | None = None,
) -> Verdict:
    """The verdict on a run.

    Args:
        findings: Those by rules, which alone decide.
        seen: What the run itself shows.
        tests: The tests of health.
        facts: Known facts.
        first: The cause that is told first, where it is another than that of the rules.

    ``healthy`` needs enough to say so; a run that shows nothing wrong because it shows nothing is ``insufficient``.
    """
    blind = _unseen(facts)
    ended = [f for f in findings if f.cause.kind == "lifecycle" and f.probability >= SURE_ENDING]
    signs = [sign for sign in seen.failed if not (ended and sign.startswith("it ended"))]
    for severity, status in (("fatal", "failed"), ("degrading", "degraded")):
        named = [f for f in findings if f.severity == severity and _decides(f, findings)]
        named = [f for f in named if severity == "fatal" or not says_less_than_end(f, findings)]
        if named:
            top = first or named[0]
            # A cause that only costs quality does not explain why the run failed.
            failed = "; ".join(signs) if status == "degraded" else ""
            text = f"{failed}; {top.symptom}" if failed else top.symptom
            return Verdict("failed" if failed else status, text, blind, cause=top.cause.id)
    if signs:
        text = "; ".join(sign.removesuffix(".") for sign in signs)
        if ended:
            return Verdict("failed", f"{text}; nothing that was logged tells why", blind)
        return Verdict("failed", text, blind, is_unexplained=True)
    degrading = [f for f in findings if f.severity == "wasteful" and _decides(f, findings)]
    if degrading:
        return Verdict("degraded", degrading[0].symptom, blind)
    if (end := troubled_end(facts)) is not None:
        learns = f"; no fault found in {_counted(facts)}" if not seen.missing else ""
        if (doubt := _doubt(tests, facts)) is not None and tests.doubts:
            learns = f"; {doubt}"
        return Verdict(end[0], end[1] + learns, (*seen.missing, *blind))
    if seen.missing:
        return Verdict("insufficient", _too_little(seen, tests, facts, ended), (*seen.missing, *blind))
    text = f"no fault found in {_counted(facts)}"
    if (unread := facts.get("run.evidence_unread")) is not None:
        return Verdict("insufficient", f"{text}, but not everything could be read: {unread}", blind)
    if (doubt := _doubt(tests, facts) or _suspicion(findings) or _open_end(facts)) is not None:
        return Verdict("insufficient", f"{text}, yet {doubt}", blind)
    if ended:
        text = f"{ended[0].cause.title}; {text}"
    return Verdict("healthy", text + (f" (not seen: {', '.join(blind)})" if blind else ""), blind)


def says_less_than_end(finding: Finding, findings: Sequence[Finding]) -> bool:
    """Whether a cause that only costs quality is no likelier than not, and somebody or the scheduler surely ended the run."""
    is_weak = finding.severity != "fatal" and finding.probability <= HALF  # a likelier one may be why
    ordinary = (f for f in findings if f.cause.kind == "lifecycle" and f.cause.id not in OF_THE_RUN)
    return is_weak and any(f is not finding and f.probability >= SURE_ENDING for f in ordinary)


OF_THE_RUN = frozenset({"log-truncated", "configured-stop-triggered"})
"""Endings that nobody brought about from outside: behind a curve that shows no more than a suspicion they tell less than it."""


def _decides(finding: Finding, findings: Sequence[Finding]) -> bool:
    """Whether a cause may decide the status: possible itself, its kind not more likely something else, and like runs not sound."""
    if finding.symptom_kind in POOLED and any(
        line.id == SOUND_ALIKE and float(line.values["likeness.sound"]) >= SOUND_FROM
        for line in finding.evidence
    ):
        return False
    explained = sum(f.probability for f in findings if f.symptom_kind == finding.symptom_kind)
    return finding.probability >= REPORTED and explained >= EXPLAINED


SOUND_FROM = 0.5
"""Probability of being sound from which the course of a run alone accuses nobody: the causes stay as candidates. Of 16 sets that it
was not taught, 28 of 58 sound runs that rules accused by their course lie above it, and 12 of 161 faulty ones."""

EXPLAINED = 0.5
"""Causes of one kind that hold less than a half together leave more to something else, which may be nothing."""


def _too_little(seen: Outcome, tests: Health, facts: Mapping[str, Scalar], ended: Sequence[Finding]) -> str:
    """Why so little was seen that nothing can be said, or what the little shows."""
    found = tests.without("learned") if facts.get("event.training_completed.reason") == REACHED else tests
    if found.doubts:
        words, decides = found.doubts[0]
        return f"{words}; what would decide: {decides}"
    first = f"{ended[0].cause.title}; otherwise " if ended else ""
    of_players = facts.get("signal.loss.of_players", 0)
    if isinstance(of_players, int) and of_players >= ENOUGH_POINTS:
        return f"{first}nothing wrong was seen in {of_players} points of {_PLAYERS}"
    return f"{first}{little_seen(facts)}: needs {what_tells_more(facts, seen.missing)}"


_PLAYERS = (
    "losses of players that follow each other (generator and discriminator, policy and critic), which need not fall in a"
    " sound run, so they do not tell whether it learned; what would decide: whether the mean reward rises, or a score of what is made (FID, samples)"
)


_COUNTED = (
    ("signal.loss.points", "loss point"),
    ("signal.eval.points", "loss point"),
    ("signal.policy.reward_points", "reward"),
    ("signal.generalisation.accuracy_points", "evaluation score"),
    ("signal.progress.score_points", "score"),
)


def _counted(facts: Mapping[str, Scalar]) -> str:
    """What was looked at, and how much of it: ``120 loss points``."""
    found = [(number, word) for name, word in _COUNTED if isinstance(number := facts.get(name), int)]
    if not found:
        return "no points"
    word = found[0][1]
    return counted(max(number for number, other in found if other == word), word)


REACHED = "success"
"""What MLPerf's runs note when their score reached the target."""


def _doubt(tests: Health, facts: Mapping[str, Scalar]) -> str | None:
    """What keeps a run without a finding from being called healthy, and what would decide it."""
    found = tests
    points, fallen = (facts.get(f"signal.progress.{name}", 0) for name in ("points", "fall_share"))
    points, worse = points if isinstance(points, int) else 0, fallen if isinstance(fallen, float) else 0.0
    lost = (worse < 0 and points >= ENOUGH_TO_LEARN) or worse <= LOST_AT_ONCE
    # Who ended as planned may have had little left to learn; a benchmark that ends in success reached its target.
    reached = facts.get("event.training_completed.reason") == REACHED
    if (facts.get("run.completed") is True and (reached or not lost)) or (
        not lost and _answers_nearly_all(facts)
    ):
        found = found.without("learned")
    if found.doubts:
        words, decides = found.doubts[0]
        return f"{words}; what would decide: {decides}"
    if (odd := _odd_shape(facts)) is not None:
        return odd
    sound = facts.get("likeness.sound")
    least = HEALTHY_FROM if points < LONG_POINTS else HEALTHY_FROM_LONG
    if isinstance(sound, float) and sound < least and points >= ENOUGH_POINTS:
        return f"of labelled public runs with such numbers {1 - sound:.0%} had a fault"
    if found.unknown and facts.get("run.rl") is not True:
        return f"nothing tells whether {found.unknown[0]}"
    gained = (facts.get(f"signal.{name}") for name in ("rl.reward_rises", "policy.reward_gained"))
    if found.unknown and True not in gained:
        return "nothing shows that the reward rises"  # the loss of a policy tells nothing of its quality
    return None


HEALTHY_FROM = 0.6
"""Probability of being sound, by runs with such numbers, below which nobody calls a run healthy that all tests passed. Of 346 that
passed them and that it was not taught, 20 of 89 faulty ones lie below it, and 10 of 257 sound ones; at .7 45 and 31."""

LONG_POINTS, HEALTHY_FROM_LONG = 20, 0.5
"""A long course passes all tests less by chance: of nine sets no faulty run of so many rows lies between a half and that, and four sound
ones do, beside five faulty and eight sound ones of fewer rows."""

LOST_AT_ONCE = -0.25
"""A loss that ends a quarter above its first rows had something to learn, however few they are."""


def _suspicion(findings: Sequence[Finding]) -> str | None:
    """A fault that is no more than possible: too little to accuse a run of it, too much to call the run healthy."""
    for finding in findings:
        ordinary = finding.cause.kind in ORDINARY
        seen, against = _by_this_run(finding)
        # without what like runs say, what costs time would have been told as the answer
        grave = finding.severity in {"fatal", "degrading"} or (
            finding.severity == "wasteful" and against and seen >= EXPLAINED
        )
        if seen >= REPORTED and grave and not ordinary:
            word = word_for(told(seen, "insufficient", finding.cause.family))
            return f"{finding.symptom} ({word}: {finding.cause.id}{against})"
    return None


def _by_this_run(finding: Finding) -> tuple[float, str]:
    """Its probability by what was seen in this run, and words for what speaks against it: like runs that were sound.

    They may clear a run of an accusation; they let nobody call it healthy.
    """
    alike = next((line for line in finding.evidence if line.id == SOUND_ALIKE), None)
    if alike is None:
        return finding.probability, ""
    there = finding.probability * 2.0**-alike.bits
    return there / (there + 1.0 - finding.probability), f"; but {alike.because}"


def _open_end(facts: Mapping[str, Scalar]) -> str | None:
    """That the rows end in the middle of what was planned; what was not shown may have gone wrong."""
    if facts.get("ended.excerpt") is True:
        gains = (facts.get(f"signal.{name}") for name in ("progress.fall_share", "gap.held_out_gained"))
        is_open = not all(isinstance(gain, float) and gain >= SHOWN for gain in gains)
    else:
        is_open = facts.get("run.log_truncated") is True and facts.get("ended.state") == "unknown"
    return str(facts.get("ended.because")) if is_open else None


SHOWN = 0.2
"""Of the training and of the held-out loss, gone in lines that somebody quoted: they answer for themselves. Of 18 labelled runs with an
unknown end that passed all tests and gained as much 14 were sound, and four long logs were faulty by their end."""


SURER = 1.5
"""A held-out loss that rises by less than half while its score stands at its best makes the answers surer, not worse."""


MOVED = 0.05
"""A twentieth gone beyond its scatter, kept to the end: what a model that was trained before gains is no standing still."""


def _odd_shape(facts: Mapping[str, Scalar]) -> str | None:
    """What the curves look like to the classifier if that is no healthy run, whether it answers or abstains."""
    found = anomalous_shape(facts, LIKELY)
    if found is None or found[0].severity not in {"fatal", "degrading"}:
        return None
    shape, share = found
    rise = facts.get("signal.generalisation.worse_than_best")
    kept = facts.get("signal.generalisation.score_kept") is True and isinstance(rise, float) and rise <= SURER
    if shape.name == "overfits" and kept:
        return None  # it is read from losses; the score by which the model is chosen says otherwise
    fell = facts.get("signal.progress.fall_share")
    if shape.name == "no-progress" and isinstance(fell, float) and fell >= MOVED and _moved(facts):
        return None
    return f"by their shape {shape.says} ({share:.0%}), which no rule bears out"


def _moved(facts: Mapping[str, Scalar]) -> bool:
    """Whether the loss got better beyond its scatter, stayed so, and is that of a model that needed no more."""
    learned, kept, hardly, still = (
        facts.get(f"signal.progress.{name}") for name in ("learned", "kept", "hardly", "still")
    )
    return learned is True and kept is True and hardly is False and still is not True


def _unseen(facts: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Inputs whose absence a reader should know about, in words: those that could change the answer."""
    wanted = (
        ("signal.grad_norm.seen", "gradient norm"),
        ("run.completed", "how the run ended"),
        ("config.precision", "the precision"),
    )
    known_end = facts.get("ended.state", "unknown") != "unknown"
    needless = {
        "signal.grad_norm.seen": _failed_in_words(facts, _OF_NUMBERS),
        "run.completed": known_end,
        "config.precision": _failed_in_words(facts, _OF_PRECISION),
    }
    return tuple(
        text
        for name, text in wanted
        if (name not in facts or (facts[name] is False and name.startswith("signal"))) and not needless[name]
    )


_OF_NUMBERS = frozenset({"numeric"})
_OF_PRECISION = frozenset({"numeric", "memory"})
"""Families of failures in which the gradient norm, or the bytes of a number, may be why."""


def _failed_in_words(facts: Mapping[str, Scalar], of: Collection[str]) -> bool:
    """Whether the log itself tells how the run failed, and by a failure of none of these families."""
    family = facts.get("failure.first.family")
    return facts.get("failure.seen") is True and isinstance(family, str) and family not in of
