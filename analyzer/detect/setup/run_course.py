"""Where the run ran, how far it came, and whether it ended as planned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from analyzer.detect.base import FactWriter, RunView, event_refs, number
from analyzer.detect.failures.first_failure import order_of
from analyzer.detect.failures.following import RowsOfLogs, uncaught
from analyzer.detect.stand_in import REWARD_OF_AGENT, earns_in_evaluations
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import word_set, words_of
from analyzer.model.refs import SourceRef
from analyzer.model.run import Attempt, LogEnd
from analyzer.model.tables import NULL_INT, Event
from analyzer.vocabulary.frameworks import built_on, family
from analyzer.vocabulary.known_names import told_by

# CUDA compute capability of a GPU by its marketing name.
#
# bf16 arithmetic begins with 8.0 (Ampere); older cards emulate it at best. Names that are not listed stay unknown.
BF16_FROM = 8.0

# Accelerators without a CUDA capability that have bf16 arithmetic (vendors' data sheets).
_OTHER_BF16 = LazyRegex(r"\bmi(?:2\d0x?|3\d{2}[ax]?)\b|\btpu\b|gaudi|trainium|ascend ?910b|max 1\d50")


def compute_capability(name: str) -> float | None:
    """Capability of a GPU, None if the name is not known.

    >>> compute_capability("Tesla T4"), compute_capability("NVIDIA A100-SXM4-80GB"), compute_capability("Tesla V100-SXM2-16GB")
    (7.5, 8.0, 7.0)
    >>> compute_capability("NVIDIA GeForce RTX 4090"), compute_capability("AMD Instinct MI300X")
    (8.9, None)
    """
    text = re.sub(r"[-_]", " ", name.lower())
    found: float | None = told_by("capabilities", text)
    return found


def supports_bf16(name: str) -> bool | None:
    """Whether the device has bf16 arithmetic, None if the name is not known.

    >>> supports_bf16("Tesla T4"), supports_bf16("NVIDIA H100 80GB HBM3"), supports_bf16("AMD Instinct MI250X"), supports_bf16("GPU")
    (False, True, True, None)
    """
    capability = compute_capability(name)
    if capability is not None:
        return capability >= BF16_FROM
    return True if _OTHER_BF16.search(re.sub(r"[-_]", " ", name.lower())) else None


ENDINGS = (
    "python_traceback",
    "loss_scale_minimum",
    "nan_stop",
    "launcher_exit_code",
    "torchrun_worker_failed",
)
"""Lines with which a run that died says so."""

_ERRORS = ("root_candidate", "cascade", "teardown")
"""Roles of lines that tell of a failure or of its consequences."""

_REWARD_PREFIXES = (
    "rewards/",
    "reward/",
    "objective/kl",
    "objective/rlhf_reward",
    "ppo/",
    "policy/approxkl",
    "rollout/ep_rew",
)
_REWARD_NAMES = frozenset({"reward_mean", "reward_std", "frac_reward_zero_std", "kl", "approx_kl"})


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``run.*``."""
    _frameworks(view, out)
    _hardware(view, out)
    run = view.run
    if run.attempts:
        out.put("attempts", len(run.attempts))
    several = view.trainings
    if several.begins:
        source = max(several.begins, key=lambda each: len(several.begins[each]))
        number, begins = several.judged[source], several.begins[source]
        place = [SourceRef(source, begins[number] or 1)]
        out.put("trainings", len(begins), place)
        out.put("training_judged", number + 1, place)
        out.put("training_broke", source in several.broken, place)
        poor = several.poor[source]
        out.put("trainings_poor", len(poor), [SourceRef(source, begins[other] or 1) for other in poor[-1:]])
        if poor:
            out.put("training_poor", poor[-1] + 1, [SourceRef(source, begins[poor[-1]] or 1)])
    step, refs = last_step(view)
    out.put("last_step", step, refs)
    code, code_refs = exit_code(view)
    out.put("exit_code", code, code_refs)
    by_tracker = any(view.run.sources[ref.source].by_tracker for ref in code_refs)
    out.put("exit_code_by_tracker", by_tracker if code_refs else None, code_refs)
    unread = next((gap for gap in run.gaps if gap.evidence), None)
    if unread is not None:
        where = "" if unread.ref is None else f"{run.sources[unread.ref.source].path}: "
        out.put("evidence_unread", where + unread.reason, [unread.ref])
    done, done_refs = completed(view)
    out.put("completed", done, done_refs)
    out.put("stops_at_meeting", *_stops_at_meeting(view))


def _frameworks(view: RunView, out: FactWriter) -> None:
    switched_off = [
        entry
        for entry in view.run.config.entries
        if entry.key_in_source.rpartition(".")[2] == "deepspeed"
        and entry.framework != "versions"
        and entry.value in {None, ""}
    ]
    if view.uses("deepspeed"):
        out.put("deepspeed", value=True)
    elif switched_off:
        out.put("deepspeed", value=False, refs=[switched_off[0].ref])
    if view.uses(*built_on("hf-trainer")):
        out.put("hf_trainer", value=True)
    elif view.uses(*family("own-loop")):
        out.put("hf_trainer", value=False)
    if view.uses("unsloth"):
        out.put("unsloth", value=True)
    if view.run.metrics.names:
        rewarded = reward_metrics(view)
        out.put("rl", bool(rewarded), _first_points(view, rewarded[:2]))
        out.put("plays", logs_episodes(view.run.metrics.raw_names))


_PREFERENCES = ("rewards/chosen", "rewards/margin", "rewards/accurac")


def reward_metrics(view: RunView) -> list[str]:
    """Metrics that only policy training logs, sorted; its losses rise and fall with the rewards, not with success."""
    names = view.run.metrics.names
    if any(name.startswith(_PREFERENCES) and not name.endswith("_reward") for name in names):
        return []  # DPO and its kin: no rollouts; rewards/accuracy_reward is what a function pays for a right answer
    found = sorted(
        name
        for name in names
        if name in _REWARD_NAMES
        or name.startswith(_REWARD_PREFIXES)
        or REWARD_OF_AGENT.fullmatch(name)
        or earns_in_evaluations(name)
    )
    # a divergence alone may be that of a code from its prior (an autoencoder) or from a teacher
    return [] if set(found) <= {"kl", "approx_kl"} and not _of_a_policy(names) else found


_EPISODES = LazyRegex(
    r"(?i)(?:^|[^a-z])(?:episodes?|episodic|eps?)[ _/.-]?(?:len|length|steps|ret|return|rew|reward|score|success)|^mean[ _]reward$"
)
_OF_ANSWERS = LazyRegex(r"(?i)(?:^|[^a-z])(?:kl|completions?|responses?)(?:$|[^a-z])")


def logs_episodes(names: Iterable[str]) -> bool:
    """Whether episodes of an environment are logged; what a language model is paid for its answers is none.

    >>> logs_episodes(["rollout/ep_len_mean", "loss"]), logs_episodes(["episode_return"]), logs_episodes(["reward", "loss"])
    (True, True, False)
    >>> logs_episodes(["Mean Reward"])
    True
    >>> logs_episodes(["episode_reward", "completion_length"])
    False
    """
    known = list(names)
    return any(map(_EPISODES.search, known)) and not any(map(_OF_ANSWERS.search, known))


_POLICY = word_set(
    "policy pi pg actor critic advantage advantages adv return returns rewards reward score scores entropy clip clipfrac ratio value vf episode response responses length rollout ref ppo grpo"
)


def _of_a_policy(names: Iterable[str]) -> bool:
    """Whether a metric beside a divergence is one of a policy, by the words of its name."""
    return any(not _POLICY.isdisjoint(words_of(name)) for name in names) and not reconstructs(names)


_RECONSTRUCTION = word_set(
    "vae cvae vqvae rec recon recons reconst reconstruct reconstruction bce mse nll elbo mae l1 l2 mel"
)


def reconstructs(names: Iterable[str]) -> bool:
    """Whether a loss is that of a reconstruction, by the words of its name."""
    return any(not _RECONSTRUCTION.isdisjoint(words_of(name)) for name in names)


def _first_points(view: RunView, names: list[str]) -> list[SourceRef]:
    return [found[0].ref(0) for name in names if (found := view.all_series(name))]


def _hardware(view: RunView, out: FactWriter) -> None:
    layout = view.run.layout
    refs = [layout.ref]
    if layout.gpu_name:
        out.put("gpu.name", layout.gpu_name, refs)
        out.put("gpu.gtx16", "gtx 16" in layout.gpu_name.lower(), refs)
        out.put("gpu.compute_capability", compute_capability(layout.gpu_name), refs)
    echoed = next((e for e in view.run.config.entries if e.key_in_source == "bfloat16_supported"), None)
    if echoed is not None and isinstance(echoed.value, bool):  # Unsloth's banner asks the device itself
        out.put("gpu.supports_bf16", echoed.value, [echoed.ref])
    elif layout.gpu_name:
        out.put("gpu.supports_bf16", supports_bf16(layout.gpu_name), refs)
    out.put("world_size", layout.world_size)


def last_step(view: RunView) -> tuple[int | None, list[SourceRef]]:
    """Last optimizer step that a training metric reports; of any metric if there is no training metric."""
    if view.span is not None:
        curves = [
            curve
            for name in ("loss", "grad_norm", "learning_rate", "loss_scale")
            if (curve := view.curve(name)) is not None
        ]
        shown = [
            curve.ref(int(np.flatnonzero(curve.step == view.span[1])[-1]))
            for curve in curves
            if view.span[1] in curve.step
        ]
        return view.span[1], shown[:1]
    known = view.run.metrics.step[view.run.metrics.step != NULL_INT]
    return (int(known.max()), []) if known.size else (None, [])


def _last_attempt(view: RunView) -> Attempt | None:
    return view.run.attempts[-1] if view.run.attempts else None


def of_last_attempt(view: RunView, *kinds: str) -> list[Event]:
    """Events of some kinds that belong to the launch that came last."""
    events = view.events(*kinds)
    latest = max((event.attempt for event in view.run.events), default=0)
    attempt = _last_attempt(view)
    number_of_last = max(latest, attempt.index if attempt is not None else 0)
    return [event for event in events if event.attempt == number_of_last]


def exit_code(view: RunView) -> tuple[int | None, list[SourceRef]]:
    """Exit code of the last attempt: as its logger recorded it, else as a launcher printed it."""
    attempt = _last_attempt(view)
    if attempt is not None and attempt.exit_code is not None:
        return attempt.exit_code, [SourceRef(attempt.sources[0])] if attempt.sources else []
    for kind, field in (
        ("launcher_exit_code", "code"),
        ("torchrun_worker_failed", "exitcode"),
        ("slurm_task_failed", "code"),
    ):
        for event in of_last_attempt(view, kind):
            code = event.fields.get(field)
            if isinstance(code, int) and code != 0 and _is_end(view, event):
                return code, [event.ref]
    return None, []


def completed(view: RunView) -> tuple[bool | None, list[SourceRef]]:
    """Whether the run says that it ended as planned; None if it says nothing.

    A statement of success counts whatever happens at exit, where a process group may abort; an exit code of 0
    alone counts too unless the log ends in an exception (a tracker that is closed in a finally block notes 0), and a
    launcher's word that processes ended well, if nothing else was reported.
    """
    done = _own_statements(view)
    if done:
        return True, event_refs(done[-1:])
    code, code_refs = exit_code(view)
    wanted = number(view.config_value("train.max_steps"))
    reached = last_step(view)
    if wanted is not None and wanted > 0 and reached[0] is not None and reached[0] >= wanted and not code:
        return True, reached[1]
    died = [event for event in of_last_attempt(view, *ENDINGS) if _is_end(view, event)]
    if code == 0 and died:
        return None, []
    raised = _that_ended(view, [event for event in died if event.kind == "python_traceback"])
    if code is not None:
        return code == 0, event_refs(
            raised[:1]
        ) or code_refs  # the exception says more than the code that it left
    if died:
        return False, event_refs(raised[:1] or died[-1:])
    ended_well = of_last_attempt(view, "process_exit_ok")
    if ended_well and not view.run.events.with_roles(_ERRORS):
        return True, event_refs(ended_well[-1:])
    last = _written_once_at_end(view)
    return (True, [last]) if last is not None else (None, [])


def _own_statements(view: RunView) -> list[Event]:
    """Statements that training is complete; one behind the exception that ended the same program is its wrapper's."""
    done = of_last_attempt(view, "training_completed")
    raised = [event for event in of_last_attempt(view, "python_traceback") if uncaught(event.fields)]
    ends = [event for event in raised if done and _is_end(view, event)]
    return [each for each in done if not any(_is_behind(each, event) for event in ends)]


def _is_behind(said: Event, raised: Event) -> bool:
    """Whether a line stands below an exception in the log of the same rank."""
    another = None not in {said.rank, raised.rank} and said.rank != raised.rank
    same = said.ref.source == raised.ref.source and not another
    return same and (said.ref.line or 0) > (raised.ref.line or 0)


def _stops_at_meeting(view: RunView) -> tuple[bool | None, list[SourceRef]]:
    """Whether all logs end where ranks are about to meet; None where none says so, or steps follow.

    A rank that is alone waits for nobody, and those above the first are often silenced once they have met.
    """
    meetings = of_last_attempt(view, "ranks_meeting")
    if not meetings or len(view.run.metrics) or not view.run.log_ends:
        return None, []
    # a line without a rank is the first one's, unless others name theirs: of a part of a log that may be any
    named = [event for event in meetings if "rank" in event.fields or event.rank is not None] or meetings
    by_first = [event for event in named if event.fields.get("rank", event.rank or 0) == 0]
    alone = any(event.fields.get("of") == 1 for event in meetings)
    lines = {(event.ref.source, event.ref.line) for event in meetings}
    all_there = all((end.source, end.line) in lines for end in view.run.log_ends)
    return bool(by_first) and not alone and all_there, [meetings[-1].ref]


def _that_ended(view: RunView, raised: list[Event]) -> list[Event]:
    """Those of some exceptions that were no survived ones; all of them where nothing parts them."""
    ended = {event.ref for failure in order_of(view).failures for event in failure.events}
    return [event for event in raised if event.ref in ended] or raised


def _written_once_at_end(view: RunView) -> SourceRef | None:
    """What a trainer writes once, behind all rows of training: its run time, or a test beside evaluations of its own."""
    table, loss, held_out = view.run.metrics, view.curve("loss"), view.curve("eval_loss")
    validated = held_out is not None and len(held_out) >= 2 and not _is_test(held_out.logged_as)
    for code, name in enumerate(table.raw_names):
        if not (name.endswith("train_runtime") or (validated and _is_test(name))):
            continue
        rows = np.flatnonzero(table.raw == code)
        if rows.size != 1 or loss is None:
            continue
        source, line = int(table.source[rows[0]]), int(table.line[rows[0]])
        before = loss.line[loss.source == source]
        if before.size and line >= before.max():
            return SourceRef(source, line)
    return None


def _is_test(name: str) -> bool:
    return "test" in words_of(name)


def _ends_of_cells(view: RunView) -> frozenset[int] | None:
    """Identities of the events of failures, where cells of a notebook raised: rows tell nothing of what ran below them."""
    if not any(event.fields.get("in_cell") is True for event in view.events("python_traceback")):
        return None
    return frozenset(id(event) for failure in order_of(view).failures for event in failure.events)


def _is_end(view: RunView, event: Event) -> bool:
    """Whether training did not go on in the same file after a traceback: one that is caught is no end."""
    ends = view.once(_ends_of_cells)
    if ends is not None:
        return id(event) in ends
    source, line = event.ref.source, event.ref.line
    return line is None or not view.once(RowsOfLogs).went_on(source, line, uncaught=uncaught(event.fields))


PASTED_LINES, PASTED_LINES_CLOCKED = 45, 25
"""Log of a run that was cut off after so few lines, without another file beside it, as people quote them: rows of a loop without a
clock, or records with one. Of 29 short logs that stopped in public threads 27 lie below; of 24 such files in repositories 3."""

LATE_EPOCH, LATE_STEP = 3, 1000
"""A log that begins behind them lacks its own beginning, so it is a part of one and its end may be elsewhere too."""


def is_part(view: RunView, logs: Sequence[LogEnd]) -> bool:
    """Whether the log may be a part that somebody copied: a few lines, or rows that begin in the middle, and nothing beside it.

    A checkpoint that was saved speaks for a run at hand, unless both signs say that the lines were quoted.
    """
    if len(logs) != 1 or len(view.run.sources) > 1:
        return False
    short, late = is_short(logs[0]), _begins_late(view, logs[0])
    return short and late if of_last_attempt(view, "checkpoint_saved") else short or late


def is_short(log: LogEnd) -> bool:
    """Whether a log is as short as what people quote."""
    return log.line <= (PASTED_LINES if log.first_time_s is None else PASTED_LINES_CLOCKED)


def _begins_late(view: RunView, log: LogEnd) -> bool:
    """Whether the first rows of a log are not the first of the run, and nothing says that it was resumed."""
    curve = view.curve("loss")
    late = curve is not None and (curve.step_at(0) or 0) >= LATE_STEP
    return (late or (log.first_epoch or 0) >= LATE_EPOCH) and view.config_value("train.resumed") is None


UNDER_WAY = LazyRegex(
    r"(?i)(?:^|[\]:>|] {0,3}|\s- {0,3})\W{0,6}(?!finish|stop|exit|quit|end|clos|shut|clean|sav|writ|abort|terminat|destroy|tear|releas|upload|complet|kill|disconnect|leav|nothing|string)[a-z]{2,16}ing\b[^|]{0,160}?(?:\.{3}|…)\s*$"
)
"""A program announces what it does next, and nothing that belongs to an end."""

LINES_OF_A_LAUNCH, NEARLY = 20, 0.5
"""Lines above the first row of a launch, at least, and the part of them that a second one must have printed."""


def began_again(view: RunView, end: LogEnd) -> bool:
    """Whether the first line of a log comes again behind all its rows, and what follows is a launch without one.

    It is if nearly as much follows as stood above the first row: a banner that a program prints as it ends is followed by less.
    """
    table = view.run.metrics
    lines = table.line[(table.source == end.source) & (table.line > 0)]
    last = int(lines.max()) if lines.size else None
    behind = [line for line in end.begins if last is not None and line > last]
    above_first_row = int(lines.min()) if lines.size else 0
    return (
        bool(behind)
        and above_first_row >= LINES_OF_A_LAUNCH
        and end.line - behind[-1] >= NEARLY * above_first_row
    )
