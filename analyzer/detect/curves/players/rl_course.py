"""Policies over few rows: rewards that never differ or are lost again, exploration that ends, values that run away.

Claims of ``rl`` compare fifths of a long log; what is exactly so, or so by a factor of ten, shows in a handful of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, event_refs, refs_at
from analyzer.detect.curve import has_steps, without_fillers
from analyzer.detect.curves.heldout.scores import Score, scores_of
from analyzer.detect.curves.trend import scatter
from analyzer.detect.robust import PARTS, part_medians, uncertainty
from analyzer.detect.setup.ended import progress_of
from analyzer.detect.setup.run_course import reward_metrics
from analyzer.model.arrays import Values
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import median_of, row_medians
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series

SAME_ROWS, ROWS = 4, 3
"""Four mean rewards of an untrained policy that agree in every digit: no episode differs from another."""

LOST = 0.5
"""Half of the range between the worst and the best reward lost again, which no two evaluations of one policy differ by."""

OF_RANGE = 0.3
"""Of the range between the worst and the best reward, missing in each of the last three rows: the best policy was not kept."""

LEVELS, LEVELS_OF = 20, 40
"""Rewards of a long log are judged by the medians of twentieths, two rows and more each."""

END_LEVELS = 7
"""The last third of them: what was lost and regained before is over."""

OF_LEVEL = 0.2
"""A fifth of the highest level: rewards that never moved that far have neither been gained nor lost."""

HARDLY = 0.05
"""A twentieth of the highest reward: what never moved that far in a few rows was not lost either."""

OF_GAIN = 0.2
"""A fifth of what was gained, missing at each level of the last third: better policies were found and not kept."""

STANDS, STANDS_ROWS, STRAYED = 0.15, 50, 2
"""Fifty rows within fifteen percent of one level, the first ones among them, but for a tenth: nothing was gained."""

FEW, AT_BOTH_ENDS = 5, 0.1
"""Five rows within fifteen percent of one level, from the first and the last tenth of all planned steps, tell of what lies between."""

GROWN = 10.0
"""A value loss ten times its early level follows targets that run away; rewards that grow raise it by their square."""

OVER_TARGET, CLIPPED, FAR_OVER = 0.1, 0.3, 1.0
"""Five times the usual target of 0.02 for one update, with three of ten samples clipped; fifty times it needs no second row."""

AWAY, AWAY_FROM = 10.0, 0.02
"""A divergence of ten times its first value; below two hundredths it is the noise of equal policies."""

UNMOVED_KL, UNMOVED_ENTROPY = 1e-4, 0.02
"""A two-hundredth of the usual target in most updates, not one sample clipped in any, and an entropy within two hundredths of its first."""

CUT_SHORT, MOSTLY = 5, 0.8
"""Five updates and more that a limit of the divergence ended, four of five of them before the second step: the first step alone goes too far."""

BEYOND = 1e3
"""Nats between a policy and its reference over one answer; what still writes like its reference stays below a hundred."""

SOLVED = 0.9
"""Of a success rate in shares of one."""

SUCCESS_ROWS, SUCCEEDED, SELDOM, AT_CEILING = 10, 0.2, 0.05, 0.95
"""Ten rates of success of which a third had a fifth and more; a twentieth of that at the end is gone. What succeeds in 19 of 20 cases has
nothing to gain, whatever its value function still learns."""

EXPLAINS_ROWS, EXPLAINS = 20, 0.1
"""A tenth of the variance of the returns, in no tenth of twenty updates and more: no critic that learned anything explains so little."""

NONE = 1e-3
"""A thousandth of a nat in every row: exploration was over before the first row."""

COLLAPSED, DECIDED = 0.1, 0.02
"""A tenth of the first entropy, or two hundredths of a nat: the same action in 99 of 100 states."""

IDLE_ROWS = 8
"""Rows in which a reward function pays nothing at all, so that it is no accident of a few prompts."""

_VALUES = word_set("value vf critic q qf qf1 qf2 td baseline")
_OF_TARGETS = word_set("td qf qf1 qf2")
_ENTROPY = word_set("entropy ent")
_SUCCESS = word_set("success win won")
_OF_EPISODES = word_set("episode episodes episodic ep return returns ret")
_OF_ANSWERS = word_set("completion_length_mean completion_clipped_share frac_reward_zero_std reward_std kl")


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.policy.*``."""
    _cut_short(out, view)
    if not reward_metrics(view):
        of_values = [name for name in view.run.metrics.names if _is_value_loss(name)]
        if any(set(words_of(name)) & _OF_TARGETS for name in of_values):
            _values(out, view)  # no reward was printed, and yet only an agent has such a loss
        if of_values:
            _entropy(out, view)
        return
    _reward(out, view)
    _success(out, view)
    _explains(out, view)
    _trust(out, view)
    _unmoved(out, view)
    _entropy(out, view)
    _values(out, view)
    _parts(out, view)


def earned_by_agent(view: RunView, reward: Series) -> bool | None:
    """Whether a world paid the reward to an agent, and no model judged answers; None if no name tells."""
    if any(name in _OF_ANSWERS or name.startswith("rewards/") for name in view.run.metrics.names):
        return False
    return True if set(words_of(reward.logged_as)) & _OF_EPISODES else None


def _reward(out: FactWriter, view: RunView) -> None:
    series = view.finite("reward_mean", ROWS)
    if series is None:
        return
    values, refs = series.value, ends_of(series)
    out.put("reward_points", len(series), refs)
    best, last = _best(values), float(median_of(values[-_window(values) if values.size > 10 else -2 :]))
    at_best = refs_at(series, [int(values.argmax())])
    out.put("reward_best", best, at_best)
    out.put("reward_end", last, refs)
    if values.size >= SAME_ROWS:
        same = bool((values == values[0]).all()) and float(values[0]) < SOLVED
        out.put("reward_same", same, refs)
    span = float(values.max() - values.min())
    early = float(median_of(values[: max(values.size // 5, 1)]))
    out.put("reward_climbs", last - early > scatter(values) and best - last <= LOST / 3 * span, refs)
    lost = best - last >= LOST * span and last < early and best - last > 3 * scatter(values)
    moved = span > 0 and span >= HARDLY * float(np.abs(values).max())
    out.put("reward_lost", bool(moved and lost), [*refs, *at_best])
    if values.size < LEVELS_OF:
        missing = best - float(values[-ROWS:].max())
        short = missing >= OF_RANGE * span and missing > 3 * scatter(values)
        out.put("reward_ends_short", bool(moved and short), [*refs, *at_best])
    first = float(median_of(values[:ROWS]))
    gained = (
        last - first >= LOST * span and best - last <= LOST / 3 * span and last - first > 3 * scatter(values)
    )
    out.put("reward_gained", bool(values.size >= 2 * ROWS and gained), refs)
    late = values[values.size // 2 :]
    out.put("reward_at_most", bool(span > 0 and median_of(late) == values.max()), refs)
    of_agent = earned_by_agent(view, series)
    out.put("of_agent", of_agent, refs[:1])
    if values.size >= LEVELS_OF:
        _levels(out, values, refs, of_agent=of_agent is True)
    elif values.size >= FEW and _of_both_ends(view, series):
        level, start, end = median_of(values), values[: values.size // 2], values[-(values.size // 2) :]
        near = bool(np.abs(values - level).max() <= STANDS * abs(level)) and not SOLVED <= level <= 1.0
        out.put("reward_stands", near and bool(median_of(end) <= start.max()), refs)


def _of_both_ends(view: RunView, series: Series) -> bool:
    """Whether rows begin and end where the planned steps do."""
    progress = progress_of(view)
    if progress is None or not has_steps(series) or progress.unit != "steps" or progress.planned <= 0:
        return False
    first, last = (float(series.step[at]) / progress.planned for at in (0, -1))
    return first <= AT_BOTH_ENDS and last >= 1 - AT_BOTH_ENDS


def _levels(out: FactWriter, values: Values, refs: list[SourceRef], *, of_agent: bool) -> None:
    """Whether the level of a long log falls from its best again, or never leaves its first."""
    levels = np.array([float(median_of(part)) for part in np.array_split(values, LEVELS)])
    best = int(levels.argmax())
    won = float(levels[best] - levels[0])
    low = float(levels[max(best, LEVELS - END_LEVELS) :].min())
    # The highest of twenty levels of a reward that only scatters lies above the first one too.
    moved = won >= OF_LEVEL * float(np.abs(levels).max())
    ended = float(median_of(values[-3:]))
    fell = levels[best] - low >= LOST * won and levels[best] - ended >= LOST / 2 * won
    out.put("reward_slumps", bool(moved and won > 0 and fell), refs)
    short = float(levels[best] - median_of(levels[-END_LEVELS:])) >= LOST / 2 * won
    out.put("reward_short", bool(moved and won > 0 and short), refs)
    below = float(levels[best] - levels[-END_LEVELS:].max()) >= OF_GAIN * won
    out.put("reward_never_back", bool(moved and won > 0 and below), refs)
    if values.size >= STANDS_ROWS:
        level = float(median_of(levels))
        away = np.sort(np.abs(levels - level))[: LEVELS - STRAYED]
        # Medians of episodes that scatter widely differ, whatever the policy does.
        of_scatter = uncertainty(values) * float(np.sqrt(LEVELS / PARTS / 2))
        ends = abs(float(median_of(levels[:END_LEVELS]) - median_of(levels[-END_LEVELS:])))
        still = max(away[-1], abs(levels[0] - level), 2 * ends) <= max(STANDS * abs(level), of_scatter)
        solved = SOLVED <= level <= 1.0
        # A model that was trained before is paid well at once: what it gains is little beside its level.
        gains = not of_agent and trend(values) > 0
        out.put("reward_stands", bool(level != 0 and not solved and still and not gains), refs)


def trend(values: Values) -> int:
    """1 if the last fifth lies above the first by more than the scatter, -1 if below, else 0."""
    medians, margin = part_medians(values), uncertainty(values)
    change = float(medians[-1] - medians[0])
    return 0 if abs(change) <= max(margin, 1e-9) else int(math.copysign(1, change))


def _best(values: Values) -> float:
    """Best level: of a longer curve the best median of three neighbours, which one lucky episode does not make.

    Of a few rows the best one, but not the first: what stands there alone was never learned.
    """
    if values.size < 6:
        return float(values[1:].max())
    rows = np.lib.stride_tricks.sliding_window_view(values, _window(values))[:: _window(values) // 3]
    return float(row_medians(rows).max())


def _window(values: Values) -> int:
    """Neighbours that make one level: three, of a long log a twentieth, for among thousands of threes some are all lucky."""
    return max(values.size // LEVELS, 3) if values.size >= LEVELS_OF else 3


def _trust(out: FactWriter, view: RunView) -> None:
    """Whether updates leave the region in which they are valid, and whether the policy leaves its reference."""
    update, clipped = view.finite("approx_kl", 1), view.finite("clip_fraction", 1)
    if update is not None:
        far = float(median_of(update.value)) >= (OVER_TARGET if len(update) > 1 else FAR_OVER)
        cut = clipped is not None and float(median_of(clipped.value)) >= CLIPPED
        out.put("beyond_trust", far and cut, end_of(update))
    away = view.finite("kl", 1)
    for series, limit in ((update, FAR_OVER), (away, BEYOND)):
        if series is not None and float(median_of(series.value)) >= limit:
            out.put("kl_far", value=True, refs=end_of(series))
    if away is not None and len(away) > 1:
        first, last = abs(float(away.value[0])), float(away.value[-1])
        out.put("kl_grows", last >= AWAY_FROM and last >= AWAY * first, ends_of(away))


def _cut_short(out: FactWriter, view: RunView) -> None:
    """Whether the limit of the divergence ends updates before they have begun."""
    cut_short = view.events("update_cut_short")
    if len(cut_short) >= CUT_SHORT:
        at_once = sum(event.fields.get("at") == 0 for event in cut_short)
        refs = event_refs([cut_short[0], cut_short[-1]])
        out.put("cut_at_once", at_once >= MOSTLY * len(cut_short), refs)


def _unmoved(out: FactWriter, view: RunView) -> None:
    """Whether no update moves the policy: none is clipped, divergence is next to nothing, and entropy stays as it was."""
    update, clipped = view.finite("approx_kl", IDLE_ROWS), view.finite("clip_fraction", IDLE_ROWS)
    entropy = next(_entropies(view, IDLE_ROWS), None)
    if update is None or clipped is None or entropy is None:
        return
    level = np.abs(entropy.value)
    first = float(level[0])
    idle = not clipped.value.any() and float(median_of(np.abs(update.value))) < UNMOVED_KL
    stays = first > DECIDED and float(np.abs(level - first).max()) <= UNMOVED_ENTROPY * first
    out.put("unmoved", bool(idle and stays), [*end_of(clipped), *end_of(update), *end_of(entropy)])


def _entropies(view: RunView, least: int) -> Iterator[Series]:
    """Entropies of a policy with so many finite rows."""
    for name in sorted(view.run.metrics.names):
        words = set(words_of(name))
        if words & _ENTROPY and not words & {"coef", "coefficient", "alpha", "cross", "target"}:
            series = without_fillers(view.finite(name, least))
            if series is not None:
                yield series


def _entropy(out: FactWriter, view: RunView) -> None:
    for series in _entropies(view, 1):
        values = np.abs(series.value)
        if len(series) < ROWS:
            out.put("entropy_none", float(values.max()) <= NONE, end_of(series))
            continue
        first, last = float(values[: max(values.size // 5, 1)].max()), float(median_of(values[-2:]))
        gone = float(values.max()) <= NONE or (first > DECIDED and last <= max(COLLAPSED * first, DECIDED))
        out.put("entropy_gone", gone, ends_of(series))
        reward = view.finite("reward_mean", LEVELS_OF)
        soon = float(median_of(values[len(series) // 4 : len(series) // 3 + 1])) <= max(
            COLLAPSED * first, DECIDED
        )
        told = reward is not None and len(series) >= LEVELS_OF
        early = bool(gone and soon and told and reward is not None and not _rose_since(reward.value))
        out.put("narrowed_early", early, refs_at(series, [len(series) // 3, len(series) - 1]))
        return


def _rose_since(values: Values) -> bool:
    """Whether the reward rose after the first third of a log, or there was nothing more to be gained."""
    levels = np.array([float(median_of(part)) for part in np.array_split(values, LEVELS)])
    then, now = float(median_of(levels[4:END_LEVELS])), float(median_of(levels[-END_LEVELS:]))
    most = bool(median_of(values[values.size // 2 :]) == values.max()) or SOLVED <= now <= 1.0
    return most or now - then > OF_LEVEL * float(np.ptp(levels))


def _values(out: FactWriter, view: RunView) -> None:
    """Whether the loss of a value function grows tenfold; without one of its own, the loss of the run (Q-learning)."""
    names = sorted(n for n in view.run.metrics.names if _is_value_loss(n))
    policy = any({"policy", "actor", "pg", "surrogate"} & set(words_of(n)) for n in view.run.metrics.names)
    for name in [*names, *([] if policy else ["loss"])]:
        series = view.finite(name, 2 * ROWS)
        if series is None or float(series.value.min()) < 0:
            continue
        third = max(len(series) // 3, 2)
        early, late = float(median_of(series.value[:third])), float(median_of(series.value[-third:]))
        huge = late >= 1e4 and late >= 1.5 * early  # squared errors of targets that are in the hundreds
        solved = any(
            float(median_of(s.values[-s.values.size // 3 :])) >= AT_CEILING for s in _rates_of_success(view)
        )
        grew = early > 0 and (late >= GROWN * early or huge)
        out.put("value_runs_away", grew and not solved, ends_of(series))
        return


def _rates_of_success(view: RunView) -> list[Score]:
    """Rates of success or of games won, in rows enough."""
    return [s for s in view.once(scores_of) if s.reading.kind & _SUCCESS and len(s.series) >= SUCCESS_ROWS]


def _success(out: FactWriter, view: RunView) -> None:
    """Whether what had succeeded now and then hardly ever does at the end, whatever the reward says."""
    for score in _rates_of_success(view):
        levels = [float(median_of(part)) for part in np.array_split(score.values, 3)]
        late = float(median_of(score.values[-max(score.values.size // 5, ROWS) :]))
        lost = max(levels) >= SUCCEEDED and late <= SELDOM * max(levels)
        out.put("success_lost", lost, ends_of(score.series))
        if lost:
            out.put("success_name", score.series.logged_as, end_of(score.series))
            return


def _explains(out: FactWriter, view: RunView) -> None:
    """Whether a value function never explains anything of the returns."""
    known = view.finite("explained_variance", EXPLAINS_ROWS)
    if known is not None:
        levels = [float(median_of(part)) for part in np.array_split(known.value, 10)]
        out.put("value_explains_nothing", max(levels) < EXPLAINS, ends_of(known))


def _is_value_loss(name: str) -> bool:
    words = set(words_of(name))
    return bool(
        words & _VALUES and words & {"loss", "error", "mse"} and not words & {"policy", "coef", "clip"}
    )


def _parts(out: FactWriter, view: RunView) -> None:
    """Whether one reward function pays ever less while another pays ever more, row by row, or nothing while another pays."""
    parts = [
        n for n in view.run.metrics.names if n.startswith(("rewards/", "reward/")) and not n.endswith("/std")
    ]
    curves = [c for n in parts if (c := view.finite(n, ROWS)) is not None]
    down = [
        c
        for c in curves
        if bool((np.diff(c.value) < 0).all()) and float(c.value[-1]) <= LOST * float(c.value[0])
    ]
    up = [c for c in curves if bool((np.diff(c.value) > 0).all())]
    if len(curves) >= 2:
        shown = (down or curves)[0]
        out.put("part_falls", bool(down and up), ends_of(shown))
        idle = [c for c in curves if len(c) >= IDLE_ROWS and not c.value.any()]
        if idle and len(idle) < len(curves):
            out.put("part_never_earned", value=True, refs=ends_of(idle[0]))
            out.put("part_never_earned_name", idle[0].logged_as, refs_at(idle[0], [0]))
