"""Sentences that tell a value of a course, as rows: what is measured, when, and the value behind words or odd signs."""

from __future__ import annotations

import re

from analyzer.ingest.text.rows.spellings import NUMBER
from analyzer.lazy_regex import LazyRegex

_WHEN = r"(?:epoch|step|iter(?:ation)?|batch|episode)"

_TWO_SIGNS = LazyRegex(r"(?<=[\w)\]]) (?:is|was|are) {0,2}[:=]{1,2} {0,3}(?=[-+\dni])")
"""A verb and a sign: ``Loss for epoch 3 is : 0.5``."""
_VERB_BEHIND_PLACE = LazyRegex(
    rf"(?i)^(\W{{0,4}}{_WHEN}\w{{0,3}}[ #:]{{1,3}}\d{{1,9}}),? (?:and|with) (?:the |its |a )?((?:[a-z]{{1,12}} ){{0,2}}(?:loss|cost|accuracy|acc|error|reward|score)) (?:is|are|was|of) (?={NUMBER}(?![\w.]))"
)
"""``iter 3 and running loss are 0.5``."""
_WITHIN = LazyRegex(
    rf"(?i)^(?P<name>(?:[\w-]{{1,20}} ){{0,3}}\w{{0,20}}(?:loss|cost|error|accuracy|reward)) (?:at|for|in|of|during|after) (?P<when>{_WHEN}) {{1,3}}(?P<at>\d{{1,9}})"
    rf"(?: {{1,4}}(?P<inner>(?:sub|inner)[ -]?{_WHEN}) {{1,3}}(?P<nth>\d{{1,9}}))? {{0,3}}[:=] {{0,3}}(?={NUMBER}\s{{0,4}}$)"
)
"""A value with its step, and the step within that: ``loss at step 3 sub-step 1 : 0.5``."""
_WITHIN_GLOBAL = LazyRegex(
    rf"(?i)^(?P<name>(?:[\w-]{{1,20}} ){{0,3}}\w{{0,20}}(?:loss|cost|error|accuracy|reward)) (?:at|for|in|of|during|after) (?:sub|inner|local)[ -]?{_WHEN} {{1,3}}\d{{1,9}}, (?:global|outer|total)[ -]?(?P<when>{_WHEN}) {{1,3}}(?P<at>\d{{1,9}}) {{0,3}}[:=] {{0,3}}(?={NUMBER}\s{{0,4}}$)"
)
_METHOD = LazyRegex(
    r"(?<=\w)\.(?:item|mean|avg|get_avg|sum|value|val|data|detach)(?:\(\))?(?= {0,2}[:=]| {1,3}[-+]?\d)"
)
"""How a value was asked for, behind its name: ``loss.get_avg()  0.5``."""
_ARROWS = LazyRegex(rf"(?<=[a-z)\]]) ?>{{2,3}} ?(?={NUMBER}(?![\w.]))")
"""Arrows for a colon: ``Train MSE error >> 0.5``."""
_EPISODE = LazyRegex(
    rf"(?i)\b(?:episode )?(?P<name>reward|return|score)(?: total)?(?: of this episode)? (?:was|is|=|:) {{0,2}}(?P<value>{NUMBER})[.,;] {{1,3}}(?P<mean>running|moving|rolling) (?:mean|average|avg)(?: reward| score)?(?: is|:| =| was)? {{1,3}}(?={NUMBER})"
)
"""``resetting env. episode reward total was -21.0. running mean: -20.5``, and what was written after it."""
_OF_WHAT = LazyRegex(
    rf"(?i)^(\W{{0,4}}(?:[a-z]{{1,12}} ){{0,2}}(?:loss|cost)) (?:of|for|on) (?:the )?(?!(?:val|valid|validation|test|dev|eval)\b)[a-z][a-z -]{{2,40}}[a-z] ?[:=]\s{{0,4}}(?={NUMBER}\s{{0,4}}$)"
)
"""``Total loss of this and that: 0.5``."""
_STOPPER = LazyRegex(
    rf"(?i)^\W{{0,4}}(?P<name>(?:val(?:id(?:ation)?)?|test|dev|monitored)[ _](?:loss|error|perplexity|ppl)) (?:has )?decreased ?:? {{0,2}}\(?(?:from )?{NUMBER} {{0,2}}(?:-{{1,3}}>|to|=>) {{0,2}}(?={NUMBER})"
)
"""What a keeper of the best state says of each that it saves: ``Validation loss decreased (0.75 --> 0.5).  Saving model ...``."""
_NUMBERED_LOSS = LazyRegex(
    rf"(?i)^(\W{{0,4}}(?:[a-z]{{1,10}} )?loss) (\d{{1,9}})(?<! [012]) ?: {{0,3}}(?={NUMBER}\s{{0,4}}$)"
)
"""A loss with its step behind the name, ``Loss 30: 0.5``: ``Loss 1`` and ``Loss 2`` may be two losses."""
_OF_EPOCH = LazyRegex(
    r"(?i)\b((?:loss|cost|accuracy|acc|error|perplexity|reward)) (?:in|of|per|over) (?:this |the )?epoch ?[:=] ?(?=[-+\dni])"
)
"""``avg loss in epoch = 0.5``."""
_OF_LENGTH = LazyRegex(rf"(?i)\bepisode of length \d{{1,9}} with (return|reward|score) (?={NUMBER})")
"""What Dreamer and its kin tell of an episode: ``Train episode of length 1000 with return 27.9.``"""
_BRACED = LazyRegex(
    rf"(?:(?<=\])|(?<=\] loss)|^) {{0,2}}\{{(?P<pairs>(?:[A-Za-z][\w/.@-]{{0,60}} {NUMBER}, ){{1,80}}[A-Za-z][\w/.@-]{{0,60}}(?: {NUMBER})?\}}?)"
)
"""Names and values by turns in braces, as glue-factory and its forks have them: ``[E 3 | it 50] loss {total 0.5, match/0 0.25}``."""
_PAIR = LazyRegex(rf"([A-Za-z][\w/.@-]{{0,60}}) (?={NUMBER}(?:[,}}]|$))")
_INDEX = LazyRegex(r"(?<=[a-z])/(?=\d{1,4}: )")
_QUARTILES = LazyRegex(
    rf"\bClipping_scale=\S{{1,12}} grad-norm quartiles (?P<least>{NUMBER}) {NUMBER} (?P<middle>{NUMBER}) {NUMBER} (?P<most>{NUMBER}), "
)
"""What icefall tells of the norms since it told them last."""
_RANKED = LazyRegex(
    rf"(?i)\b(?P<name>hits?|recall|ndcg|precision|map|mrr|acc|top)@\[(?P<at>\d{{1,4}}(?:, ?\d{{1,4}}){{1,9}})\] ?[:=] ?\[(?P<values>{NUMBER}(?:, ?{NUMBER}){{1,9}})\](?P<unit> ?%)?"
)
"""A score at several ranks as two lists: ``hits@[1, 10] = [50.5, 75.25]%``."""
_OF_SHARE = LazyRegex(r"(?<=[a-z]) \(\d{1,3} ?(?:prc|pct|perc(?:ent(?:ile)?)?|th percentile|%)\)(?= ?[:=])")
"""Of which percentile a value is, before the sign: ``Training loss (50 prc): 0.5``."""
_RIGHT = LazyRegex(
    r"(?i)^(\W{0,8})(?:(?:the )?num(?:ber)? ?(?:of )?)?correct(?:ly)?(?: [a-z]{4,12})? ?[:=]\s{0,8}(\d{1,9}) ?/ ?(\d{1,9})(?: ?=? ?\(?(\d{1,3}(?:\.\d{1,20})?) ?%\)?)?\s{0,4}$"
)
"""How many answers were right, of how many: ``# correct: 50/80 = 62.5%``."""
_DOTTED = LazyRegex(
    r"(?i)^(\W{0,4}(?:step|epoch|iter(?:ation)?|batch))\.{2,3} ?\((\d{1,12}(?:/\d{1,12})?) \| (?=[A-Z][\w ]{0,30}: )"
)
"""How scripts of Flax begin a row: ``Step... (500 | Loss: 0.5, Learning Rate: 0.001)``."""
_AND_TIME = LazyRegex(r"^\[(\d{1,12}) \| (\d{1,9}\.\d{1,3})\] (?=[a-z]\w{0,20}=-?[\dni])")
"""A step and the seconds since the start, in brackets: ``[9 | 11.25] loss=0.5 avg=0.75``."""
_AND_RATE = LazyRegex(r"^\[(\d{1,9}), (0\.00\d{1,24}|\d\.\d{1,24}e-\d\d)\]\s{0,4}$")
"""A list of nothing but the step and its rate, as loops after VITS have it: ``[200, 9.9e-05]``."""
_REPORTED = LazyRegex(
    r"\breport_(training|validation)_metrics\(steps_completed=(\d{1,12}), (?:[a-z_]{1,20}=\d{1,9}, )?metrics=(?=\{)"
)
"""What Determined logs of what it is told: ``report_training_metrics(steps_completed=100, metrics={'loss': 0.5})``."""
_KIND_BEHIND = LazyRegex(rf"(?<=\w) <(?:loss|score|objective|metric)>(?= ?= ?{NUMBER}(?![\w.]))")
"""What kind of value it is, as SageMaker says before the sign: ``train cross_entropy_objective <loss>=0.5``."""
_OF_BATCH = LazyRegex(
    rf"(?i)^(?:the )?((?:[a-z]{{1,12}} ){{0,3}}(?:loss|cost|accuracy|error)) of (epoch)[ -]?(\d{{1,9}})[ ,-]{{1,2}}(batch|step|iter)[ -]?(\d{{1,9}}) ?: ?(?={NUMBER}\s{{0,4}}$)"
)
"""``The train loss of epoch3-batch-50: 0.5``."""
_RESULTS_AT = LazyRegex(
    r"(?i)\b((?:valid(?:ation)?|val|test|eval(?:uation)?) results?) ?@ ?(\d{1,12}): ?(?=\{)"
)
"""When an evaluation was, as NATSpeech and its kin say: ``Validation results@250: {'total_loss': 0.5}``."""
_FOR_EPOCH = LazyRegex(
    rf"(?i)^(\W{{0,4}})((?:[\w@-]{{1,20}} ){{0,3}}[\w@-]{{1,20}}) for epoch (\d{{1,9}}) (?:is|was) (?={NUMBER}\s{{0,4}}$)"
)
"""``IoU of change for epoch 9 is 0.5``."""

_AFTER = LazyRegex(
    rf"(?i)^(\W{{0,4}}(?:[a-z]{{1,12}} ){{0,2}}(?:loss|cost|error|accuracy|reward)) after (\d{{1,9}}) ({_WHEN})s? ?[:=] {{0,3}}(?={NUMBER}\s{{0,4}}$)"
)
"""``Error after 900 iterations:0.5``."""


def plain_sentences(text: str) -> str:
    r"""A sentence that tells a value as ``name: value``; other lines as they are.

    >>> plain_sentences("DiceLoss for epoch 3 is :  0.5"), plain_sentences("iter 3 and running loss are 0.5")
    ('DiceLoss for epoch 3: 0.5', 'iter 3, running loss: 0.5')
    >>> plain_sentences("loss at step  3   sub-step 1 :  0.5"), plain_sentences("kl loss during sub iter 3, global iter 9: 0.5")
    ('step 3, sub-step 1, loss: 0.5', 'iter 9, kl loss: 0.5')
    >>> plain_sentences("loss.get_avg()  0.5"), plain_sentences("Train MSE error >> 0.5\tTest MSE error >> 0.75")
    ('loss  0.5', 'Train MSE error: 0.5\tTest MSE error: 0.75')
    >>> plain_sentences("resetting env. episode reward total was -21.0. running mean: -20.5")
    'resetting env. | episode reward: -21.0, running mean reward: -20.5'
    >>> plain_sentences("Total loss of calls and puts:  0.5"), plain_sentences("Loss of precision: see 0.5")
    ('Total loss: 0.5', 'Loss of precision: see 0.5')
    >>> plain_sentences("Validation loss decreased (0.75 --> 0.5).  Saving model ...")
    'saved, Validation loss: 0.5).  Saving model ...'
    >>> plain_sentences("[E 3 | it 50] loss {total NAN, match/0 0.25}"), plain_sentences("avg loss in epoch = nan")
    ('[E 3 | it 50] loss total: NAN, match_0: 0.25', 'avg loss: nan')
    >>> plain_sentences("Train episode of length 9 with return 2.5."), plain_sentences("hits@[1, 10] = [0.5, 9.5]%, mr = 6")
    ('Train episode return: 2.5.', 'hits@1: 0.5%, hits@10: 9.5%, mr = 6')
    >>> plain_sentences("Clipping_scale=2.0, grad-norm quartiles 1 2 3 4 5, threshold=1.5")
    'grad_norm: 3, grad_norm_min: 1, grad_norm_max: 5'
    >>> plain_sentences("# correct:\t50/80 = 62.5%"), plain_sentences("Correct predictions: 50 / 80"), plain_sentences("Test loss (50 prc): 0.5")
    ('# accuracy: 50/80 (62.5%)', 'accuracy: 50/80', 'Test loss: 0.5')
    >>> plain_sentences("Loss 30: 0.5"), plain_sentences("Loss 2: 0.5")
    ('step 30, Loss: 0.5', 'Loss 2: 0.5')
    >>> plain_sentences("Step... (500 | Loss: 0.5, Learning Rate: 0.001)"), plain_sentences("[9 | 11.25] loss=0.5 avg=0.75")
    ('Step 500 | Loss: 0.5, Learning Rate: 0.001)', 'step 9, time: 11.25, loss=0.5 avg=0.75')
    >>> plain_sentences("epoch=3, train cross_entropy_objective <loss>=0.5"), plain_sentences("Validation results@250: {'loss': 0.5}")
    ('epoch=3, train cross_entropy_objective=0.5', "Validation results step 250: {'loss': 0.5}")
    >>> plain_sentences("The train loss of epoch3-batch-50:0.5"), plain_sentences("IoU of change for epoch 9 is 0.5")
    ('epoch 3, batch 50, train loss: 0.5', 'epoch 9, IoU of change: 0.5')
    >>> plain_sentences("Error after 900 iterations:0.5"), plain_sentences("Error after 3 attempts: 5")
    ('iteration 900, Error: 0.5', 'Error after 3 attempts: 5')
    >>> plain_sentences("[200, 9.9e-05]"), plain_sentences("[200, 9.5]")
    ('step 200, lr: 9.9e-05', '[200, 9.5]')
    >>> plain_sentences("report_validation_metrics(steps_completed=9, metrics={'loss': 0.5})")
    "validation step 9: {'loss': 0.5})"
    >>> plain_sentences("Step... (500 | of 900)"), plain_sentences("time for epoch 9 is over")
    ('Step... (500 | of 900)', 'time for epoch 9 is over')
    """
    text = _AFTER.sub(r"\3 \2, \1: ", text)
    text = _RESULTS_AT.sub(r"\1 step \2: ", _KIND_BEHIND.sub("", text))
    text = _REPORTED.sub(r"\1 step \2: ", _AND_RATE.sub(r"step \1, lr: \2", text))
    text = _AND_TIME.sub(r"step \1, time: \2, ", _DOTTED.sub(r"\1 \2 | ", text))
    text = _FOR_EPOCH.sub(r"\1epoch \3, \2: ", _OF_BATCH.sub(r"\2 \3, \4 \5, \1: ", text))
    if braced := _BRACED.search(text):
        pairs = _INDEX.sub("_", _PAIR.sub(r"\1: ", braced["pairs"])).rstrip("}")
        return f"{text[: braced.start()]} {pairs}"
    if norms := _QUARTILES.search(text):
        return (
            f"grad_norm: {norms['middle']}, grad_norm_min: {norms['least']}, grad_norm_max: {norms['most']}"
        )
    if right := _RIGHT.match(text):
        return f"{right[1]}accuracy: {right[2]}/{right[3]}" + (f" ({right[4]}%)" if right[4] else "")
    text = _RANKED.sub(_by_rank, _OF_LENGTH.sub(r"episode \1: ", _OF_EPOCH.sub(r"\1: ", text)))
    text = _TWO_SIGNS.sub(": ", _METHOD.sub("", _OF_SHARE.sub("", text)))
    if row := _WITHIN_GLOBAL.match(text):
        return f"{row['when']} {row['at']}, {row['name']}: {text[row.end() :]}"
    if (row := _WITHIN.match(text)) and row["inner"]:
        return f"{row['when']} {row['at']}, {row['inner']} {row['nth']}, {row['name']}: {text[row.end() :]}"
    text = _VERB_BEHIND_PLACE.sub(r"\1, \2: ", _ARROWS.sub(": ", text))
    text = _EPISODE.sub(r"| episode \g<name>: \g<value>, \g<mean> mean \g<name>: ", text)
    text = _STOPPER.sub(r"saved, \g<name>: ", _OF_WHAT.sub(r"\1: ", text))
    return _NUMBERED_LOSS.sub(r"step \2, \1: ", text)


def _by_rank(match: re.Match[str]) -> str:
    """Each rank with its value; two lists of another length stay what they are."""
    ranks, values = match["at"].split(","), match["values"].split(",")
    if len(ranks) != len(values):
        return match[0]
    unit = (match["unit"] or "").strip()
    pairs = zip(ranks, values, strict=True)
    return ", ".join(f"{match['name']}@{rank.strip()}: {value.strip()}{unit}" for rank, value in pairs)
