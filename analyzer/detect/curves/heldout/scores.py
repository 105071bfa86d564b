"""Task scores against the loss: scores that never move, that stay at 0, that fall, or that hold for training data only.

Which series is a score, and in which direction it is better, is read from the words of its name (``score_words``), so
that the scores of any trainer count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at
from analyzer.detect.curves.numerics.metric_values import PERCENT, SHARE, small_percentages
from analyzer.detect.curves.progress import held_out_trend, loss_trend
from analyzer.detect.curves.trend import trend
from analyzer.model import score_words
from analyzer.model.arrays import Values
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.score_words import GENERAL, OF_BOXES, OVERLAP, SHARE_OF_ALL, ScoreReading, read_score
from analyzer.model.tables import Series
from analyzer.record import NamedTuple

ROWS, FROZEN_ROWS = 2, 3
"""Two rows tell a score of exactly 0, three that it never moves or that a rare class is never found."""

DIGITS = 3
"""Equal scores of fewer digits may be an accident of a small held-out set."""

STILL_ROWS, STILL_DIGITS = 10, 5
"""So many evaluations that agree in all of so many digits answer every sample alike, whatever is still learned."""

HIGH = 0.9
"""A score that stands this high may stand because all is learned."""

OUTLINE, BOXES = word_set("dice dsc dc iou miou jaccard js"), word_set("map map50 ap ap50")
HARDLY, HARDLY_ROWS, HARDLY_EVER = 0.15, 4, 0.25
"""Overlap of an outline at the end of four evaluations or more that says that next to nothing is found, and what it never
exceeded: the Dice loss, which is often called by the same name, begins near one."""

HARDLY_ANY = 0.05
"""Average precision that a detector that found its objects exceeded at least once, on hard data too."""

SINGLE_OF, SINGLE_OF_MORE, PRINTED = range(2, 9), range(2, 26), 1e-4
"""Numbers of classes for which a mean overlap can be told to be that of one class, and half the last printed digit: with more
classes some number fits by chance, with more than two dozen even where neither score moves."""

NOTHING = 0.01
"""One in a hundred: what a class that is hardly ever found scores."""

MOSTLY = 0.6
"""Six answers of ten right: naming one of two classes of equal size reaches a half and its scatter, a majority more."""

FALLS = 0.1
"""A tenth of the first loss gone: something is being learned."""

APART, KNOWN, APART_AT_ONE, BY_HEART = 0.2, 0.5, 0.15, 0.97
"""A fifth of the scale between training and held-out score, while training scores a half or more; fifteen points where it is right nearly always."""

RISEN, STOOD, LEFT_BEHIND = 0.15, 0.03, 0.08
"""Training gains fifteen points, held-out data less than three, and eight points lie between them at the end."""

FOLLOWED = 0.5
"""Half of what training gained: a pretrained model learns most of it in the first epochs, on both."""

FORGOTTEN = 0.4
"""Four tenths of the best score lost for good while another score is gained: one task is learned at the cost of another."""

GENERAL_ROWS, GENERAL_LOST = 3, 0.15
"""Three evaluations; a public test differs by some hundredths from one checkpoint to the next, not by a seventh of its value."""

TURN_ROWS, SINCE_BEST, BELOW_BEST, LOSS_LEFT = 10, 0.25, 0.95, 0.8
"""Ten evaluations; a quarter of them since the best, four and more, all below 95 % of it while training loss lost a fifth."""

MORE_ERRORS, POINTS = 1.5, 0.02
"""Half as many errors again, and two of a hundred answers: what no row of a quarter of the run differs by for its scatter."""

NO_WORDS_YET = 4.0
"""Nats a token, a guess among fifty: whole phrases, which BLEU and its kin count, come right later."""

_OF_PHRASES = frozenset(
    {"bleu", "bleu4", "sacrebleu", "chrf", "rouge", "rouge1", "rouge2", "rougel", "meteor", "cider", "spice"}
)

ERRORS = frozenset({"err", "error", "errors", "errorrate"})

GUESS_OF_RANKS = 0.05
"""Distance from one half up to which an area under the ROC curve is that of a guess, after a first fifth of few samples."""

RANKS = frozenset({"auc", "auroc", "roc", "rocauc", "eer"})

HALF = 0.5
"""A score that ends at half of its best was lost, even if only two evaluations tell."""

LOST = 0.3
"""Three tenths of the best score lost at the end: evaluations of neighbouring checkpoints differ by a tenth of that."""


class Score(NamedTuple):
    """One score: its reading and its finite points as a share of one where it is a percentage."""

    name: str
    reading: ScoreReading
    series: Series
    percent: bool

    @property
    def values(self) -> Values:
        """Shares of one."""
        return self.series.value / 100.0 if self.percent else self.series.value


def scores_of(view: RunView) -> tuple[Score, ...]:
    """Every series that is a score by the words of its name, in the order of their names."""
    found: list[Score] = []
    for name in sorted(view.run.metrics.names):
        reading = read_score(name)
        series = view.finite(name) if reading.better else None
        if series is not None:
            top = float(np.abs(series.value).max())
            percent = SHARE < top <= PERCENT or name in view.once(small_percentages)
            found.append(Score(name, reading, series, percent))
    return tuple(found)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.score.*``; what policies score are rewards, which are judged elsewhere."""
    every, learns = view.once(scores_of), _learns(view)
    found = tuple(score for score in every if len(score.series) >= ROWS and score.reading.phase != "other")
    risen = frozenset(s.name for s in every if float(s.values[-1] - s.values[0]) >= LEFT_BEHIND)
    kept = score_words.judged((score.name for score in every), risen)
    higher = [score for score in every if score.reading.better > 0 and score.name in kept]
    rising = [score for score in found if score.reading.better > 0]
    _forgotten(out, higher, learns=learns)
    _zero(out, _that_count(view, rising), learns=learns)
    phrases = [score for score in rising if not score.reading.kind.isdisjoint(_OF_PHRASES)]
    if phrases and len(phrases[0].series) >= HARDLY_ROWS:
        shown = phrases[0].series
        none = not any(score.series.value.any() for score in phrases)
        out.put("no_phrase", none, end_of(shown))
    _none_named(out, every)
    _hardly_found(out, rising)
    averaged = [score for score in higher if "ema" in words_of(score.name)]
    _frozen(out, [*rising, *averaged], learns=learns)  # averaged weights follow those that are trained
    _all_right(out, rising)
    _beyond_all(out, found)
    _parted(out, [score for score in higher if score.reading.phase != "other"])
    _general_lost(out, [score for score in every if score.reading.kind & GENERAL], learns=learns)
    _lost(out, tuple(s for s in found if s.name in kept and not s.reading.kind & GENERAL))
    _turned(out, view, [s for s in found if s.name in kept and s.reading.phase == "eval" and s.reading.whole])
    _guessed(out, found, learns=learns)


def _learns(view: RunView) -> bool:
    """Whether a loss falls by a tenth; one that is negative by design by a tenth of its range."""
    known = [found[1] for found in (view.once(loss_trend), view.once(held_out_trend)) if found is not None]
    return any(numbers.falls() and numbers.fall >= FALLS * numbers.size for numbers in known)


def _that_count(view: RunView, rising: list[Score]) -> list[Score]:
    """Scores without those of whole phrases as long as single words are not known."""
    known = view.once(loss_trend)
    if known is None or known[1].last < NO_WORDS_YET:
        return rising
    return [score for score in rising if score.reading.kind.isdisjoint(_OF_PHRASES)]


def _zero(out: FactWriter, rising: list[Score], *, learns: bool) -> None:
    """Scores of 0 from the first to the last row, but for those of training that nobody computed; and those of the rare class beside answers that are mostly right."""
    none = [score for score in rising if not score.series.value.any()]
    found = {score.reading.kind for score in rising if score.series.value.any()}
    none = [score for score in none if score.reading.phase != "train" or score.reading.kind not in found]
    if none:
        out.put("zero_name", none[0].series.logged_as, refs_at(none[0].series, [0]))
        out.put("zero_rows", max(len(score.series) for score in none))
    if rising:
        out.put("zero", bool(none), refs_at((none or rising)[0].series, [0]))
        out.put("all_zero", len(none) == len(rising), refs_at((none or rising)[0].series, [0]))
    overlap = [
        score
        for score in rising
        if score.reading.kind & OVERLAP
        and not score.reading.kind & SHARE_OF_ALL
        and len(score.series) >= FROZEN_ROWS
    ]
    never = [score for score in overlap if float(median_of(_tail(score.values))) <= NOTHING]
    right = [score for score in rising if score.reading.kind & SHARE_OF_ALL]
    high = [score for score in right if float(median_of(_tail(score.values))) >= MOSTLY]
    if (single := _one_class_of_all(rising)) is not None:
        out.put("rare_never_found", value=True, refs=ends_of(single))
        out.put("rare_name", single.logged_as, end_of(single))
    elif overlap:
        shown = (never or overlap)[0].series
        classes = [
            score for score in never if score.reading.kind != {"recall"}
        ]  # alone it is of what was looked up
        learns = learns and not right and bool(classes) and not any(s.reading.kind & OF_BOXES for s in never)
        out.put(
            "rare_never_found",
            bool(never) and len(never) == len(overlap) and (bool(high) or learns),
            ends_of(shown),
        )
        out.put("rare_name", shown.logged_as, end_of(shown))


def _none_named(out: FactWriter, every: tuple[Score, ...]) -> None:
    """An evaluation or two in which precision and recall are exactly 0 and most answers right: none is named."""
    few = [score for score in every if score.reading.phase == "eval" and len(score.series) < FROZEN_ROWS]
    overlap = [score for score in few if score.reading.kind & OVERLAP]
    if any(score.values.any() for score in overlap):
        return  # precision at the first five may be 0 where the whole is not
    none = [score.series for score in overlap]
    right = any(score.reading.kind & SHARE_OF_ALL and score.values[-1] >= MOSTLY for score in few)
    if right and {"precision", "recall"} <= {word for series in none for word in words_of(series.metric)}:
        out.put("rare_never_found", value=True, refs=refs_at(none[0], [0]))


def _one_class_of_all(rising: list[Score]) -> Series | None:
    """A mean overlap that is the share of right pixels over the number of classes: one class is named everywhere.

    Its overlap is then the share of right pixels, and that of each other class is 0.
    """
    means = [
        s for s in rising if s.reading.kind & OUTLINE and s.reading.whole and len(s.series) >= FROZEN_ROWS
    ]
    shares = [s for s in rising if s.reading.kind & SHARE_OF_ALL]
    for mean in means:
        for share in shares:
            if len(share.series) != len(mean.series) or share.reading.phase != mean.reading.phase:
                continue
            overlap, right = _tail(mean.values), _tail(share.values)
            stand = np.ptp(mean.values) == 0 and np.ptp(share.values) == 0
            for count in SINGLE_OF_MORE if stand else SINGLE_OF:
                if (
                    bool((np.abs(overlap * count - right) <= PRINTED * count).all())
                    and float(right.min()) > 0
                ):
                    return mean.series
    return None


def _hardly_found(out: FactWriter, rising: list[Score]) -> None:
    """Whether every overlap of outlines, or precision of boxes, stays next to nothing to the end and was never higher."""
    long = [s for s in rising if s.reading.kind & (OUTLINE | BOXES) and len(s.series) >= HARDLY_ROWS]
    if long:
        low = [
            float(median_of(_tail(s.values))) <= HARDLY and float(s.values.max()) <= HARDLY_EVER
            if s.reading.kind & OUTLINE
            else float(s.values.max()) <= HARDLY_ANY
            for s in long
        ]
        shown = long[0].series
        out.put("hardly_found", all(low), ends_of(shown))


def _all_right(out: FactWriter, rising: list[Score]) -> None:
    """Whether every score ends at 1, and one of them is of held-out data."""
    whole = [score for score in rising if score.reading.whole]
    held = [score for score in whole if score.reading.phase == "eval"]
    if held:
        right = all(bool((score.values[-ROWS:] >= 1.0).all()) for score in whole)
        out.put("all_right", right, end_of(held[0].series))
        always = [s for s in held if len(s.series) >= FROZEN_ROWS and bool((s.values >= 1.0).all())]
        out.put("always_right", bool(always), end_of((always or held)[0].series))


def _tail(values: Values) -> Values:
    return values[-max(values.size // 2, 1) :]


def _frozen(out: FactWriter, rising: list[Score], *, learns: bool) -> None:
    """Scores that are one number in all their digits from the first row on, below those of a run that has learned all."""
    long = [score for score in rising if len(score.series) >= FROZEN_ROWS]
    stuck = [score for score in long if _stuck(score, 0, DIGITS)]
    held = [score for score in stuck if score.reading.phase == "eval"]
    if not long:
        return
    late = [s for s in long if s.reading.phase == "eval" and len(s.series) > STILL_ROWS]
    if late:
        still = any(_stuck(score, STILL_ROWS, STILL_DIGITS) for score in late)
        out.put("still_at_end", still, refs_at(late[0].series, [len(late[0].series) - 1]))
    shown = (held or stuck or long)[0]
    out.put("frozen", bool(stuck), refs_at(shown.series, [0, len(shown.series) - 1]))
    if stuck:
        out.put("frozen_value", float(shown.series.value[0]), refs_at(shown.series, [0]))
        out.put("frozen_rows", len(shown.series))
        out.put("frozen_while_loss_falls", learns, refs_at(shown.series, [0, len(shown.series) - 1]))


def _stuck(score: Score, last: int, least: int) -> bool:
    """Whether the last rows, or all, are one number of at least so many digits."""
    rows = score.series.value[-last:]
    digits = len(f"{abs(float(rows[0])):.12g}".replace(".", "").strip("0"))
    return bool((rows == rows[0]).all()) and digits >= least and 0 < float(score.values[-1]) <= HIGH


def _beyond_all(out: FactWriter, found: tuple[Score, ...]) -> None:
    """Error rates far above 100 % at the end: more is put out than there is to say; nothing right has a few insertions too."""
    rates = [
        score for score in found if score.reading.kind & {"wer", "cer", "ter", "der"} and score.reading.whole
    ]
    for score in rates:
        last, top = float(score.series.value[-1]), float(score.series.value.max())
        bound = 1.2 if top <= SHARE * 2 else 1.2 * PERCENT
        out.put("error_beyond_all", last > bound, end_of(score.series))
        if last > bound:
            return


def _pairs(rising: list[Score]) -> Iterator[tuple[Score, Score]]:
    """The same score on training and on held-out data: of several of one kind (``macro-f1`` beside ``f1``) the one named most alike."""
    every = [score for score in rising if score.reading.whole]
    for one in (score for score in every if score.reading.phase == "eval"):
        trained = [s for s in every if s.reading.phase != "eval" and s.reading.kind == one.reading.kind]
        if trained:
            yield min(trained, key=lambda score: len({*words_of(score.name)} ^ {*words_of(one.name)})), one


def _parted(out: FactWriter, rising: list[Score]) -> None:
    """How far training and held-out data part, in the score that parts most: by levels, and in the last rows."""
    pairs: list[tuple[float, Score, Score]] = []
    for train, held in _pairs(rising):
        levels = float(median_of(train.values[-3:]) - median_of(held.values[-3:]))
        pairs.append((min(levels, float(train.values[-1] - held.values[-1])), train, held))
    if not pairs:
        return
    apart, train, held = max(pairs, key=lambda pair: pair[0])
    refs = [*end_of(held.series), *end_of(train.series)]
    out.put("gap", apart, refs)
    at_end = float(train.values[-1])
    out.put(
        "parted", (apart >= APART and at_end >= KNOWN) or (apart >= APART_AT_ONE and at_end >= BY_HEART), refs
    )
    gained = float(median_of(train.values[-3:]) - train.values[0])
    stood = float(np.max(held.values) - held.values[: max(held.values.size // 3, 1)].max())
    followed = float(np.max(held.values) - held.values[0]) > FOLLOWED * gained
    if min(len(train.series), len(held.series)) >= 2 * FROZEN_ROWS:
        out.put(
            "held_out_stands",
            gained >= RISEN and stood <= STOOD and apart >= LEFT_BEHIND and not followed,
            refs,
        )


def _forgotten(out: FactWriter, rising: list[Score], *, learns: bool) -> None:
    """Whether one score is lost for good while another is gained, or one that is named for another task while the loss falls."""
    known = [(score, trend(-score.values)) for score in rising if len(score.series) >= 2 * FROZEN_ROWS]
    lost = [
        score
        for score, numbers in known
        if numbers is not None
        and numbers.rises()
        and numbers.last - numbers.best >= FORGOTTEN * abs(numbers.best)
        and -numbers.best >= KNOWN
    ]
    gained = [
        score for score, numbers in known if numbers is not None and numbers.falls() and numbers.fall >= RISEN
    ]
    aside = learns and any(score.reading.phase == "other" for score in lost)
    forgotten = bool(lost and (gained or aside))
    if len(known) >= ROWS or forgotten:
        shown = (lost or [score for score, _ in known])[0].series
        out.put("forgotten", forgotten, refs_at(shown, [len(shown) - 1, int(shown.value.argmax())]))
        if forgotten:
            out.put("forgotten_name", lost[0].series.logged_as, end_of(shown))


def _general_lost(out: FactWriter, general: list[Score], *, learns: bool) -> None:
    """Whether a public test of what the model could before is lost, from its first row on, while the training loss falls."""
    long = [score for score in general if len(score.series) >= GENERAL_ROWS]
    if not long:
        return
    share = [1.0 - float(median_of(score.values[-2:])) / max(float(score.values[0]), 1e-9) for score in long]
    worst = int(np.argmax(share))
    shown = ends_of(long[worst].series)
    lost = learns and share[worst] >= GENERAL_LOST and float(median_of(share)) > 0
    out.put("general_lost", lost, shown)
    out.put("general_lost_name", long[worst].series.logged_as, shown)
    out.put("general_lost_share", share[worst], shown)


def _lost(out: FactWriter, found: tuple[Score, ...]) -> None:
    """A score of the whole task that ends far below its best, and below where it began, beyond its scatter."""
    held = [score for score in found if score.reading.phase == "eval"]
    for score in held or found:
        numbers = trend(-score.reading.better * score.values)
        if not score.reading.whole or numbers is None:
            continue
        if len(score.series) < FROZEN_ROWS:
            _halved(out, score)
            continue
        refs = refs_at(score.series, [numbers.best_row, len(score.series) - 1])
        lost = numbers.rises() and numbers.last - numbers.best >= LOST * abs(numbers.best)
        out.put("lost", lost, refs)
        if lost:
            return


def _turned(out: FactWriter, view: RunView, held: list[Score]) -> None:
    """Whether a held-out score stays below its best for a quarter of the run and more, while training loss falls on.

    The one that has stayed so longest is told: shares of right answers stand where ranks are lost already.
    """
    known = view.once(loss_trend)
    long = [score for score in held if len(score.series) >= TURN_ROWS]
    if known is None or not long:
        return
    losses = known[0].value
    turned: list[tuple[int, Score]] = []
    for score in long:
        size, values = len(score.series), score.reading.better * score.values
        since = rows_away(values)
        then = float(losses[min((size - since) * losses.size // size, losses.size) - 1])
        fell = bool(0 < float(median_of(losses[-2:])) <= LOSS_LEFT * then)
        if since >= max(SINCE_BEST * size, 4) and fell and float(values.max()) != 0:
            turned.append((since, score))
    shown = max(turned, key=lambda found: found[0])[1] if turned else long[0]
    best = int((shown.reading.better * shown.values).argmax())
    refs = refs_at(shown.series, [best, len(shown.series) - 1])
    out.put("turned", bool(turned), refs)
    out.put("turned_name", shown.series.logged_as, refs)


def rows_away(values: Values) -> int:
    """Rows to the end of which none is near the best, values that are the better the higher they are.

    Of a share that is close to one, what it lacks is compared, as a twentieth of the share is all that it could lose.
    """
    top = float(values.max())
    least = BELOW_BEST * top if top > 0 else top / BELOW_BEST
    if float(values.min()) >= 0.0 and top <= 1.0:
        least = max(least, 1.0 - max(MORE_ERRORS * (1.0 - top), 1.0 - top + POINTS))
    return int(values.size - 1 - np.flatnonzero(values >= least)[-1])


def _halved(out: FactWriter, score: Score) -> None:
    """Two evaluations of which the second has half of the first: told only if it is so."""
    first, last = float(score.values[0]), float(score.values[-1])
    if score.reading.better > 0 and 0 < last <= HALF * first:
        out.put("lost", value=True, refs=refs_at(score.series, [0, len(score.series) - 1]))


def _guessed(out: FactWriter, found: tuple[Score, ...], *, learns: bool) -> None:
    """An area under the ROC curve, or a rate of equal errors, that stays at one half while the loss falls."""
    areas = [
        score
        for score in found
        if score.reading.kind & RANKS and score.reading.whole and score.reading.phase != "train"
    ]
    if areas:
        guessed = [s for s in areas if np.abs(s.values[len(s.values) // 5 :] - HALF).max() <= GUESS_OF_RANKS]
        shown = (guessed or areas)[0].series
        out.put("ranks_like_a_guess", bool(guessed) and learns, ends_of(shown))
