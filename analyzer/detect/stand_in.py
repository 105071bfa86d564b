"""Which series stands for the loss of a run that calls nothing a loss: what it minimises, by the words of its names."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from analyzer.detect.curve import all_series, has_steps
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import JUDGES, MAKERS, RIVALS, read_name, word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.run import Run
from analyzer.model.tables import Series
from analyzer.record import replace

_ADVERSARIES = LazyRegex(
    rf"(?i)(?:^|[\W_])(?:{'|'.join(sorted(RIVALS))}|real|fake|actor|policy|pi|pg|vf|value|q|qf\d?|td|alpha|entropy|kl|kld|fm)(?:[\W_\d]|$)"
)
"""Losses of players against each other, and of reinforcement learning: none of them need fall in a sound run."""


def _adversary(name: str) -> re.Match[str] | None:
    return _ADVERSARIES.search(" ".join(words_of(name)))


_TRAINING, _HELD_OUT = ("", "train"), ("eval",)
_PHASES = {"loss": _TRAINING, "eval_loss": _HELD_OUT, "accuracy": _TRAINING, "eval_accuracy": _HELD_OUT}

REWARD_OF_AGENT = LazyRegex(
    r"(?i)(?:agent[ _/]?\d{1,2}[ _/])?(?:episode[ _])?(?:reward|return)s?[ _/]?\d{1,2}|agent[ _/]?\d{1,2}[ _/](?:reward|return)s?"
)
"""What one of several agents earned: ``reward_1``, ``agent0/reward``."""

MIN_POINTS = 3
"""Points of a stand-in; two numbers of an unknown name say nothing of a course."""


def stand_in(run: Run, metric: str) -> tuple[Series, ...]:
    """The best series that may stand for a loss, or none; its ``logged_as`` tells which it is.

    A name that says what is minimised (``train_mse``, ``cost``) comes before a loss of something
    (``fold1/loss``), which counts only where no other does; several of one row count as their sum. Players that work
    against each other are left out: of an adversarial training what the generator is to make again stands for the loss.
    """
    if metric == "grad_norm":
        return _norm_of_parts(run)
    if metric == "reward_mean":
        return _mean_of_agents(run) or _of_evaluations(run)
    if metric in _BOOSTED and (learned := all_series(run, "learn")):
        return _boosted(run, metric, learned[0])
    if metric not in _PHASES:
        return ()
    if metric.endswith("accuracy"):
        return _of_the_output(run, metric)
    if _has_players(run):
        return _sum_of_parts(run, metric, _remade(run)) if metric == "loss" else ()
    found: list[tuple[int, int, str]] = []
    means: list[str] = []  # of epochs: no points of a curve of steps, and the curve where no loss has another
    for name in run.metrics.names:
        if name.partition("@")[0] != name and name.partition("@")[0] in run.metrics.names:
            continue  # the same of another rank: no further part
        reading = read_name(name)
        if reading.setting or reading.phase not in _PHASES[metric]:
            continue
        if name.startswith("epoch/"):
            is_mean = reading.quantity == "loss" and reading.whole
            means += [name] if is_mean and "eval_loss" not in run.metrics.names else []
        elif reading.quantity == "loss_like" or (
            reading.quantity == "loss" and not name.startswith("system.")
        ):
            found.append((reading.order, len(name), name))
    parts = [name for order, _, name in found if order == _PART]
    alone = [name for _, _, name in sorted(entry for entry in found if entry[0] != _PART)]
    for name in alone + ([] if parts else means):
        series = all_series(run, name)
        if series and len(series[0]) >= MIN_POINTS:
            return tuple(replace(one, metric=metric) for one in series)
    return _sum_of_parts(run, metric, parts) if parts else _named_by_phase(run, metric)


_BOOSTED = {"loss": "learn", "accuracy": "learn", "eval_loss": "test", "eval_accuracy": "test"}


def _boosted(run: Run, metric: str, learned: Series) -> tuple[Series, ...]:
    """The courses of boosted trees in rows that name no score (``learn: 0.81 test: 0.78``).

    Each tree betters the training data, so what rises there is a score and no loss; only shares are known ones.
    """
    is_score = metric.endswith("accuracy")
    if (learned.value[-1] > learned.value[0]) != is_score or (
        is_score and not 0 <= learned.value.min() <= learned.value.max() <= 1
    ):
        return ()
    return tuple(replace(one, metric=metric) for one in all_series(run, _BOOSTED[metric]))


_ACCURACIES = word_set("acc accuracy")


def _of_the_output(run: Run, metric: str) -> tuple[Series, ...]:
    """The accuracy of a model of several outputs of which only one is scored, by the name of that output: ``caps_acc`` beside ``caps_loss``."""
    words = {name: words_of(name) for name in run.metrics.names if not read_name(name).setting}
    outputs = {parts[:-1] for parts in words.values() if parts[-1:] == ("loss",)}
    scored = [
        name
        for name, parts in words.items()
        if parts[-1:]
        and parts[-1] in _ACCURACIES
        and parts[:-1] in outputs
        and read_name(name).phase in _PHASES[metric]
    ]
    series = all_series(run, scored[0]) if len(scored) == 1 else ()
    shares = bool(series) and series[0].value.min() >= 0 and series[0].value.max() <= 1
    enough = shares and len(series[0]) >= MIN_POINTS
    return tuple(replace(one, metric=metric) for one in series) if enough else ()


def _has_players(run: Run) -> bool:
    """Whether losses of players or of policies were logged; a maker alone, with no target of its own, plays against nobody."""
    found = [_adversary(name) for name in run.metrics.names if "loss" in name]
    players = {re.sub(r"[\W_\d]", "", match[0]).lower() for match in found if match is not None}
    if {"ploss", "vloss"} <= {name.lower() for name in run.metrics.names}:
        return True  # of a policy and of the value of states
    judged = any(JUDGES.intersection(words_of(name)) for name in run.metrics.names)
    return bool(players - MAKERS) or (bool(players) and (judged or bool(_remade(run))))


_PHASE_NAMES = {
    "loss": word_set("train training trn"),
    "eval_loss": word_set("valid validation val dev test"),
}

EVERY_ROW = 8
"""Rows in each of which a number is lower than before: no share of right answers and no time does that."""

HALF_LEFT, MOST_ROWS = 0.5, 0.75
"""What begins below 1 may be a share of right answers: it is none if it falls in three of four rows, to half of itself."""

FALLEN = 0.9
"""The last third of the rows over the first: a time or a count that is printed every epoch stays as it is."""


def _named_by_phase(run: Run, metric: str) -> tuple[Series, ...]:
    """The two losses of rows such as ``train: 2.31 valid: 2.28``: numbers that fall as no share of right answers does.

    Shares of right answers rise; what stands still could be anything and stays without a meaning.
    """
    alone = {
        phase: [name for name in run.metrics.names if name.lower() in words]
        for phase, words in _PHASE_NAMES.items()
    }
    if any(len(names) != 1 for names in alone.values()):
        return ()
    train, held_out = ([*all_series(run, names[0])] for names in alone.values())
    if len(train) != 1 or len(held_out) != 1 or not same_rows(train[0], held_out[0]):
        return ()
    values = train[0].value
    third = len(values) // 3
    if not third or not 0.0 < values[0] < np.inf:
        return ()
    level = float(median_of(values[:third]))
    left = float(median_of(values[-third:])) / level if 0 < level < np.inf else 1.0
    lower = float((np.diff(values) < 0).mean())
    could_be_a_share = bool(values.max() <= 1.0)
    if could_be_a_share and not (left <= HALF_LEFT and lower >= MOST_ROWS and len(values) >= EVERY_ROW):
        return ()
    if left > FALLEN and not (len(values) >= EVERY_ROW and lower == 1.0):
        return ()
    return (replace(train[0] if metric == "loss" else held_out[0], metric=metric),)


_REMADE = word_set(
    "l1 l2 rec recon reconstruction cycle cyc cycles idt identity pixel vgg percep perceptual mel content"
)
_MISSED = word_set("loss losses error errors err")
_NOT_REMADE = word_set(
    "real fake gp penalty weight lambda val valid validation test eval kl lr norm time aux"
)


def _remade(run: Run) -> list[str]:
    """Losses of a generator against a target of its own: other than those of the players they fall while it learns."""
    words = {name: frozenset(words_of(name)) for name in run.metrics.names}
    return [
        name
        for name, parts in words.items()
        if parts & _MISSED and parts & _REMADE and not parts & _NOT_REMADE
    ]


_PART = 5
"""The order of a name that tells a part of a loss; see ``name_words.NameReading``."""


def _sum_of_parts(run: Run, metric: str, names: list[str]) -> tuple[Series, ...]:
    """The sum of the parts of a loss whose whole was not logged, of those that the same rows hold (``loss_x``, ``loss_t``) the most often logged.

    Their weights are not known; what each of them does, the sum does: it stands, it falls, and it is not finite.
    """
    parts = [series[0] for name in names[:MAX_PARTS] if (series := all_series(run, name))]
    parts = [part for part in parts if len(part) >= (MIN_POINTS if metric == "loss" else 1)]
    if _follow_each_other(parts):
        parts = [max(parts, key=lambda part: int(part.line[-1]))]
    groups = sorted(_of_the_same_rows(parts), key=lambda group: -len(group[0]))
    if not groups or (len(groups) > 1 and len(groups[0][0]) == len(groups[1][0])):
        return ()  # of parts that are logged apart and as often none is more of the loss
    parts = groups[0]
    if len(parts) == 1:
        if not parts[0].value.any():
            return ()  # a lone part that is off is not what is minimised
        return tuple(replace(one, metric=metric) for one in all_series(run, parts[0].metric))
    value = np.sum([part.value for part in parts], axis=0)
    return (replace(parts[0], metric=metric, value=value, logged_as=_together(parts)),)


def _of_the_same_rows(parts: list[Series]) -> list[list[Series]]:
    groups: list[list[Series]] = []
    for part in parts:
        group = next((group for group in groups if same_rows(group[0], part)), None)
        if group is None:
            groups.append([part])
        else:
            group.append(part)
    return groups


def _follow_each_other(parts: list[Series]) -> bool:
    """Whether losses of several names stand one behind the other in one file: of trainings with another loss each."""
    ordered = sorted(parts, key=lambda part: int(part.line[0]))
    return len({int(source) for part in parts for source in (part.source[0], part.source[-1])}) == 1 and all(
        0 < int(one.line[-1]) < int(other.line[0]) for one, other in pairwise(ordered)
    )


def _together(parts: list[Series]) -> str:
    named = " + ".join(part.logged_as for part in parts[:MAX_NAMED])
    return f"{named} and {len(parts) - MAX_NAMED} more" if len(parts) > MAX_NAMED else named


MAX_NAMED = 4
"""Parts that are named; the rest is counted."""


def same_rows(first: Series, second: Series) -> bool:
    """Whether two series were logged by the same rows: the same lines, or a block of lines for each step."""
    same = np.array_equal(first.step, second.step) and np.array_equal(first.source, second.source)
    return (
        len(first) == len(second) and same and (has_steps(first) or np.array_equal(first.line, second.line))
    )


def _mean_of_agents(run: Run) -> tuple[Series, ...]:
    """What several agents earned on average, where each one's reward was logged by the same rows."""
    names = sorted(name for name in run.metrics.names if REWARD_OF_AGENT.fullmatch(name))
    parts = [series[0] for name in names[:MAX_PARTS] if (series := all_series(run, name))]
    if not parts or any(not same_rows(parts[0], part) for part in parts[1:]):
        return ()
    value = np.mean([part.value for part in parts], axis=0)
    return (replace(parts[0], metric="reward_mean", value=value, logged_as=_together(parts)),)


def earns_in_evaluations(name: str) -> bool:
    """Whether a name is that of what a policy earns where it is only evaluated.

    >>> earns_in_evaluations("eval/mean_reward"), earns_in_evaluations("eval_rewards/chosen"), earns_in_evaluations("reward")
    (True, False, False)
    """
    reading = read_name(name)
    return reading.whole and (reading.phase, reading.quantity) == ("eval", "reward_mean")


def _of_evaluations(run: Run) -> tuple[Series, ...]:
    """What a policy earns in its evaluations, where a log tells no other reward."""
    names = [name for name in run.metrics.names if earns_in_evaluations(name)]
    series = all_series(run, names[0]) if len(names) == 1 else ()
    return tuple(replace(one, metric="reward_mean") for one in series)


def players_points(run: Run) -> int:
    """Points of the losses of players against each other and of policies, which are no course of their own."""
    if not _has_players(run):
        return 0
    series = (
        all_series(run, name)
        for name in run.metrics.names
        if "loss" in "".join(words_of(name)) and _adversary(name)
    )
    return max((len(found[0]) for found in series if found), default=0)


def _norm_of_parts(run: Run) -> tuple[Series, ...]:
    """The norm of the whole gradient where only norms of its parts (layers, modules) were logged: it is their root of squares."""
    names = [n for n in run.metrics.names if _is_norm_of_part(n)]
    parts = [series[0] for name in names[:MAX_PARTS] if (series := all_series(run, name))]
    if not parts or len(parts[0]) < MIN_POINTS:
        return ()
    same = [part for part in parts if len(part) == len(parts[0]) and np.array_equal(part.step, parts[0].step)]
    with np.errstate(over="ignore"):  # norms that overflow are infinite, which is the truth
        norm = np.sqrt(np.sum([np.square(part.value) for part in same], axis=0))
    logged = same[0].logged_as + (f" and {len(same) - 1} more" if len(same) > 1 else "")
    return (replace(same[0], metric="grad_norm", value=norm, logged_as=logged),)


def _is_norm_of_part(name: str) -> bool:
    reading = read_name(name)
    return (
        reading.quantity == "grad_norm"
        and not (reading.whole or reading.setting)
        and reading.phase in {"", "train"}
        and not _adversary(name)
    )


MAX_PARTS = 2_000
"""Norms of layers that are added up; the largest real log of the survey has fewer."""
