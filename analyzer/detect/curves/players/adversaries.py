"""Two players of an adversarial training: whether the discriminator has won, so that the generator learns nothing.

Roles are read from the words of the names (``Loss_D``, ``gen_loss``, ``D(G(z))``, ``disc/acc``), whatever program wrote them.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, refs_at
from analyzer.detect.curve import take
from analyzer.model.name_words import JUDGES, MAKERS, word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series

_JUDGE_LOSS = word_set("dloss lossd errd dcost discloss")
_MAKER_LOSS = word_set("gloss lossg errg gcost genloss")
_LOSS = word_set("loss losses cost err error adv adversarial")
_NO_PART = word_set(
    "l1 l2 rec recon mel feat feature fm vgg perceptual percep cycle idt identity gp penalty r1 weight lr norm grad real fake"
)
"""Words of other parts of a player's loss, which may be small or large whoever wins."""

ROWS = 3
"""Rows of each player: batches scatter, and single ones are won by either side."""

WON, BEATEN, MOST = 0.06, 2.5, 200.0
"""A cross-entropy of 0.06 is an answer that is right at 94 %; a generator at 2.5 convinces the judge at 8 %.

Logarithms are clamped at -100 as a rule, and a few terms are added: what is larger is no cross-entropy."""

STANDS = 5
"""Rows that repeat one number in all its digits: a logarithm at its bound, of which no gradient is left."""

LATE_ROWS = 50
"""Rows of which the last fifth tells a level."""

FEW = 2
"""Rows that tell of a judge whose loss is nothing (``WON_IN_BOTH``) in each of them."""

SURE = 0.97
"""Share of right answers, or of belief in real samples, of a judge that is never fooled."""

SQUARED = (0.9, 1.25)
"""With squared errors a generator that never convinces costs 1; one that still convinces a little is at 0.85 in many sound cycles."""

SQUARED_WON = 0.02

WON_IN_BOTH = 1e-3
"""Both the part for real and the part for made samples at a thousandth: right at 99.9 %, whatever the weights of the maker."""


_OPPONENTS = JUDGES | word_set("domain transfer adv adversarial adversary confusion dann")
"""Words of a part of the loss by which features are made alike: who tells them apart is meant to lose, so that part may rise."""

ALL_OF_IT = 0.9
"""Nine tenths of a rise: what is left of it is the scatter of the other parts."""

REGAINED = 0.1
"""A tenth of the loss at its best: a rise that is worth asking about."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.gan.*``."""
    _opponent_regains(view, out)
    judges, makers = _players(view, JUDGES, _JUDGE_LOSS), _players(view, MAKERS, _MAKER_LOSS)
    judge, maker = _first(judges), _first(makers)
    belief, halves = _belief(view), _halves(view)
    if judge is None and belief is None and not halves:
        return
    verdicts: list[bool] = []
    if judge is None and halves:
        crushed = _won_in_halves(halves, maker)
        refs = [ref for half in halves for ref in end_of(half)]
        out.put("judge_loss", sum(_level(half) for half in halves), refs)
        out.put("won_by_loss", crushed, refs)
        verdicts.append(crushed)
    games = [
        (judges[of], makers[of]) for of in judges if of in makers
    ]  # CycleGAN plays two: D_A, G_A and D_B, G_B
    if not games and judge is not None and maker is not None:
        games = [(judge, maker)]
    verdicts += _by_losses(games, out)
    if belief is not None:
        sure, refs = belief
        out.put("never_fooled", sure, refs)
        verdicts.append(sure and (maker is None or _level(maker) >= BEATEN or float(maker.value.min()) < 0))
    if verdicts:
        out.put("discriminator_won", any(verdicts))


def _opponent_regains(view: RunView, out: FactWriter) -> None:
    """Whether all that the loss rose since its best is the part of an opponent, who ends no further from a guess than he began."""
    whole = view.finite("loss", ROWS)
    if whole is None:
        return
    for name in sorted(view.run.metrics.names):
        part = view.finite(name, ROWS) if not _OPPONENTS.isdisjoint(words_of(name)) else None
        if part is None or "loss" not in words_of(name) or len(part) != len(whole):
            continue
        low, end = int(whole.value.argmin()), slice(-ROWS, None)
        rise, rise_of_part = (
            float(median_of(each.value[end])) - float(each.value[low]) for each in (whole, part)
        )
        if (part.value > whole.value).any() or rise < REGAINED * float(whole.value[low]):
            continue
        regains = rise_of_part >= ALL_OF_IT * rise and float(part.value[end].max()) <= float(part.value[0])
        out.put("opponent_regains", bool(regains), [*refs_at(part, [low]), *end_of(part)])
        return


def plays(view: RunView) -> bool:
    """Whether the losses of both players are logged: each follows the other, so none has a course of its own."""
    return None not in losses_of_players(view)


def losses_of_players(view: RunView) -> tuple[Series | None, Series | None]:
    """The loss of the judge and that of the maker, None for one that is not logged."""
    return _first(_players(view, JUDGES, _JUDGE_LOSS)), _first(_players(view, MAKERS, _MAKER_LOSS))


def _level(series: Series) -> float:
    """Level of the second half."""
    return float(median_of(series.value[-max(len(series) // 2, ROWS) :]))


def _late(series: Series) -> float:
    """Level of the last fifth: a judge may win late."""
    return float(median_of(series.value[-(len(series) // 5) :]))


def _stands(series: Series) -> bool:
    """Whether the last tenth repeats one number, as a cross-entropy at the bound of its logarithm does."""
    end = series.value[-(len(series) // 10) :]
    return end.size >= ROWS and bool(np.ptp(end) == 0.0)


def _won_in_halves(halves: tuple[Series, ...], maker: Series | None) -> bool:
    """Whether a judge whose loss is logged in two parts has won: both are nothing, or the loss of the maker says so beside their sum."""
    if any(float(half.value.min()) < 0 for half in halves):
        return False
    levels = [_level(half) for half in halves]
    beaten = maker is not None and _is_won(sum(levels), _level(maker))
    return beaten or max(levels) <= WON_IN_BOTH


def _is_won(cost: float, answer: float) -> bool:
    """Whether the losses of a judge and of a maker, cross-entropies or squared errors, are those of a game that is over."""
    crushed = cost <= WON and BEATEN <= answer <= MOST
    return crushed or (cost <= SQUARED_WON and SQUARED[0] <= answer <= SQUARED[1])


def _by_losses(games: list[tuple[Series, Series]], out: FactWriter) -> list[bool]:
    """Of each game whether its judge has won by the losses of both; the facts tell of a won one, else of the first."""
    verdicts: list[bool] = []
    for judge, maker in games:
        if min(len(judge), len(maker)) < ROWS and float(judge.value.max()) > WON_IN_BOTH:
            continue
        still = _stands(judge) and _stands(maker)  # what was won before both stood still is not won back
        cost, answer = (
            _level(take(each, slice(0, len(each) // 2)) if still else each) for each in (judge, maker)
        )
        bounded = float(judge.value.min()) >= 0  # critics of Wasserstein losses have no such bound
        if cost > WON and min(len(judge), len(maker)) >= LATE_ROWS and not still:
            cost, answer = _late(judge), _late(maker)
        won = bounded and _is_won(cost, answer)
        if not verdicts or (won and not any(verdicts)):
            refs = [*end_of(judge), *end_of(maker)]
            out.put("judge_loss", cost, refs)
            out.put("maker_loss", answer, refs)
            if bounded:
                out.put("won_by_loss", won, refs)
            if won and len(maker) >= STANDS and float(np.ptp(maker.value)) == 0.0:
                out.put("maker_stands", value=True, refs=refs)
        if bounded:
            verdicts.append(won)
    return verdicts


def _players(view: RunView, roles: frozenset[str], fused: frozenset[str]) -> dict[frozenset[str], Series]:
    """The losses of the players of one side by what else their names say, those with the fewest further words first."""
    found: list[tuple[int, str, frozenset[str]]] = []
    for name in view.run.metrics.names:
        words = frozenset(words_of(name))
        lost = words & fused or (words & roles and words & _LOSS)
        if lost and not words & _NO_PART:
            found.append((len(words), name, words - fused - roles - _LOSS))
    players: dict[frozenset[str], Series] = {}
    for _, name, of in sorted(found, key=lambda player: player[:2]):
        if of not in players and (series := view.finite(name, FEW)) is not None:
            players[of] = series
    return players


def _first(players: dict[frozenset[str], Series]) -> Series | None:
    return next(iter(players.values()), None)


def _halves(view: RunView) -> tuple[Series, ...]:
    """The judge's loss on real and on made samples, where its sum is not logged."""
    found: dict[str, Series] = {}
    for name in sorted(view.run.metrics.names):
        words = frozenset(words_of(name))
        kind = next(iter(words & {"real", "fake"}), "")
        # ``d_real`` may be a logit, which has both signs, or a belief; beliefs lie apart while a judge wins, and both near 0 only where it is lost.
        costs = words & (_LOSS | {"l"}) or len(words) == 2
        if kind and words & JUDGES and costs and not words & (_NO_PART - {"real", "fake"}):
            series = view.finite(name, ROWS)
            if series is not None and (len(words) > 2 or float(series.value.min()) >= 0):
                found.setdefault(kind, series)
    return tuple(found.values()) if len(found) > 1 else ()


def _belief(view: RunView) -> tuple[bool, list[SourceRef]] | None:
    """Whether the judge is never fooled: by its accuracy, or by its belief in real and in made samples."""
    real = made = None
    for name in sorted(view.run.metrics.names):
        words = words_of(name)
        if not words or words[0] not in JUDGES or _LOSS & set(words):
            continue
        series = view.finite(name, ROWS)
        if series is None:
            continue
        top = float(series.value.max())
        if top > 100 or float(series.value.min()) < 0:
            continue
        level = _level(series) / (100.0 if top > 1.5 else 1.0)
        if {"acc", "accuracy"} & set(words):
            return level >= SURE, end_of(series)
        if "g" in words or "fake" in words:
            made = (level, series)
        elif "x" in words or "real" in words:
            real = (level, series)
    if real is None or made is None:
        return None
    return real[0] >= SURE and made[0] <= 1 - SURE, [*end_of(real[1]), *end_of(made[1])]
