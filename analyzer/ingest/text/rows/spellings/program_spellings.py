"""Rows of single programs that name nothing, or name it ahead of a logger, in the spelling of ``name: value``."""

from __future__ import annotations

import re

from analyzer.ingest.text.rows.spellings import NUMBER
from analyzer.lazy_regex import LazyRegex

_OVER_SAMPLES = LazyRegex(rf"(?<=[:=] )({NUMBER}%?) \\?\* \d{{1,12}}(?=;)")
"""CNTK prints a mean and the samples that it is of: ``ce = 2.25 * 5000; errs = 88.5% * 5000;``."""
_SCORED_AT = LazyRegex(r"\bScore(?= at iteration \d{1,12} is )")
_ROUND = LazyRegex(rf"\bfit progress: \((\d{{1,9}}), (?={NUMBER}, \{{)")
_OF_VOICES = LazyRegex(
    rf"^\[ INFO : [\d-]{{10}} [\d:,.]{{8,16}} \] - \| {{0,9}}(\d{{1,6}})\| {{0,9}}(\d{{1,9}})\| {{0,9}}({NUMBER})\| {{0,9}}({NUMBER})\| {{0,9}}({NUMBER})\| {{0,9}}({NUMBER})\|\s{{0,3}}$"
)
"""A row of WeSpeaker, whose columns are always the same and whose head stands far above: epoch, batch, rate, margin, loss, accuracy."""
_SCORED_WORDS = LazyRegex(
    r"^(?:\[?([A-Za-z][\w-]{1,40})\]?[ :]{1,3})?%WER (\d{1,4}\.\d{1,4}) ?%? \[ ?\d{1,9} / \d{1,9}, \d[^\]]{1,80}\]"
)
"""What Kaldi and its children score: ``[test-other] %WER 8.25% [4375 / 53027, 560 ins, ...]``."""
_LOGGED = LazyRegex(
    r"(?<=it/s\])(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})? )?\([\w.]{1,80}:\d{1,6}\) (?:INFO|WARNING|DEBUG): "
)
"""What a logger writes ahead of a message, behind a bar that ends no line."""
_SEARCHED = LazyRegex(
    r"^train (\d{3,6}) (-?\d\.\d{3,12}e[-+]\d\d|nan) (\d{1,3}\.\d{3,12}) (\d{1,3}\.\d{3,12})\s{0,3}$"
)
"""A row of DARTS and of the searches that were made of it, which name none of loss, top 1 and top 5: ``train 050 6.25e+00 1.5 6.5``."""
_SCALED = LazyRegex(r"(?<![\w.])(\d{1,9}(?:\.\d{1,3})?)(k?)it/(\d{1,9}(?:\.\d{1,3})?)(k?)it(?= \[)")
"""The counter of a bar that tells thousands."""
_RECALLED = LazyRegex(r"(?<= )\.(\d{1,2})R(?=: )")
"""The share of boxes that Darknet found at an overlap: ``.5R: 0.25``."""
_OBJECTNESS = LazyRegex(r"(?<= )Obj(?=: -?[\w.+]{1,20}, No Obj: )")
"""The mean output where an object is, which training raises; elsewhere a loss of objects is called so."""
_RANGE = LazyRegex(
    rf"\b([A-Za-z][\w.-]{{1,40}})\s{{0,9}}[:=]\s{{0,4}}({NUMBER}) {{1,3}}- {{1,3}}({NUMBER}) \((?:ave|avg|mean)[:=]? {{0,4}}({NUMBER})\)"
)
"""The ends of some values before their mean: ``Reward: 1.5 - 9.5 (ave: 4.5)``."""
_CURRENT = LazyRegex(r"\bcur metric, (?=[a-z]\w{1,20}: )")
"""What an evaluation of PaddleOCR measured, beside the best so far."""

_ESTIMATED = LazyRegex(r"(?<=[a-z])~\d{1,2}%(?=[ :=])")
"""On which share of its data something was measured: ``Val~25% 0.5``."""
_REPORTED = LazyRegex(
    rf"^.{{0,160}}?\bAccuracy report \((\d{{1,6}})\) ({NUMBER}) \d{{1,9}} \d{{1,9}}\s{{0,40}}$"
)
"""What kraken scores behind the bar of each stage: accuracy, characters and errors."""
_FAILED = LazyRegex(r"(?<=\. )Bit fail (?=\d{1,9}\.\s{0,4}$)")
"""Outputs that FANN counts as wrong."""
_MATCHED = LazyRegex(
    r"(?i)(?:\bCMC curve, )?(?<![\w-])rank-?(\d{1,2}) {0,3}[:=] {0,3}(?=\d{1,3}\.\d{1,4} ?%)"
)
"""The curve of matches by which programs of re-identification are judged: ``CMC curve, Rank-5  :92.5%``."""

_OF_PHASE = LazyRegex(
    rf"^(train(?:ing)?|val(?:id(?:ation)?)?|test|eval|dev) ?[,:|] {{0,2}}(\d{{1,9}}/\d{{1,9}}) ?[,:| ] ?({NUMBER})\s{{0,4}}$"
)
"""A number that is told by its phase and its batch alone: ``test, 9/90, 2.5``."""
_CHAINED = LazyRegex(r"(?<=\w)\(\)\.([a-z]\w{1,40})\(\(?\w{0,30}\)?\)(?= ?[:=] ?[-+\d])")
"""A call that names what it gave: ``Score().of((network)):9.5``."""

_IN_ROUNDS = LazyRegex(
    rf"^.{{0,200}}?(?P<name>[A-Za-z]\w{{1,30}})['\"]?(?: ?[:=])? {{0,2}}\[(?P<pairs>\(\d{{1,9}}, {NUMBER}\)(?:, \(\d{{1,9}}, {NUMBER}\)){{1,400}})(?:\]|$)"
)
_IN_ROUND = LazyRegex(rf"\((\d{{1,9}}), ({NUMBER})\)(?:, )?")
"""What was measured in each round, as one list: ``losses_centralized [(0, 2.25), (1, 2.0)]``."""


_OF_STEP = LazyRegex(
    rf"^(?P<name>[A-Za-z][\w@ -]{{1,60}}?) (?:at|after) (?:step |iteration )?\[(?P<at>\d{{1,9}}/\d{{1,9}})\] ?[:=] ?(?={NUMBER}\s{{0,4}}$)"
)
"""A score whose step stands between its name and its value: ``Test average MRR at [29/30]: 0.5``."""
_BOXED = LazyRegex(r"^([A-Za-z][\w/@.-]{1,60})\[(-?\d{1,9}\.\d{1,20}(?:[eE][-+]?\d{1,3})?|nan)\]\s{0,4}$")
"""A line of a name and its value in brackets: ``eval/accuracy[0.25]``."""
_READ_WRONG = LazyRegex(r"\b(?:(char)|word|B([CW])ER) train ?= ?(?=\d)")
"""How many characters and words Tesseract reads wrong in training, by its names of the fourth and the fifth version."""
_OF_TRACKING = LazyRegex(
    rf"^OVERALL((?:\s{{1,9}}{NUMBER}%){{5}})((?:\s{{1,9}}\d{{1,9}}){{8}})((?:\s{{1,9}}-?\d{{1,9}}\.\d{{1,9}}%?){{2}})(?:\s{{1,9}}\d{{1,9}}){{0,3}}\s{{0,4}}$"
)
_TRACKED = (
    "IDF1",
    "IDP",
    "IDR",
    "recall",
    "precision",
    "",
    "",
    "",
    "",
    "FP",
    "FN",
    "id_switches",
    "fragmentations",
    "MOTA",
    "MOTP",
)
"""The columns of the MOT challenge, which py-motmetrics sets above its rows; those of single sequences are no course."""
_OF_JULIA = LazyRegex(rf"(?<=, ):(\w{{1,20}}), \(({NUMBER}(?:, {NUMBER}){{1,3}})\)(?=[,)])")
"""Several values under one symbol of a tuple that Julia shows: ``(:epoch, 1, :trn, (0.5, 0.75))``."""
_AT_ITERATION = LazyRegex(r"(?<=At iteration )\d{1,9}/(\d{1,9})/\d{1,9}(?=, )")
"""Tesseract counts what it learned from, what it trained on, and what it read; its rows stand at every hundred of the second."""
_OF_YAML = LazyRegex(r"(?i)(?<=: )([-+]?)\.(nan|inf)\s{0,4}$")
"""What is no number, as YAML spells it."""

_WITHIN = LazyRegex(
    rf"\b(?P<name>[A-Za-z]\w{{1,20}}) ?[:=] ?\[(?P<shares>\d{{1,3}}%={NUMBER}(?:, ?\d{{1,3}}%={NUMBER}){{0,9}})\]"
)
_SHARE = LazyRegex(rf"(\d{{1,3}})%=({NUMBER})")
"""How many answers lie within some percent of the truth: ``Acc = [1%=0.25, 5%=0.5]``."""

_OVER_FRAMES = LazyRegex(
    rf"(?<=[:=] )({NUMBER}) over \d{{1,12}}(?:\.\d{{1,6}})? (?:frames|samples|utterances|sentences)(?: \([\d.]{{1,8}}% kept\))?"
)
_FOR_SET = LazyRegex(
    rf"\b(?P<name>[A-Za-z][\w-]{{1,30}}(?: [a-z][\w-]{{1,30}}){{0,2}}) (?:for|on) (?:the )?(?P<phase>train(?:ing)?|val(?:id(?:ation)?)?|dev|test)(?:ing)?(?: set| data)?(?=: {NUMBER}(?:,|$))"
)
"""What children of Kaldi measured, of which set and over how many frames: ``average objf for validation set: -0.5 over 900.0 frames``."""

_PAIRED = LazyRegex(rf"(?<![\w.])([A-Za-z]\w{{0,30}})\[({NUMBER}), ?({NUMBER})\]")
"""Two losses of each network, as many write who follow one tutorial on GANs: ``>7, dA[0.5,0.75] g[9.5,9.25]``."""


_NAMED_VALUE = LazyRegex(
    rf"\{{[\"']?(?:metric|metricName|tag|name)[\"']?: [\"']?([A-Za-z][\w/. -]{{0,60}}?)[\"']?, [\"']?(?:value|metricValue)[\"']?: [\"']?({NUMBER})[\"']?(?:, [\"']?(step|epoch)[\"']?: (\d{{1,12}}))?\}}"
)
"""A value beside its name, as services take it from a console: ``{"metric": "loss", "value": 0.5, "step": 3}``."""
_LABELLED = LazyRegex(rf"^([a-z]\w{{1,60}})\{{(epoch|step)=\"(\d{{1,12}})\"\}} ({NUMBER})\s{{0,3}}$")
"""The same as Prometheus writes it: ``train_loss{{epoch="3"}} 0.5``."""
_NNET1 = LazyRegex(
    rf"\bTRAIN AVG\.LOSS ({NUMBER}), \(lrate({NUMBER})\), CROSSVAL AVG\.LOSS ({NUMBER}), nnet \w{{4,10}}.{{0,300}}$"
)
"""An iteration of Kaldi's first networks: ``ITERATION 01: TRAIN AVG.LOSS 1.5, (lrate0.008), CROSSVAL AVG.LOSS 2.5, nnet accepted (...)``."""
_SPANS = LazyRegex(rf"\b\w{{0,20}}F1?PreRecMetric: f=({NUMBER}), pre=({NUMBER}), rec=({NUMBER})")
"""What fastNLP scores."""
_SHORT_LOSSES = LazyRegex(
    rf"\b(?:F(\d{{1,2}}) )?(?:E(\d{{1,4}}) )?TL ?[:=]? ?({NUMBER}),? ?\|? ?VL ?[:=]? ?({NUMBER})"
)
"""Losses by their initials: ``F0 E03 TL 0.5 VL 0.75``."""
_HIT_RATE = LazyRegex(r"\bHR(?=\s{0,2}[:=]\s{0,2}[\d.]{1,20}[\s,|;]{1,4}(?:NDCG|MRR)\b)")
"""What recommenders score beside a gain: the share of users whose item was among the first. Elsewhere it is short for hours."""


def plain_of_programs(text: str) -> str:
    """A row as its program means it; other lines as they are.

    >>> plain_of_programs("[ INFO : 2026-01-01 04:05:47,255 ] - |   7|   300|5.5e-05|   0.2|  1.25|  78.5|")
    'epoch: 7, batch: 300, lr: 5.5e-05, margin: 0.2, loss: 1.25, accuracy: 78.5%'
    >>> plain_of_programs("[dev-other] %WER 8.25% [4375 / 53027, 560 ins, 9 del, 8 sub ]"), plain_of_programs("%WER 8.25 is low")
    ('dev-other_WER: 8.25% ', '%WER 8.25 is low')
    >>> plain_of_programs(">7, dA[0.5,0.75] g[9.5,9.25]"), plain_of_programs("box[0.5,0.75] is one")
    ('>7, dA_1: 0.5, dA_2: 0.75, g_1: 9.5, g_2: 9.25,', 'box[0.5,0.75] is one')
    >>> plain_of_programs("train 050 6.250000e+00 1.500000 6.500000"), plain_of_programs("train 050 6.250000e+00 6.500000 1.500000")
    ('step 050, train loss: 6.250000e+00, train top1: 1.500000, train top5: 6.500000', 'train 050 6.250000e+00 6.500000 1.500000')
    >>> plain_of_programs("9/90 [9:12, 3it/s]2026-01-01 04:05:47,255 (gan:333) INFO: loss = 0.5"), plain_of_programs("(gan:333) loss = 0.5")
    ('9/90 [9:12, 3it/s] loss = 0.5', '(gan:333) loss = 0.5')
    >>> plain_of_programs("Obj: 0.5, .5R: 0.25, .75R: -nan"), plain_of_programs("Reward : 1.5 -  9.5 (ave:  4.5), n: 2")
    ('Obj: 0.5, R_5: 0.25, R_75: -nan', 'Reward: 4.5, min_Reward: 1.5, max_Reward: 9.5, n: 2')
    >>> plain_of_programs("stage 3/9  |  90/90  Accuracy report (3) 0.75 9000 2250"), plain_of_programs("Current error: 0.5. Bit fail 9.")
    ('round: 3, val accuracy: 0.75', 'Current error: 0.5. bit_fail: 9.')
    >>> plain_of_programs("CMC curve, Rank-5  :92.5%"), plain_of_programs("rank-5: 3 workers")
    ('cmc5: 92.5%', 'rank-5: 3 workers')
    >>> plain_of_programs("test, 9/90, 2.5"), plain_of_programs("train 9/90 400"), plain_of_programs("#3 Score().of((net)):9.5")
    ('[9/90] test: 2.5', 'train 9/90 400', '#3 Score.of:9.5')
    >>> plain_of_programs("INFO fit: {'acc': [(0, 0.25), (1, 0.5)]}"), plain_of_programs("sizes [(9, 9)]")
    ('step 0, part/acc: 0.25; step 1, part/acc: 0.5; }', 'sizes [(9, 9)]')
    >>> plain_of_programs("cur metric, acc: 0.5, fps: 9.5"), plain_of_programs("Val~25% 0.5")
    ('eval metric, acc: 0.5, fps: 9.5', 'Val 0.5')
    >>> plain_of_programs("Test average MRR at [29/30]: 0.5"), plain_of_programs("eval/accuracy[0.25]"), plain_of_programs("sizes[3]")
    ('step 29/30, Test average MRR: 0.5', 'eval/accuracy: 0.25', 'sizes[3]')
    >>> plain_of_programs("char train=9.5%, word train=20%"), plain_of_programs("BCER train=9.5%"), plain_of_programs("reward: .nan")
    ('train cer=9.5%, train wer=20%', 'train cer=9.5%', 'reward: nan')
    >>> plain_of_programs("(:epoch, 1, :trn, (0.5, 0.75), :tst, (9.5, 0.25))")
    '(:epoch, 1, :trn_1, 0.5, :trn_2, 0.75, :tst_1, 9.5, :tst_2, 0.25)'
    >>> plain_of_programs("OVERALL 68.5% 71.0% 65.0% 80.5% 94.0% 9 8 7 6 50 40 30 20 69.5% 0.25")[:54]
    'val IDF1: 68.5%, val IDP: 71.0%, val IDR: 65.0%, val r'
    >>> plain_of_programs("At iteration 90/100/105, char train=9.5%")
    'At iteration 100, train cer=9.5%'
    >>> plain_of_programs("Acc = [1%=0.25, 5%=0.5]")
    'Acc_within_1: 0.25, Acc_within_5: 0.5'
    >>> plain_of_programs("mean objf for validation set: -0.5 over 900.0 frames, epoch 3"), plain_of_programs("3 over 900 frames")
    ('validation mean objf: -0.5, epoch 3', '3 over 900 frames')
    >>> plain_of_programs('{"metric": "loss", "value": 0.5, "step": 3}'), plain_of_programs("{metricName: acc, metricValue: 0.25};")
    ('step 3, loss: 0.5', 'acc: 0.25;')
    >>> plain_of_programs('train_loss{epoch="3"} 0.5'), plain_of_programs('{"name": "road", "value": "wide"}')
    ('epoch 3, train_loss: 0.5', '{"name": "road", "value": "wide"}')
    >>> plain_of_programs("ITERATION 01: TRAIN AVG.LOSS 1.5, (lrate0.008), CROSSVAL AVG.LOSS 2.5, nnet accepted (nnet_6.dbn_iter01)")
    'ITERATION 01: train loss: 1.5, lr: 0.008, val loss: 2.5'
    >>> plain_of_programs("SpanFPreRecMetric: f=0.5, pre=0.25, rec=0.75")
    'val f1: 0.5, val precision: 0.25, val recall: 0.75'
    >>> plain_of_programs("HR: 0.5, NDCG: 0.25"), plain_of_programs("HR: 2.5, MIN: 3")
    ('hitrate: 0.5, NDCG: 0.25', 'HR: 2.5, MIN: 3')
    >>> plain_of_programs("F0 E03 TL 0.5 VL 0.75 CV 0.25"), plain_of_programs("TL: 0.5, VL: 0.75")
    ('fold 0, epoch 03, train loss: 0.5, val loss: 0.75 CV 0.25', 'train loss: 0.5, val loss: 0.75')
    """
    text = _NAMED_VALUE.sub(_of_value, _LABELLED.sub(r"\2 \3, \1: \4", text)) if "{" in text else text
    text = _NNET1.sub(r"train loss: \1, lr: \2, val loss: \3", text) if "AVG.LOSS" in text else text
    text = (
        _SPANS.sub(r"val f1: \1, val precision: \2, val recall: \3", text) if "Metric: f=" in text else text
    )
    text = _HIT_RATE.sub("hitrate", text) if "HR" in text else text
    text = _SHORT_LOSSES.sub(_of_initials, text) if "VL" in text else text
    text = _LOGGED.sub(" ", text) if "it/s]" in text else text
    text = _ESTIMATED.sub("", text) if "~" in text else text
    text = _SCALED.sub(_in_ones, text) if "it/" in text else text
    text = _OVER_SAMPLES.sub(r"\1", _SCORED_AT.sub("loss", text))
    text = _SCORED_WORDS.sub(_of_words, _ROUND.sub(r"round: \1, eval loss: ", text))
    text = _OF_VOICES.sub(r"epoch: \1, batch: \2, lr: \3, margin: \4, loss: \5, accuracy: \6%", text)
    text = _CURRENT.sub("eval metric, ", text) if "cur metric" in text else text
    text = _REPORTED.sub(r"round: \1, val accuracy: \2", _FAILED.sub("bit_fail: ", text))
    text = _RECALLED.sub(r"R_\1", _MATCHED.sub(r"cmc\1: ", text))
    text = _OBJECTNESS.sub("Obj_confidence", text)
    text = _BOXED.sub(r"\1: \2", text) if "[" in text else text
    text = _OF_STEP.sub(r"step \g<at>, \g<name>: ", text) if "[" in text else text
    text = _READ_WRONG.sub(_of_reading, _AT_ITERATION.sub(r"\1", text)) if " train" in text else text
    text = _WITHIN.sub(_within, text) if "%=" in text else text
    text = _OF_YAML.sub(r"\1\2", text) if ": " in text else text
    if " over " in text:
        text = _FOR_SET.sub(r"\g<phase> \g<name>", _OVER_FRAMES.sub(r"\1", text))
    text = _OF_TRACKING.sub(_of_tracking, text) if text.startswith("OVERALL") else text
    text = _OF_JULIA.sub(_of_julia, text) if text.startswith("(:") else text
    text = _RANGE.sub(r"\1: \4, min_\1: \2, max_\1: \3", text)
    text = _IN_ROUNDS.sub(_of_rounds, text)
    text = _CHAINED.sub(r".\1", _OF_PHASE.sub(_of_a_phase, text))
    if len(_PAIRED.findall(text)) > 1:  # a single one is a range
        text = _PAIRED.sub(r"\1_1: \2, \1_2: \3,", text)
    return _SEARCHED.sub(_of_search, text)


def _of_initials(match: re.Match[str]) -> str:
    """Both losses, with fold and epoch before them."""
    ahead = (f"fold {match[1]}, " if match[1] else "") + (f"epoch {match[2]}, " if match[2] else "")
    return f"{ahead}train loss: {match[3]}, val loss: {match[4]}"


def _of_value(match: re.Match[str]) -> str:
    """A value with its name and its place."""
    return (f"{match[3]} {match[4]}, " if match[3] else "") + f"{match[1]}: {match[2]}"


def _of_tracking(match: re.Match[str]) -> str:
    """Means over all sequences, with their names."""
    found = zip(_TRACKED, match[0].split()[1:], strict=False)
    return ", ".join(f"val {name}: {value}" for name, value in found if name)


def _of_julia(match: re.Match[str]) -> str:
    values = enumerate(match[2].split(", "), 1)
    return ", ".join(f":{match[1]}_{at}, {value}" for at, value in values)


def _in_ones(match: re.Match[str]) -> str:
    """The counter of a bar that tells thousands: ``644it/4.00kit``."""
    done, total = (round(float(match[at]) * (1000 if match[at + 1] else 1)) for at in (1, 3))
    return f"{done}/{total}"


def _of_a_phase(match: re.Match[str]) -> str:
    """A decimal behind a phase and a batch, by the name of the phase; a whole number counts something."""
    return match[0] if match[3].isdecimal() else f"[{match[2]}] {match[1]}: {match[3]}"


def _of_rounds(match: re.Match[str]) -> str:
    """A row for each round, as a part: the rounds may have been told one by one before."""
    return _IN_ROUND.sub(rf"step \1, part/{match['name']}: \2; ", match["pairs"])


def _within(match: re.Match[str]) -> str:
    return ", ".join(
        f"{match['name']}_within_{share}: {value}" for share, value in _SHARE.findall(match["shares"])
    )


def _of_reading(match: re.Match[str]) -> str:
    return "train cer=" if match[1] or match[2] == "C" else "train wer="


def _of_words(match: re.Match[str]) -> str:
    """The share of wrong words, with the set that it was counted on."""
    return f"{match[1] or 'eval'}_WER: {match[2]}% "


def _of_search(match: re.Match[str]) -> str:
    """The names of a row of a search, if its second share may be that of the first five answers."""
    if float(match[4]) < float(match[3]):
        return match[0]
    return f"step {match[1]}, train loss: {match[2]}, train top1: {match[3]}, train top5: {match[4]}"
