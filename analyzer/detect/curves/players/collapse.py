"""Collapses that no loss tells by rising.

A latent code without information, embeddings that agree, a preference that is never formed, targets that stand in the input.
"""

from __future__ import annotations

import math
import re

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at
from analyzer.detect.curves.progress import loss_trend
from analyzer.detect.curves.span import is_late
from analyzer.detect.setup.run_course import reconstructs
from analyzer.model.name_words import read_name, word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.score_words import read_score
from analyzer.model.tables import Series

ROWS = 3
"""Rows from which a level is told."""

NO_CODE, NO_CODE_AT_ALL = 0.02, 1e-3
"""A divergence of a fiftieth of a nat carries less than a thirtieth of a bit for a whole sample."""

NO_CODE_ONCE = 1e-5
"""A single row tells a divergence that is 0 to five digits: even at the start it is larger."""

LITTLE_CODE = 0.1
"""A tenth of a nat is a seventh of a bit: no code either, of a divergence that was ``GIVEN_UP`` and is no mean over dimensions."""

FELL, GIVEN_UP = 20.0, 100.0
"""The divergence ends at a twentieth, or a hundredth, of its highest level: it was given up, not built up."""

NO_SPREAD, SPREAD_LEFT = 0.015, 0.05
"""Standard deviation of embeddings that all agree; normalised ones of d dimensions scatter by 1/sqrt(d), at least 0.02."""

AT_THE_FLOOR, OPPOSITE = -0.999, -1.0005
"""A negative cosine (SimSiam, BYOL over two) of two views that agree to a thousandth; below the second it is none."""

ALIKE = -0.5
"""Half of the way to the floor of a negative cosine: what is learned there is that views agree."""

PROBE_STANDS = 1.1
"""A probe that never gets a tenth better than it was at first learns nothing from the embeddings."""

UNDECIDED = 0.012
"""Distance from ln 2 within which a preference loss says that chosen and rejected are alike."""

EVEN = 0.1
"""A preference accuracy within a tenth of one half is a coin's."""

NO_MARGIN = 0.05

PAIR = 2
"""Log-probabilities of both sides; one alone may be left out of a log."""

NOTHING_LEFT, FAR_FROM_REFERENCE = 0.01, 20.0
"""A hundredth of a nat is left, and the chosen answers have lost 200 nats at the usual factor of 0.1, a short answer's whole."""

BEYOND = 14.0
"""ln of a million: no guess among the tokens of any vocabulary costs that."""

FREQUENCIES, FELL_TO, STANDS, STANDS_PARTS, STANDS_ROWS = 6.3, 0.9, 0.02, 4, 12
"""Tokens drawn as often as they occur cost 6.3 to 7.7 nats in vocabularies of 8000 to 250 000, a tenth less than a guess at
least; four parts of two thirds of the log, of three rows each and more, that agree to two percent."""

OF_A_VOCABULARY = 8.0
"""A guess among three thousand tokens: what costs that much at first, in a trainer of language models, is a choice of tokens."""

VOCABULARY = 1000
"""Tokens from which a vocabulary is one of language."""

KNOWN_AHEAD = 1.06
"""A perplexity of 1.06 is 0.08 bits a token; text itself has about one bit a letter."""

ONE_CODE = 1.1
"""A perplexity of 1.1 leaves a fiftieth of all samples to other codes than one."""

_QUANTIZER = word_set("vq vqloss commit commitment quantizer quantize quantization vqvae rvq")
_CODEBOOK = word_set("codebook codebooks")
"""Names the codes of a perplexity; beside another one it may be what a language model of such codes predicts."""

EXPONENTIAL, EXPONENTIAL_ROWS = 0.05, 2
"""A twentieth of the loss is what means over batches and rounding leave between it and the logarithm of its perplexity; one row may meet
it by chance."""

_PERPLEXITY = word_set("ppl perplexity perplexities")

_EMBEDDING = word_set(
    "z emb embs embed embedding embeddings feature features feat repr representation projection proj latent"
)


TOLD_APART = 0.8
"""Four of five pairs of the training in the right order."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.collapse.*``."""
    _latent(out, view)
    _embeddings(out, view)
    _preference(out, view)
    _no_answers(out, view)
    _far_from_reference(out, view)
    if not _codebook(out, view):
        _copied(out, view)
    _vocabulary(out, view)


def _end(series: Series) -> float:
    return float(median_of(series.value[-max(len(series) // 3, 2) :]))


def _latent(out: FactWriter, view: RunView) -> None:
    """Whether the divergence of a code that is reconstructed from vanished."""
    if not reconstructs(view.run.metrics.names):
        return
    for name in sorted(view.run.metrics.names):
        words = words_of(name)
        if not {"kl", "kld", "kldiv"} & set(words) or {"weight", "beta", "coef", "anneal"} & set(words):
            continue
        series = view.finite(name, 1)
        if series is None or float(series.value.min()) < -NO_CODE:
            continue
        if len(series) < ROWS and float(series.value.max()) > NO_CODE_ONCE:
            return
        last, top = _end(series), float(series.value.max())
        fell = top / max(last, 1e-12)
        gone = last <= NO_CODE_AT_ALL or any(
            last <= few and fell >= times for few, times in ((NO_CODE, FELL), (LITTLE_CODE, GIVEN_UP))
        )
        out.put("latent_unused", gone, refs_at(series, [len(series) - 1, int(series.value.argmax())]))
        out.put("latent_nats", last, end_of(series))
        return


def _embeddings(out: FactWriter, view: RunView) -> None:
    of_views = view.once(_negative_cosine) is not None
    for name in sorted(view.run.metrics.names):
        words = set(words_of(name))
        # beside a negative cosine a spread without a noun is that of the embeddings
        named = words & _EMBEDDING or (of_views and words <= {"std", "stdev"})
        if not words & {"std", "stdev"} or not named or words & {"grad", "weight", "loss"}:
            continue
        series = view.finite(name, ROWS)
        if series is None or float(series.value.min()) < 0:
            continue
        last, top = _end(series), float(series.value.max())
        out.put("embeddings_agree", last <= NO_SPREAD or last <= SPREAD_LEFT * top, ends_of(series))
        return
    _views_agree(out, view)


def _negative_cosine(view: RunView) -> Series | None:
    """A loss that stays within the range of a negative cosine and ends below -1/2, as no other loss but a negative overlap does."""
    loss = view.once(loss_trend)
    if loss is None or len(loss[0]) < ROWS:
        return None
    values = loss[0].value
    within = float(values.min()) >= OPPOSITE and float(values.max()) <= 1.0
    return loss[0] if within and _end(loss[0]) <= ALIKE else None


def _views_agree(out: FactWriter, view: RunView) -> None:
    """Whether a loss that is a negative cosine stands at its floor from the middle on: sound ones stay above -0.98.

    The negative overlap of a segmentation has the same floor, and is printed beside the overlap; a probe on collapsed embeddings stands.
    """
    cosine = view.once(_negative_cosine)
    if cosine is None or len(cosine) < 2 * ROWS or float(cosine.value.min()) > AT_THE_FLOOR:
        return
    scores = [view.finite(name, 1) for name in view.run.metrics.names if read_score(name).better]
    if all(
        score is not None and float(score.value.max()) <= PROBE_STANDS * score.value[0] for score in scores
    ):
        agrees = bool((cosine.value[len(cosine) // 2 :] <= AT_THE_FLOOR).all())
        out.put("embeddings_agree", agrees, ends_of(cosine))


def _no_answers(out: FactWriter, view: RunView) -> None:
    """Whether the log-probabilities of chosen and rejected answers are exactly 0: sums over no token."""
    found = [
        series
        for name in sorted(view.run.metrics.names)
        if "logps" in name and re.search(r"chosen|rejected", name)
        if (series := view.finite(name, 1)) is not None
    ]
    if len(found) >= PAIR:
        none = not any(series.value.any() for series in found)
        out.put("answers_without_tokens", none, [ref for series in found for ref in refs_at(series, [0])])


def _far_from_reference(out: FactWriter, view: RunView) -> None:
    """Whether nothing is left of a preference loss while even chosen answers lost most of their probability."""
    loss, chosen = view.once(loss_trend), view.finite("rewards/chosen", ROWS)
    if loss is None or chosen is None or len(loss[0]) < ROWS:
        return
    gone = 0 <= loss[1].last <= NOTHING_LEFT and _end(chosen) <= -FAR_FROM_REFERENCE
    out.put("chosen_given_up", gone, ends_of(chosen))


def _preference(out: FactWriter, view: RunView) -> None:
    """Whether a preference loss stays at ln 2 with an accuracy of one half."""
    names = view.run.metrics.names
    if not any("chosen" in name for name in names) and not any(
        re.search(r"rewards?/(?:acc|margin)", n) for n in names
    ):
        return
    _by_heart(out, view)
    loss = view.once(loss_trend)
    if loss is None or len(loss[0]) < ROWS:
        return
    even: list[bool] = []
    for name in sorted(names):
        series = view.finite(name, ROWS) if not name.startswith("eval") else None
        if series is None:
            continue
        if "accurac" in name:
            even.append(abs(_end(series) - 0.5) <= EVEN or _end(series) == 0.0)
        elif "margin" in name:
            even.append(abs(_end(series)) <= NO_MARGIN)
    stays = abs(loss[1].last - math.log(2)) <= UNDECIDED
    refs = ends_of(loss[0])
    out.put("preference_undecided", stays and (not even or any(even)), refs)


def _by_heart(out: FactWriter, view: RunView) -> None:
    """Whether pairs of the training are told apart and those of held-out data, or of a test behind it, are not."""
    named = [name for name in sorted(view.run.metrics.names) if "accurac" in name]
    of_test = {name for name in named if name.startswith(("eval", "val", "test", "pairwise"))}
    known = [(view.finite(name, 1), name in of_test) for name in named]
    held = [series for series, test in known if series is not None and test]
    train = [series for series, test in known if series is not None and not test and len(series) >= ROWS]
    if held and train:
        apart = all(_end(series) <= 0.5 + EVEN / 2 for series in held) and _end(train[0]) >= TOLD_APART
        out.put("pairs_by_heart", apart, end_of(held[0]))


def _vocabulary(out: FactWriter, view: RunView) -> None:
    """Levels that only the loss of a language model can be judged by: those of a guess, and of frequencies alone."""
    loss = view.once(loss_trend)
    if loss is None or len(loss[0]) < ROWS or not may_be_language(view):
        return
    values, refs = loss[1].values, refs_at(loss[0], [0, len(loss[0]) - 1])
    if is_language(view):
        out.put("beyond_vocabulary", bool(float(values.min()) >= BEYOND), refs)
    rest = values[values.size // 3 :]
    if rest.size < STANDS_ROWS or not OF_A_VOCABULARY <= values[0] < BEYOND:
        return
    levels = np.array([float(median_of(part)) for part in np.array_split(rest, STANDS_PARTS)])
    stands = levels.min() >= FREQUENCIES and float(np.ptp(levels)) <= STANDS * float(levels[-1])
    fell = float(levels.max()) <= FELL_TO * float(values[0])
    out.put("frequencies_only", bool(stands and fell), refs)


def is_language(view: RunView) -> bool:
    """Whether language models are all that the trainer is made for."""
    return "language" in view.framework_words("subject")


def may_be_language(view: RunView) -> bool:
    """Whether the model has a vocabulary, or the trainer is mostly one of language, and no score is logged, as of other tasks."""
    scored = any(read_score(name).better for name in view.run.metrics.names)
    tokens = view.config_value("model.vocab_size")
    spoken = view.has_habit("mostly-language") or (isinstance(tokens, int) and tokens >= VOCABULARY)
    return is_language(view) or (spoken and not scored)


def _codebook(out: FactWriter, view: RunView) -> bool:
    """Whether a codebook is trained, and whether every perplexity of its codes ends at that of a single one.

    A perplexity that stands beside the losses of a quantizer is one of codes, whatever it is called.
    """
    words = {name: frozenset(words_of(name)) for name in view.run.metrics.names}
    trained = not _QUANTIZER.isdisjoint(frozenset().union(*words.values()))
    used = [
        series
        for name in sorted(words)
        if words[name] & _PERPLEXITY
        and (trained or words[name] & _CODEBOOK)
        and (series := view.finite(name)) is not None
        and not _is_of_a_loss(view, series)
    ]
    late = view.once(is_late) is True
    if used and (late or min(map(len, used)) >= ROWS):
        most = max(float(median_of(series.value[-ROWS:])) for series in used)
        refs = [ref for series in used[:2] for ref in end_of(series)]
        out.put("codebook_unused", 0 < most <= ONE_CODE, refs)
        out.put("codebook_perplexity", most, refs)
    return bool(used)


def _is_of_a_loss(view: RunView, perplexity: Series) -> bool:
    """Whether a perplexity is the exponential of a loss in the log, so that of a model's predictions.

    Where both are nearly those of certainty, as with one code and a commitment that costs nothing, they say nothing of each other.
    """
    for name in sorted(view.run.metrics.names):
        loss = view.finite(name) if "loss" in words_of(name) else None
        if loss is None:
            continue
        _, of_loss, of_perplexity = np.intersect1d(loss.step, perplexity.step, return_indices=True)
        costs, choices = loss.value[of_loss], perplexity.value[of_perplexity]
        told = choices > ONE_CODE
        apart = np.abs(np.log(choices[told]) - costs[told])
        if int(told.sum()) >= EXPONENTIAL_ROWS and bool((apart <= EXPONENTIAL * np.abs(costs[told])).all()):
            return True
    return False


def _copied(out: FactWriter, view: RunView) -> None:
    """Whether a language model predicts nearly every token: it sees what it is to predict, or has it by heart."""
    for name in ("perplexity", "eval_perplexity"):
        series = view.finite(name, ROWS)
        if series is None:
            continue
        out.put("perplexity_one", 0 < _end(series) <= KNOWN_AHEAD, ends_of(series))
        out.put("perplexity_last", _end(series), end_of(series))
        return
    loss = view.once(loss_trend)
    if loss is None:
        return
    series, numbers = loss
    language = any(read_name(name).quantity == "tokens_per_second" for name in view.run.metrics.names)
    language = language or (float(numbers.values[:ROWS].max()) >= OF_A_VOCABULARY and may_be_language(view))
    if language and len(series) >= ROWS and numbers.first >= 1:
        out.put("perplexity_one", 0 <= numbers.last <= math.log(KNOWN_AHEAD), ends_of(series))
        out.put("perplexity_last", math.exp(min(numbers.last, 50.0)), end_of(series))
