"""Rows that put names, values and counters in another order, or with other signs between, than ``name: value``."""

from __future__ import annotations

import re

from analyzer.ingest.text.rows.spellings import NUMBER
from analyzer.lazy_regex import LazyRegex

_FORTRAN = r"-?\d{1,3}\.\d{1,12}[DE][-+]\d{1,3}|NaN"
_ITERATE = LazyRegex(
    rf"^At iterate {{1,8}}(\d{{1,9}}) {{1,8}}f= {{1,4}}({_FORTRAN}) {{1,8}}\|proj g\|= {{1,4}}({_FORTRAN})\s{{0,4}}$"
)
"""A step of SciPy's L-BFGS-B, in Fortran's notation or not."""
_TAGGED = LazyRegex(rf"<([a-z]\w{{0,30}})>({NUMBER})</\1>")
_TAG = LazyRegex(r"</?([a-z]\w{0,20})(?: [a-z]{1,8}=\"(\d{1,9})\")?>")
"""A row as XML: ``<epoch n="3"><loss>0.5</loss></epoch>``."""
_LISTED = LazyRegex(rf"[\[(]'(\w{{1,40}})', ({NUMBER})[\])]")
"""Names with their values as pairs: ``[['loss', 0.5], ['mae', 9.5]]``, ``OrderedDict([('loss', 0.5)])``."""
_LISTED_BEHIND = LazyRegex(r"^(\d{1,9})[:,]? (?:OrderedDict\()?\[[\[(]'")
_BEHIND = LazyRegex(rf"(?<![\w.])({NUMBER}) \(([a-z]\w{{0,20}})\)")
"""Values with their names behind: ``2.5 (loss) 3.25 (gn) @ step 50``."""
_DASHED = LazyRegex(
    rf"^(?:[A-Za-z_]{{1,20}}-\d{{1,9}}(?:\.\d{{1,12}})?-){{1,12}}[A-Za-z_]{{1,20}}-{NUMBER}\s{{0,4}}$"
)
_DASHED_PAIR = LazyRegex(rf"([A-Za-z_]{{1,20}})-({NUMBER})(?:-|(?=\s{{0,4}}$))")
"""A row that is one word: ``epoch-1-loss-1.5-acc-0.25``."""
_THOUSANDS = LazyRegex(r"\b(\d{1,6})k (?=(?:steps?|iter(?:ation)?s?|its?|updates?|frames)\b)")
_SLASHED = LazyRegex(
    rf"(?<=[\] ])([A-Za-z]\w{{0,30}} {NUMBER})(?: / (?=[A-Za-z]\w{{0,30}}(?: [a-z]\w{{0,20}})? [-\d])|(?=(?: \([^()]{{1,40}}\))?\s{{0,4}}$))"
)
_OF_DATA = LazyRegex(
    r"^(Cost|Loss|Error|Accuracy) on (?:the )?(training|validation|evaluation|test) data ?[:=] ?(?=[-\d])"
)
_OF_FRAMES = LazyRegex(r"^Total T: (\d{1,12}) Episode Num: \d{1,9} Episode T: \d{1,9} (?=Reward)")
"""A row of the authors' TD3: what counts is the frames in all."""
_GLUED = LazyRegex(r"^e(\d{1,5})b(\d{1,9})(?=[:, ])")
_NUMBERED = LazyRegex(r"^(\d{1,9})\. (?=[A-Za-z]\w{0,20}=-?\d)")
_OF_EPOCH = LazyRegex(r"^(tra?i?n|te?st|val|dev) {1,6}(\d{1,9}) {1,6}(?=-?\d{1,9}\.\d{1,12}\s{0,4}$)")

_VALIDATED = LazyRegex(
    rf"^\s{{0,8}}({NUMBER})\s{{1,4}}= Validation (?:(\w{{3,40}}) )?score(?: {{1,4}}\((\w{{3,40}})\))?\s{{0,4}}$"
)
"""What a model of AutoGluon scored: ``0.86 = Validation score (accuracy)``, in old versions with the name in between."""
_EVOLVED = LazyRegex(
    rf"^\(?'?[\w-]{{1,40}}'?,? \((?:(?P<step>\d{{1,9}}), )?'?\d{{1,9}}'?, (?P<mean>{NUMBER}), (?P<min>{NUMBER}), (?P<max>{NUMBER}), (?P<std>{NUMBER}), (?P<sigma>{NUMBER})(?P<lengths>(?:, {NUMBER}){{1,2}})\){{1,2}}\s{{0,4}}$"
)
"""What loops after estool print of a generation: when, rewards, how far the search spreads and how long an episode lasts."""
_LINKED = LazyRegex(
    rf"^(?P<of>(?:l|r|averaged)\((?:raw|filter)\)):\s{{1,40}}(?P<values>{NUMBER}(?:\s{{1,20}}{NUMBER}){{4}})\s{{0,4}}$"
)
"""A row of OpenKE's prediction of links; below a head whose columns are always the same."""
_KEPT = LazyRegex(r"(?<=\d)[.,;] (?:got |new )?best (?:model )?(?:and |is |was )?saved\b.{0,80}$")
_COUNTED = LazyRegex(r"(?<=, )num steps (\d{1,12})(?=, )")
_AT_STEP = LazyRegex(rf"^([A-Za-z][\w@ -]{{1,60}}?) \((\d{{3,9}})\) ?[:=] ?(?={NUMBER}\s{{0,4}}$)")
"""A score with its step in brackets, ``Accuracy (499): 0.5``; a small number may be of how many answers."""
_OF_KITTI = LazyRegex(
    rf"^\s{{0,4}}(bbox|bev|3d|aos) {{1,4}}AP ?: ?({NUMBER}), ?({NUMBER}), ?({NUMBER})\s{{0,4}}$"
)
"""A row of KITTI's evaluation, by how hard the objects are; each class has rows of its own, which are no course: ``bev  AP:9.5, 8.5, 7.5``."""
_OBJECTIVE = LazyRegex(r"(?i)\b(objective) function value ?[:=] ?(?=[-+\dni])")
_UNSIGNED = LazyRegex(
    r"\t[A-Za-z][\w .]{0,40}[ \t](?:-?\d|nan)|_(?:(?<=[pnrh]_)\d{1,9}: [a-z]|(?:(?<=[ ,]\d[dD]_)|(?<=[ ,]\d_)|(?<=[ ,]\d\d_))[A-Za-z]|test -?\d|\w{1,30} {1,3}(?:\d{1,12}\.\d{1,20}|nan)\s{0,4}$)"
    r"|\[(?<=[a-z]\[)(?:-?\d{1,12}\.\d{1,20}|nan)\] |\|(?:(?<=\|g\|) {1,2}\d| L: )|\((?:(?<=metric \()\w|correct: \d|\w{1,3}/\w|(?<=ion \()[a-z]|(?<=est \()[a-z]|(?<=mAP\()0?\.\d)|^\([a-z]|%/\d"
    r"| - (?:(?<=\d - )|(?<=nan - ))[A-Z][\w ./]{2,40} (?:-?\d|nan)|: {0,3}train\w{0,3} ?[=:] ?-?\d"
    r"|^#[Ii]ter|-trees:\d|s: (?:(?<=images: )|(?<=amples: ))[A-Z]| (?:/ (?:sec|iter)|per sec)"
    r"|\| [A-Z][A-Za-z-]{1,20} [A-Za-z][\w@-]{0,20} (?:[\w@-]{1,20} )?\d|^U \d{1,9} \||^>\d{1,9}[,/]|^<\d{1,9}> LL|^Deviance = "
    r"|\), \([a-zA-Z][\w./-]{0,40} ?[:=]|\(\d{1,9}\.\d{1,12}\) {1,3}[a-z]{1,2} \d|=> {1,2}#\d| I: \d|^\[ {1,6}\d{1,9}, {1,4}\d\.\d{7}\]|KITTI: \d|\] \[[a-z][\w/.-]{1,40} {0,30}\] ?:|:(?:(?<=cost:)|(?<=error:)|(?<=loss:)|(?<=fer:)|(?<=acc:))[a-z]"
)
"""What a line holds that ``odd_pairs`` may put into signs; it is loaded for the first of them."""
_TOLD = LazyRegex(
    r"\d ?(?:prc|pct|perc[a-z]{0,6}|th percentile|%)\) ?[:=]|[cC]orrect[a-z ]{0,16} ?[:=]\s{0,8}\d|@\[\d|(?:in|of|per|over) (?:this |the )?epoch ?[:=]|episode of length|[\]s] ?\{[A-Za-z][\w/.@-]{0,60} [-\dnNiI]|grad-norm quartiles|(?:is|was|are) {0,2}[:=]|\d,? (?:and|with) |ub[- ]?[a-z]{4,9} {1,3}\d|nner[- ]?[a-z]{4,9} {1,3}\d|\w\.(?:item|mean|avg|get_avg|sum|val|data|det)|>>|(?:unning|oving|olling) (?:mean|av)|(?:oss|OSS|ost) (?:of|for|on) [a-zA-Z]|decreased|(?:oss|OSS) \d{1,9} ?:"
    r"|\.\. ?\(\d|^\[\d{1,12} \| \d|<(?:loss|score|objective|metric)> ?=|of epoch[ -]?\d|esults? ?@ ?\d|for epoch \d|after \d{1,9} [a-z]{4,10} ?[:=]|^\[\d{1,9}, \d|_metrics\(s"
)
"""What a sentence holds that ``told_spellings`` may make a row of."""
_ODD = LazyRegex(
    r"^At iterate|</[a-z]|[\[(]'\w{1,40}', [-\dn]|\) (?<=\w\) )[-\d]|^[a-z]{2,20}-\d{1,9}-[a-zA-Z]|k (?:step|iter|its?\b|update|frame)| / (?<=\d / )[a-z]|^[A-Z][a-z]{3,7} on |^Total T: |\(\d{3,9}\) ?[:=]|(?:bbox|bev|3d|aos) {1,4}AP ?:|unction value ?[:=]|= Validation |best (?:model )?(?:and |is |was )?saved|, num steps \d|^e\d{1,5}b\d|^\d{1,9}\. [A-Za-z]\w{0,20}=|^[a-z]{3,5} {1,6}\d{1,9} {1,6}-?\d|\):(?<=(?:raw|ter)\):)|\((?:\d{1,9}, \d|'\d{1,9}', -?\d)"
)
"""What one of these holds; all other lines are left as they are at the cost of this one search."""


def plain_pairs(text: str) -> str:
    r"""A row in the order of ``name: value``; other lines as they are.

    >>> plain_pairs("At iterate    9    f=  2.5D+00    |proj g|=  2.25D+00")
    'step 9, train objective: 2.5E+00, grad norm: 2.25E+00'
    >>> plain_pairs('<epoch n="9"><loss>0.5</loss></epoch>'), plain_pairs("9 [['loss', 0.5], ['r2', 0.25]]")
    ('epoch 9 loss: 0.5, epoch  ', 'step 9  [loss: 0.5, r2: 0.25]')
    >>> plain_pairs("2.5 (loss) 0.5 (gn) @ step 9"), plain_pairs("epoch-1-loss-1.5-acc-0.25"), plain_pairs("2-3-4")
    ('loss: 2.5, gn: 0.5, @ step 9', 'epoch: 1, loss: 1.5, acc: 0.25, ', '2-3-4')
    >>> plain_pairs("5k steps: nll 2.5"), plain_pairs("[9] a_loss 9.5 / value 0.5 / fps 9.5")
    ('5000 steps: nll 2.5', '[9] a_loss 9.5, value 0.5, fps 9.5, ')
    >>> plain_pairs("trn   9 2.5"), plain_pairs("e1b20: L=2.5"), plain_pairs("20. L=2.5"), plain_pairs("1. first")
    ('epoch 9 trn: 2.5', 'epoch 1 batch 20: L=2.5', 'step 20 L=2.5', '1. first')
    >>> plain_pairs("    0.86  = Validation score   (accuracy)"), plain_pairs("dev loss 0.5, acc 0.25. got best and saved")
    ('val accuracy: 0.86', 'dev loss 0.5, acc 0.25')
    >>> plain_pairs("('walker', (3, 90, 2.5, -1.5, 9.5, 0.5, 0.25, 80.5, 90))"), plain_pairs("walker (3, 90, 2.5, 3.5, 9.5, 0.5, 0.25, 80.5, 90)")
    ('step 3, reward_mean: 2.5, reward_min: -1.5, reward_max: 9.5, reward_std: 0.5, sigma: 0.25, ep_len_mean: 80.5', 'walker (3, 90, 2.5, 3.5, 9.5, 0.5, 0.25, 80.5, 90)')
    >>> plain_pairs("averaged(filter):\t\t 0.25 \t 90.5 \t 0.5 \t 0.375 \t 0.125 ")
    'val_MRR: 0.25, val_MR: 90.5, val_hits@10: 0.5, val_hits@3: 0.375, val_hits@1: 0.125'
    >>> plain_pairs("Accuracy (499): 0.5"), plain_pairs("Recall (10): 0.5")
    ('step 499, Accuracy: 0.5', 'Recall (10): 0.5')
    >>> plain_pairs("bev  AP:9.5, 8.5, 7.5"), plain_pairs("Objective function value: nan")
    ('part/val_bev_AP_easy: 9.5, part/val_bev_AP_moderate: 8.5, part/val_bev_AP_hard: 7.5', 'train Objective: nan')
    >>> plain_pairs("Cost on training data: 2.5"), plain_pairs("Total T: 900 Episode Num: 3 Episode T: 90 Reward: 2.5")
    ('training Cost: 2.5', 'step 900 Reward: 2.5')
    """
    if _UNSIGNED.search(text) is not None:
        from analyzer.ingest.text.rows.spellings.odd_pairs import signed_pairs  # noqa: PLC0415  (few logs hold one)

        text = signed_pairs(text)
    if _ODD.search(text) is None:
        return text
    if step := _ITERATE.match(text):
        return f"step {step[1]}, train objective: {step[2]}, grad norm: {step[3]}".replace("D", "E")
    if row := _EVOLVED.match(text) or _LINKED.match(text):
        return _by_columns(row)
    if _DASHED.match(text):
        return _DASHED_PAIR.sub(r"\1: \2, ", text)
    if row := _OF_KITTI.match(text):
        return _of_difficulty(row)
    if scored := _VALIDATED.match(text):
        return f"val {scored[2] or scored[3] or 'score'}: {scored[1]}"
    text = _AT_STEP.sub(r"step \2, \1: ", _OBJECTIVE.sub(r"train \1: ", _KEPT.sub("", text)))
    text = _LISTED_BEHIND.sub(lambda m: f"step {m[1]} {m[0][len(m[1]) :]}", text)
    text = _TAG.sub(r"\1 \2 ", _TAGGED.sub(r"\1: \2, ", text)) if "</" in text else text
    text = _LISTED.sub(r"\1: \2", text)
    if len(_BEHIND.findall(text)) > 1:  # a single one may be a remark
        text = _BEHIND.sub(r"\2: \1,", text)
    if len(_SLASHED.findall(text)) > 1:
        text = _SLASHED.sub(r"\1, ", text)
    text = _NUMBERED.sub(r"step \1 ", _GLUED.sub(r"epoch \1 batch \2", text))
    text = _COUNTED.sub(r"step \1", text)
    text = _OF_EPOCH.sub(r"epoch \2 \1: ", text)
    text = _OF_DATA.sub(r"\2 \1: ", _OF_FRAMES.sub(r"step \1 ", text))
    return _THOUSANDS.sub(r"\g<1>000 ", text)


LINKS = ("MRR", "MR", "hits@10", "hits@3", "hits@1")


def _by_columns(row: re.Match[str]) -> str:
    """A row whose program says nowhere what its values are called, if they fit what they are."""
    if "mean" in row.groupdict():
        low, mean, high = (float(row[name]) for name in ("min", "mean", "max"))
        if low > mean or mean > high:
            return row[0]
        pairs = [f"reward_{name}: {row[name]}" for name in ("mean", "min", "max", "std")]
        pairs += [f"sigma: {row['sigma']}", f"ep_len_mean: {row['lengths'].split(', ')[1]}"]
        return ", ".join([f"step {row['step']}", *pairs] if row["step"] else pairs)
    of = "" if row["of"] == "averaged(filter)" else row["of"].replace("(", "_").replace(")", "_")
    ahead = f"part/val_{of}" if of else "val_"
    return ", ".join(
        f"{ahead}{name}: {value}" for name, value in zip(LINKS, row["values"].split(), strict=True)
    )


def _of_difficulty(match: re.Match[str]) -> str:
    kinds = zip(("easy", "moderate", "hard"), match.groups()[1:], strict=True)
    return ", ".join(f"part/val_{match[1]}_AP_{kind}: {value}" for kind, value in kinds)


def in_plain_words(text: str) -> str:
    """A sentence that tells a value as a row; other lines as they are."""
    if _TOLD.search(text) is None:
        return text
    from analyzer.ingest.text.rows.spellings.told_spellings import plain_sentences  # noqa: PLC0415  (few logs hold one)

    return plain_sentences(text)
