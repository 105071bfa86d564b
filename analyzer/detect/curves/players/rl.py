"""Reinforcement learning: where rewards and divergences go, and whether rollout engine and trainer agree.

A loss of zero, a rising value loss and an explained variance that is no number are ordinary here, so no fact
is made of them.
"""

from __future__ import annotations

import math

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, number, refs_at, truth
from analyzer.detect.curve import without_fillers
from analyzer.detect.curves.players.rl_course import earned_by_agent, trend
from analyzer.detect.robust import PARTS, longest_run, noise, part_medians, uncertainty
from analyzer.model.arrays import Values
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.tables import Series

MIN_POINTS = 2 * PARTS
"""Two points a fifth: the least of which a level can be told."""

FEW_ROWS = 2
"""Two rows tell what is exactly so in both: no reward differs, or no gradient is above 0."""

NEGATIVE, NEGATIVE_ROWS = -0.1, 5
"""Around zero the estimate scatters to both sides by hundredths; five rows in a row below are no scatter."""

EXPLODED_RATIO = 100.0
"""What the msprobe debugging guide calls an explosion: a rise by a factor of a hundred."""

EARLY_FLOOR = 0.01
"""Divergences begin at exactly zero, because policy and reference are equal: any later value is infinitely larger."""

_OF_CODES = word_set("recon rec reconstruction elbo vae vq")
"""Words of a model that encodes and decodes; it has no policy."""

USUAL_KL, USUAL_APPROX_KL = 10.0, 1.0
"""Per token a divergence beyond 10 nats is another model; of one update, PPO's target is about 0.02."""

KL_OF_COLLAPSE = 1.0
"""A policy that repeats itself cannot be further from its reference than the entropy of that: a few nats."""

COLLAPSED = 0.1
"""A tenth of the starting entropy: exploration is over, whatever the vocabulary."""

WELL_BELOW = 0.1
"""Held-out scores scatter by some percent; a tenth below the best level is no scatter."""

GAP_LIMITS: tuple[tuple[str, float], ...] = (
    ("rollout_probs_diff_mean", 0.05),
    ("rollout_train_prob_diff_mean", 0.05),
    ("sampling_logp_difference/mean", 0.1),
    ("rollout_logprob_abs_diff", 0.1),
    ("vllm_vs_local_logprob_diff_mean", 0.1),
    ("mismatch_kl", 0.1),
    ("mismatch_kl/mean", 0.1),
    ("rollout_corr/kl", 0.1),
    ("rollout_corr/k3_kl", 0.1),
    ("gen_kl_error", 0.1),
    ("token_mult_prob_error", 1.1),
)
"""Ends of metric names and the level at which they are large: healthy bf16 runs print about a tenth of it."""

RATIO_NAMES = (
    "importance_sampling_ratio/mean",
    "rollout_is_mean",
    "mismatch_ppl_ratio",
    "rollout_corr/ppl_ratio",
)
CORRELATION_NAMES = ("rollout_actor_probs_pearson_corr",)
LOWEST_CORRELATION = 0.95
"""Engines that agree correlate above 0.99."""

_SCORES = ("reward", "score", "acc", "success", "pass@", "mean@", "win_rate", "return")
_EARNED = word_set("reward rewards return returns")
_MEANT = word_set("gold oracle")
"""What is meant to rise, beside the proxy that is trained on."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.rl.*`` and ``config.rl.*``."""
    _settings(view, out.below("config.rl."))
    out = out.below("signal.rl.")
    _negative(view, out)
    _explosion(view, out)
    _policy(view, out)
    _rewards(view, out)
    _engines(view, out)


def _settings(view: RunView, out: FactWriter) -> None:
    plain = {
        "rl.top_k": (0.0, -1.0),
        "rl.top_p": (1.0,),
        "rl.temperature": (1.0,),
        "rl.min_length": (0.0, -1.0),
    }
    known = [
        (entry, value in allowed)
        for key, allowed in plain.items()
        if (entry := view.config(key)) is not None and (value := number(entry.value)) is not None
    ]
    if known:
        filtered = [entry.ref for entry, is_plain in known if not is_plain]
        out.put("sampling_filtered", bool(filtered), filtered or [known[0][0].ref])
    for name, key in (("kl_weight", "rl.kl_weight"), ("inner_epochs", "rl.inner_epochs")):
        entry = view.config(key)
        value = None if entry is None else number(entry.value)
        if entry is not None and value is not None:
            out.put(name, int(value) if name == "inner_epochs" else value, [entry.ref])
    engine = view.config("rl.engine")
    if engine is not None:
        said = truth(engine.value)
        word = str(engine.value).lower()
        separate = (
            said if said is not None else (True if word in {"vllm", "sglang"} else word != "hf" and None)
        )
        out.put("separate_engine", separate, [engine.ref])


def _negative(view: RunView, out: FactWriter) -> None:
    series = view.finite("kl", NEGATIVE_ROWS)
    if series is None:
        return
    below = series.value < 0.0
    deep = float(median_of(series.value[below])) <= NEGATIVE if below.any() else False
    lasting = longest_run(below) >= NEGATIVE_ROWS and deep
    rows = np.flatnonzero(below)
    refs = refs_at(series, rows) or refs_at(series, [0])
    out.put("kl_negative", lasting, refs)
    if lasting:
        out.put("kl_negative_from_start", bool((series.value[:NEGATIVE_ROWS] <= NEGATIVE).any()), refs)
    out.put("kl_last", float(median_of(series.value[-NEGATIVE_ROWS:])), end_of(series))


def _explosion(view: RunView, out: FactWriter) -> None:
    """A divergence that ends far beyond its early level; single spikes, which the estimators know, do not count."""
    if not _OF_CODES.isdisjoint(word for name in view.run.metrics.names for word in words_of(name)):
        return  # that of a latent code from its prior, which has a size
    verdicts = []
    from_reference = KL_OF_COLLAPSE if _entropy_collapsed(view) else USUAL_KL
    for name, usual in (("kl", from_reference), ("approx_kl", USUAL_APPROX_KL)):
        series = view.finite(name, MIN_POINTS)
        if series is None:
            continue
        values = series.value
        early = max(float(np.abs(values[: max(values.size // PARTS, 3)]).min()), EARLY_FLOOR)
        limit = max(EXPLODED_RATIO * early, usual)
        end = float(median_of(values[-3:]))
        verdicts.append(end >= limit)
        if end >= limit:
            row = int(np.flatnonzero(values >= limit)[0])
            out.put("kl_exploded", value=True, refs=refs_at(series, [row, len(series) - 1]))
            out.put("kl_explosion_step", series.step_at(row), refs_at(series, [row]))
            return
    if verdicts:
        out.put("kl_exploded", value=False)


def _entropy(view: RunView) -> Series | None:
    return without_fillers(view.finite("entropy", MIN_POINTS))


def _entropy_collapsed(view: RunView) -> bool | None:
    """Whether the entropy ends below a tenth of its first values; a policy may collapse within a few rows."""
    entropy = view.once(_entropy)
    if entropy is None:
        return None
    values = np.abs(entropy.value)
    first = float(values[:3].max())
    return first > 0 and float(part_medians(values)[-1]) <= COLLAPSED * first


def _policy(view: RunView, out: FactWriter) -> None:
    clip = view.finite("clip_fraction", MIN_POINTS)
    if clip is not None:
        out.put("clip_fraction_last", float(part_medians(clip.value)[-1]), end_of(clip))
    entropy = view.once(_entropy)
    if entropy is not None:
        out.put("entropy_collapsed", _entropy_collapsed(view), ends_of(entropy))
    length = view.finite("completion_length_mean", MIN_POINTS)
    if length is not None:
        medians = part_medians(length.value)
        if float(medians[0]) > 0:
            ratio = float(medians[-1]) / float(medians[0])
            out.put("length_ratio", ratio, ends_of(length))
    clipped = view.finite("completion_clipped_share", MIN_POINTS)
    if clipped is not None:
        out.put("clipped_share_last", float(part_medians(clipped.value)[-1]), end_of(clipped))


def _rewards(view: RunView, out: FactWriter) -> None:
    series = view.finite("reward_mean", MIN_POINTS)
    rises = None if series is None else trend(series.value) > 0
    if series is not None:
        medians = part_medians(series.value)
        refs = ends_of(series)
        out.put("reward_points", len(series), refs)
        out.put("reward_first", float(medians[0]), refs[1:])
        out.put("reward_last", float(medians[-1]), refs[:1])
        out.put("reward_rises", rises, refs)
        out.put("reward_falls", trend(series.value) < 0 and _well_below_best(medians), refs)
        level = abs(float(median_of(series.value)))
        out.put("reward_erratic", level > 0 and noise(series.value) > level, refs)
    if rises:
        _part_falls(view, out)
        _held_out(view, out, agent=series is not None and earned_by_agent(view, series) is True)
    _no_signal(view, series, out)


def _well_below_best(medians: Values) -> bool:
    """Whether the end has lost at least a third of what was gained, so more than the wear of a long plateau."""
    span = float(medians.max() - medians.min())
    return span > 0 and float(medians.max() - medians[-1]) >= span / 3.0


def _part_falls(view: RunView, out: FactWriter) -> None:
    parts = [
        name
        for name in view.run.metrics.names
        if name.startswith("rewards/")
        and (name.endswith("/mean") or name.count("/") == 1)
        and not name.endswith("/std")
    ]
    curves = [curve for name in parts if (curve := view.finite(name, MIN_POINTS)) is not None]
    if len(curves) < 2:
        return
    falling = [c for c in curves if trend(c.value) < 0 and _well_below_best(part_medians(c.value))]
    shown = falling or curves
    out.put("reward_part_falls", bool(falling), ends_of(shown[0]))


def _held_out(view: RunView, out: FactWriter, *, agent: bool) -> None:
    """Held-out scores beside a rising reward. Four points are needed: two levels of two."""
    for name in view.run.metrics.names:
        words = set(words_of(name))
        meant = bool(words & _MEANT)
        if not (meant or name.startswith(("eval", "val", "test"))) or "std" in name:
            continue
        if not meant and name != "eval_accuracy" and not any(word in name for word in _SCORES):
            continue
        series = view.finite(name, 4)
        if series is None:
            continue
        values, half = series.value, max(len(series) // 4, 2)
        best = max(float(median_of(values[i : i + 2])) for i in range(len(values) - 1))
        first, last = float(median_of(values[:half])), float(median_of(values[-half:]))
        falls = last < first and best - last >= WELL_BELOW * max(abs(best), 1e-6)
        refs = refs_at(series, [len(series) - 1, int(values.argmax())])
        if agent and words & _EARNED:
            # The same reward again, of other episodes: it tells nothing of whether the reward is the right one.
            out.put("eval_reward_falls", falls, refs)
            return
        out.put("eval_falls", falls, refs)
        out.put("eval_rises", last > first, refs)
        return


def _no_signal(view: RunView, reward: Series | None, out: FactWriter) -> None:
    """Whether no group ever holds two different rewards; only a spread that was logged can tell."""
    few = view.finite("frac_reward_zero_std", FEW_ROWS)
    # Of few rows only all of them tell: every group of every row without a difference, or none.
    exact = few is not None and (bool(np.all(few.value == 1.0)) or bool(np.all(few.value == 0.0)))
    shares = few if exact else view.finite("frac_reward_zero_std", MIN_POINTS)
    spread = view.finite("reward_std", MIN_POINTS)
    _gradient_lost(view, out)
    if shares is not None:
        out.put("no_reward_signal", bool((shares.value >= 0.999).mean() >= 0.95), end_of(shares))
    elif spread is not None and reward is not None and len(reward):
        nothing = bool(np.all(spread.value == 0.0)) and bool(np.all(reward.value == reward.value[0]))
        out.put("no_reward_signal", nothing, end_of(spread))


def _engines(view: RunView, out: FactWriter) -> None:
    for name in view.run.metrics.names:
        limit = next((limit for end, limit in GAP_LIMITS if name.endswith(end)), None)
        is_ratio, is_correlation = name.endswith(RATIO_NAMES), name.endswith(CORRELATION_NAMES)
        if limit is None and not is_ratio and not is_correlation:
            continue
        series = view.finite(name, MIN_POINTS)
        if series is None:
            continue
        values = _as_gap(series.value, is_ratio=is_ratio, is_correlation=is_correlation)
        bound = limit if limit is not None else (math.log(2.0) if is_ratio else 1.0 - LOWEST_CORRELATION)
        medians = part_medians(values)
        first, last = float(medians[0]), float(medians[-1])
        if is_ratio and last < bound:
            continue  # a ratio near 1 is an average in which differences cancel: it acquits nobody
        refs = ends_of(series)
        out.put("engine_gap_metric", series.logged_as, refs)
        out.put("engine_gap_large", last >= bound, refs)
        out.put("engine_gap_grows", last >= 3.0 * first and last - first > float(uncertainty(values)), refs)
        out.put("engine_gap_from_start", first >= bound, refs)
        if last >= bound:
            return


def _as_gap(values: Values, *, is_ratio: bool, is_correlation: bool) -> Values:
    """A ratio as the size of its logarithm, a correlation as what it lacks to 1; a gap as it is."""
    if is_ratio:
        return np.abs(np.log(np.clip(values, 1e-12, None)))
    return 1.0 - values if is_correlation else np.abs(values)


def _gradient_lost(view: RunView, out: FactWriter) -> None:
    """Whether rewards differ within the groups of every row and yet every gradient norm is exactly 0."""
    norm, spread = view.finite("grad_norm", FEW_ROWS), view.finite("reward_std", FEW_ROWS)
    shares = view.finite("frac_reward_zero_std", FEW_ROWS)
    if norm is None or spread is None:
        return
    differ = bool(np.all(spread.value > 0)) and (shares is None or bool(np.all(shares.value < 0.5)))
    out.put("gradient_lost", differ and bool(np.all(norm.value == 0.0)), ends_of(norm))
