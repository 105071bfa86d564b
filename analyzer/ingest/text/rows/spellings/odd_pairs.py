"""Names and numbers that stand together as no sign says: in cells between tabs, in brackets of their own, behind a count of samples.

Epoch: [1][0/90]<tab>Time 0.25<tab>Train Loss 2.5        iter 9<tab>train disc cost<tab>2.5<tab>dev disc cost<tab>0.5
(epoch) 1 (batch) 20 (loss) 2.5                          Accuracy on the 900 test images: A 83.5 % B 84.5 %
"""

from __future__ import annotations

import re

from analyzer.ingest.text.rows.spellings import NUMBER
from analyzer.lazy_regex import LazyRegex

_DECIMAL = r"(?:-?\d{1,12}\.\d{1,20}(?:[eE][-+]?\d{1,3})?|nan|inf)"


_STEP_AHEAD = LazyRegex(
    r"^((?:[Tt]rain(?:ing)?|[Vv]al(?:id(?:ation)?)?|[Tt]est) )?(step|iter|iteration|epoch|batch)_(\d{1,9}): (?=[a-z][\w ]{0,30}[=:])"
)
"""A counter that an underscore joins to its number, ahead of a row: ``Train step_20: loss : 2.5``."""
_DIGIT_AHEAD = LazyRegex(rf"(?<=[ ,])(\d{{1,2}}[dD]?)_([A-Za-z]\w{{0,30}})(?= ?[=:] ?{NUMBER}| {_DECIMAL})")
"""A name that begins with a digit: ``3d_train 88.5``, ``16_h1=0.5``."""
_CELL = LazyRegex(rf"(?<=\t)([A-Za-z][\w .@-]{{1,40}}?)(\t| {{1,3}})({NUMBER}%?)(?=\s{{0,4}}(?:\t|$))")
"""A name and its number in a cell between tabs, or in two: the name may have several words."""
_SNAKES = LazyRegex(
    rf"(?<=[ :])(?:[A-Za-z][a-z0-9]{{0,30}}_\w{{1,30}} {{1,3}}{_DECIMAL},? {{0,3}}){{2,12}}\s{{0,4}}$"
)
"""Names of variables and decimals in turn, to the end of a row: ``Val inference rmsd_lt2 10.5 rmsd_lt5 22.5``."""
_SNAKE = LazyRegex(rf"([A-Za-z]\w{{1,60}}) {{1,3}}({_DECIMAL}),?")
_IN_BRACKET = LazyRegex(
    rf"(?i)\b((?:(?:train(?:ing)?|val(?:id(?:ation)?)?|test|dev) )?(?:loss|acc(?:uracy)?|ppl|cost|error))\[({_DECIMAL})\](?= )"
)
"""A known quantity alone in brackets, between others that are none: ``iter [ 3/90] train loss[2.5] remaining[0:20:00]``."""
_NEWTON = LazyRegex(
    rf"^(iter {{1,4}}\d{{1,6}}) act ({NUMBER}) pre ({NUMBER}) delta ({NUMBER}) f ({NUMBER}) \|g\| ({NUMBER}) CG {{1,4}}(\d{{1,6}})"
)
"""A step of LIBLINEAR's trust region Newton: how much the objective fell, how much it was meant to, the radius, the objective."""
_INITIALS = LazyRegex(
    rf"^(?:T: \S{{1,12}} \| )?E: \d{{1,6}}(?:\.\d{{1,4}})?/\d{{1,6}}(?:\.\d{{1,4}})? \| B: (\d{{1,9}}/\d{{1,9}}) \| L: ({NUMBER})"
)
"""A row of Owl, by the first letters of time, epoch, batch and loss."""
_SET_ASIDE = LazyRegex(r"^([Vv]alid(?:ation)?|[Tt]est|[Ee]valuation) \(([a-z]\w{0,20})\) (?=[A-Za-z])")
"""Which part of the data held out it is, in brackets ahead of the names: ``Validation (clean) EPE: 2.5, 1px: 0.75``."""
_PIXELS = LazyRegex(r"(?<=, )(\d{1,2}px): (?=\d)")
_METRIC = LazyRegex(rf"^((?:[A-Za-z]\w{{0,15}} )?)metric \(([A-Za-z][\w@-]{{0,20}})\): (?={NUMBER})")
"""What an evaluation measured, in brackets behind the word for it: ``Validation metric (iou): 0.5``."""
_KINDS = LazyRegex(
    rf"([A-Za-z][\w-]{{1,30}}) ?\((\w{{1,3}}(?:/\w{{1,3}}){{1,7}})\) ?[:=] {{0,3}}({NUMBER}(?:/{NUMBER}){{1,7}})(?![\w/])"
)
"""Kinds of one score in brackets, before their values: ``ROUGE-F(1/2/l): 42.5/20.5/39.5``."""
_COUNTED = LazyRegex(
    rf"\b\w{{3,30}} is \w{{3,30}}\(correct: \d{{1,12}}, count: \d{{1,12}}, accuracy: ({NUMBER})\)"
)
"""How BigDL prints what share of held-out samples was right, with what it counted."""
_NAME_AHEAD = LazyRegex(rf"\(([a-z]\w{{0,20}})\) (?={NUMBER}(?![\w.]))")
_ALL_AHEAD = LazyRegex(rf"^\([a-z]\w{{0,20}}\) {NUMBER}(?: \([a-z]\w{{0,20}}\) {NUMBER}){{1,11}}\s{{0,4}}$")
"""Names in brackets, each before its value: ``(epoch) 1 (batch) 20 (loss) 2.5``."""
_OF_MODELS = LazyRegex(
    rf"\b(?P<name>(?:(?:[Tt]est|[Vv]al(?:id(?:ation)?)?) )?[Aa]ccuracy) on (?:the )?\d{{2,9}} (?:[a-z]{{3,12}} )?(?:images|samples|examples): (?P<models>(?:[A-Z]\w{{0,20}}:? {{1,2}}{NUMBER} ?%?[, ]{{0,3}}){{2,6}})$"
)
_MODEL = LazyRegex(rf"([A-Z]\w{{0,20}}):? {{1,2}}({NUMBER}) ?(%?)")
_PER_CENTS = LazyRegex(
    r"(?<![\w.])([A-Za-z]\w{0,30}) ?([=:]) {0,3}(\d{1,3}(?:\.\d{1,6})?%)/(\d{1,3}(?:\.\d{1,6})?%)(?![\w/])"
)
"""Two shares behind one name: ``err= 2.5%/13.5%`` of tokens and of sequences."""
_OVERLAPS = LazyRegex(rf"\bmAP\(0?\.(\d{{1,2}})(?:, \w{{1,12}})?\) ?[=:] ?(?={NUMBER})")
"""At what overlap a box counts: ``mAP(0.50, 11point) = 61.5%``."""
_TESTED = LazyRegex(rf"\b(\w{{0,20}}return_test) ({NUMBER})\(({NUMBER})\)")
"""The return of test episodes and how far it spreads, as DeepRL prints them: ``episodic_return_test 9.5(1.5)``."""
_PER_SECOND = LazyRegex(r"(?<=\d)(s| [a-z]{3,12})(?: / | per )(?:(s)ec(?:ond)?|(iter))\b")
"""A rate in words: ``17.5 batch / sec``, ``900.5 examples per second``, ``0.5s / iter``."""
_TREES = LazyRegex(r"\bnum-trees:(?=\d)")
"""What grows by a tree a step, as Yggdrasil counts it."""
_ENCLOSED_PAIR = LazyRegex(rf"\(([A-Za-z][\w./-]{{0,40}} ?[:=] ?{NUMBER}%?)\)(?=,|$)")
"""Pairs in brackets of their own, as FunASR has them: ``(loss_avg: 0.5), (acc_avg: 0.75), (lr: 1e-5)``."""
_BY_LETTERS = LazyRegex(
    rf"\b(?P<name>MAE|MSE|RMSE|[Ll]oss|[Ee]rror)(?P<parts>(?: {{1,3}}[a-z]{{1,2}} {NUMBER} ?\({NUMBER}\)){{2,8}})(?![\w.])"
)
_LETTER = LazyRegex(rf" ([a-z]{{1,2}}) (?={NUMBER})")
"""What was measured of several outputs, each by its letter, with means: ``MAE e 0.5(0.75)  f 0.25(0.5)``."""
_ARROW_AHEAD = LazyRegex(r"(?:^|(?<=\] ))={1,3}> {1,2}#(\d{1,12}) {1,12}(?=[A-Za-z])")
"""A step behind an arrow, as EfficientZero has it: ``==> #1000     Total Loss: 0.5``."""
_OF_PLAY = LazyRegex(
    rf"^\s{{0,4}}(?P<phase>train|eval|pretrain)\s{{1,9}}(?:E: (?P<episode>\d[\d,]{{0,12}})\s{{1,20}})?I: (?P<step>\d[\d,]{{0,12}})\s{{1,20}}(?:R: (?P<reward>{NUMBER})\s{{1,20}})?(?:S: (?P<success>{NUMBER})\s{{1,20}})?T: \d"
)
"""A row of TD-MPC2, by the first letters of episode, interactions, reward, success and time."""
_OF_FLOW = LazyRegex(
    rf"^\[ {{0,6}}(\d{{1,9}}), {{1,4}}(\d\.\d{{7}})\] {{1,9}}(\d\.\d{{4}}), {{1,9}}(\d\.\d{{4}}), {{1,9}}(\d\.\d{{4}}), {{1,9}}({_DECIMAL}), ?$"
)
_OF_KITTI = LazyRegex(rf"^(Validation) (KITTI): ({_DECIMAL}), ({_DECIMAL})\s{{0,4}}$")
"""Rows of RAFT and its kin: step and rate, the shares of pixels within 1, 3 and 5 of the truth, and how far off they are in the mean."""
_NAME_IN_BRACKETS = LazyRegex(
    rf"(?<=\] )\[([a-z][\w/.-]{{1,40}}) {{0,30}}\] ?: {{0,3}}(?={_DECIMAL}\s{{0,4}}$)"
)
"""A name that is padded in brackets, behind a tag: ``It 50 [TRAIN] [total_loss    ]: 0.5``."""
_OF_OUTPUT = LazyRegex(rf"\b(cost|error|loss|fer|acc):([a-z][\w/]{{1,40}}) (?={NUMBER}(?:,|\s|$))")
"""Of which output of the network a value is, as RETURNN has it: ``cost:ctc 2.5, error:ctc 0.5``."""

_PIPED = LazyRegex(
    rf"\| ((?:[A-Z][A-Za-z-]{{1,20}} )(?:[A-Za-z][\w@-]{{0,20}} ){{1,3}}) {{0,2}}(?={_DECIMAL}%?(?: {{1,3}}\||\s{{0,4}}$))"
)
"""A name of several words in a cell between bars, whose last may end in a digit: ``| Train Micro f1 0.5 |``."""
_OF_FRAMES = LazyRegex(
    rf"^U (\d{{1,9}}) \| F (\d{{1,12}}) \| FPS (\d{{1,9}}) \| D \d{{1,9}} \| rR:\u03bc\u03c3mM (?P<returns>{NUMBER}(?: {NUMBER}){{3}}) \| F:\u03bc\u03c3mM (?P<lengths>{NUMBER}(?: {NUMBER}){{3}}) \| H ({NUMBER}) \| V ({NUMBER}) \| pL ({NUMBER}) \| vL ({NUMBER}) \| ∇ (?={NUMBER}\s{{0,4}}$)"
)
"""A row of rl-starter-files: updates, frames, reshaped returns and lengths (mean, spread, least, most), entropy, value, losses, norm."""
_BEHIND_ARROW = LazyRegex(
    rf"^>(\d{{1,9}})(?:/\d{{1,9}})?,(?: \d{{1,9}}/\d{{1,9}},)? (?=[a-z]\w{{0,10}}(?:={NUMBER}|\[{_DECIMAL}\]))"
)
_SQUARE_PAIR = LazyRegex(rf"(?<= )([a-z]\w{{0,10}})\[({_DECIMAL})\](?=,? |\s{{0,4}}$)")
"""A step behind an arrow, and values that may stand in brackets: ``>9, d1[0.5] d2[0.25] g[1.5]``."""
_OF_LIKELIHOOD = LazyRegex(r"^<(\d{1,9})> (?=LL/token: -?\d)")
"""A row of MALLET's topics: ``<50> LL/token: -9.5``."""
_DEVIANCE = LazyRegex(rf"^Deviance = ({NUMBER}) Iterations - (\d{{1,6}})\s{{0,4}}$")
"""A step of R's ``glm``."""


_BETWEEN_HYPHENS = LazyRegex(
    rf"^(?:[A-Za-z][\w ./]{{0,40}} {NUMBER} - ){{3,24}}[A-Za-z][\w ./]{{0,40}} \S{{1,40}}\s{{0,4}}$"
)
_NAMED = LazyRegex(rf"([A-Za-z][\w ./]{{2,40}}) ({NUMBER})(?= - |$)")
_OF_COUNTER = LazyRegex(r"(?i)(?:episode|epoch|step|iter(?:ation)?|update|batch)$")
"""Names and values by turns between hyphens: ``Episode 9 - Epsilon 0.5 - Mean Loss nan - Mean Q Value 1.5``."""
_OF_BOTH = LazyRegex(
    rf"\b(?P<name>[a-z]\w{{0,20}}(?: [a-z]\w{{0,20}})?) ?: {{0,3}}(?P<train>train\w{{0,3}}) ?[=:] ?(?P<first>{NUMBER}%?), {{1,3}}(?P<held>val\w{{0,7}}|test|dev) ?[=:] ?(?={NUMBER})"
)
"""A score of both parts of the data behind its name: ``accuracy: train = 19.5%, valid = 19.25%``."""


def signed_pairs(text: str) -> str:
    r"""A row with a sign between each name and its number; other lines as they are.

    >>> signed_pairs("[1][0/9]\tAn Item Time 0.25\tTrain Loss 2.5\t"), signed_pairs("iter 9\ttrain cost\t2.5\ttime\t0.5"), signed_pairs("a\tb 3")
    ('[1][0/9]\tAn Item Time: 0.25\tTrain Loss: 2.5\t', 'iter 9\ttrain cost: 2.5\ttime: 0.5', 'a\tb 3')
    >>> signed_pairs("Train step_20: loss : 2.5"), signed_pairs("[1] lr 0.5 3d_train 88.5"), signed_pairs("Eval: 16_h1=0.5")
    ('Train step 20: loss : 2.5', '[1] lr 0.5 train_3d: 88.5', 'Eval: h1_16=0.5')
    >>> signed_pairs("> iter [ 3/90] train loss[2.5] remaining[0:20:00]"), signed_pairs("Val inference a_lt2 10.5 a_lt5 22.5")
    ('> iter [ 3/90] train loss: 2.5 remaining[0:20:00]', 'Val inference , a_lt2: 10.5, a_lt5: 22.5,')
    >>> signed_pairs("iter  1 act 1.5e+04 pre 2.5e+04 delta 1.5e+00 f 3.5e+04 |g| 1.5e+05 CG  10")
    'iter  1, act: 1.5e+04, pre: 2.5e+04, radius: 1.5e+00, f: 3.5e+04, grad norm: 1.5e+05, CG: 10'
    >>> signed_pairs("T: 01s | E: 0.0/0.1 | B: 1/60 | L: 2.5"), signed_pairs("(epoch) 1 (batch) 20 (loss) 2.5")
    ('batch 1/60 loss: 2.5', 'epoch: 1, batch: 20, loss: 2.5')
    >>> signed_pairs("Validation (clean) EPE: 2.5, 1px: 0.75"), signed_pairs("Validation metric (iou): 0.5")
    ('Validation clean_EPE: 2.5, clean_within_1px: 0.75', 'Validation iou: 0.5')
    >>> signed_pairs("ROUGE-F(1/2/l): 42.5/20.5/39.5"), signed_pairs("Top1 is Accuracy(correct: 3, count: 4, accuracy: 0.75)")
    ('ROUGE-F_1: 42.5, ROUGE-F_2: 20.5, ROUGE-F_l: 39.5', ', val accuracy: 0.75')
    >>> signed_pairs("Test Accuracy on the 900 test images: A 83.5 % B 84.5 %"), signed_pairs("num-trees:9 train-loss:0.5")
    ('Test Accuracy A: 83.5%, Test Accuracy B: 84.5%', 'iteration: 9 train-loss:0.5')
    >>> signed_pairs("err= 2.5%/13.5%"), signed_pairs("mAP(0.50, 11point) = 61.5%"), signed_pairs("steps 9, return_test 9.5(1.5)")
    ('err= 2.5%, err_2: 13.5%', 'val mAP@50: 61.5%', 'steps 9, return_test: 9.5, return_test_std: 1.5')
    >>> signed_pairs("speed: 17.5 batch / sec"), signed_pairs("900.5 examples per second"), signed_pairs("speed: 0.5s / iter")
    ('speed: 17.5 batch/sec', '900.5 examples/sec', 'speed: 0.5s/iter')
    >>> signed_pairs("total step: 9, (loss_avg: 0.5), (lr: 1e-5), {}"), signed_pairs("epoch 3, loss: 0.5 (lr: 1e-5)")
    ('total step: 9, loss_avg: 0.5, lr: 1e-5, {}', 'epoch 3, loss: 0.5 (lr: 1e-5)')
    >>> signed_pairs("[9/90] | MAE e 0.5(0.75)  f 0.25(0.5)"), signed_pairs("==> #900      Total Loss: 0.5")
    ('[9/90] | MAE_e: 0.5(0.75)  MAE_f: 0.25(0.5)', 'step 900, Total Loss: 0.5')
    >>> signed_pairs("train   E: 9    I: 4,500    R: 2.5    T: 0:01:20"), signed_pairs("It   50 [TRAIN] [total_loss    ]: 0.5")
    ('train episode: 9, step: 4500, reward: 2.5', 'It   50 [TRAIN] total_loss: 0.5')
    >>> signed_pairs("[   100,  0.0000080]     0.2500,     0.5000,     0.7500,    15.5000, "), signed_pairs("Validation KITTI: 9.5, 31.5")
    ('step 100, lr: 0.0000080, within_1px: 0.2500, within_3px: 0.5000, within_5px: 0.7500, train EPE: 15.5000', 'Validation KITTI_EPE: 9.5, KITTI_outliers: 31.5')
    >>> signed_pairs("[   100,  0.0000080]     0.5000,     0.2500,     0.7500,    15.5000, ")[:31]
    '[   100,  0.0000080]     0.5000'
    >>> signed_pairs("Epoch 1 | Train Micro f1 0.5 | Val Loss 0.25"), signed_pairs(">9, d1[0.5] g[1.5]"), signed_pairs(">9, a=0.5 g=1.5")
    ('Epoch 1 | Train Micro f1: 0.5 | Val Loss: 0.25', 'step 9, d1: 0.5, g: 1.5,', 'step 9, a=0.5 g=1.5')
    >>> signed_pairs("U 1 | F 2048 | FPS 1647 | D 1 | rR:\u03bc\u03c3mM 0.2 0.3 0.0 0.9 | F:\u03bc\u03c3mM 9.5 4.5 1.5 25 | H 1.6 | V 0.1 | pL -0.008 | vL 0.009 | ∇ 0.07")
    'step 2048, updates: 1, fps: 1647, return_mean: 0.2, return_std: 0.3, return_min: 0.0, return_max: 0.9, ep_len_mean: 9.5, ep_len_std: 4.5, ep_len_min: 1.5, ep_len_max: 25, entropy: 1.6, value: 0.1, policy_loss: -0.008, value_loss: 0.009, grad_norm: 0.07'
    >>> signed_pairs("<50> LL/token: -9.5"), signed_pairs("Deviance = 9.5 Iterations - 3")
    ('step 50, LL/token: -9.5', 'step 3, Deviance: 9.5')
    >>> signed_pairs("step 9, cost:ctc nan, error:out/prob 0.5"), signed_pairs("[TRAIN] [workers ]: 4")
    ('step 9, cost_ctc: nan, error_out_prob: 0.5', '[TRAIN] [workers ]: 4')
    >>> signed_pairs("Episode 9 - Epsilon 1 - Mean Loss nan - Mean Q Value nan - Time 20:10"), signed_pairs("a 1 - b 2 - c 3")
    ('Episode 9, Epsilon: 1, Mean Loss: nan, Mean Q Value: nan, Time 20:10', 'a 1 - b 2 - c 3')
    >>> signed_pairs("3 - accuracy: train = 19.5%, valid = 19.25%")
    '3 - train accuracy: 19.5%, valid accuracy: 19.25%'
    """
    if _BETWEEN_HYPHENS.match(text):
        return _NAMED.sub(lambda m: m[0] if _OF_COUNTER.match(m[1]) else f"{m[1]}: {m[2]}", text).replace(
            " - ", ", "
        )
    text = _OF_BOTH.sub(r"\g<train> \g<name>: \g<first>, \g<held> \g<name>: ", text)
    if frames := _OF_FRAMES.match(text):
        return _of_frames(frames) + text[frames.end() :]
    if arrow := _BEHIND_ARROW.match(text):
        return _SQUARE_PAIR.sub(r"\1: \2,", f"step {arrow[1]}, {text[arrow.end() :]}")
    text = _PIPED.sub(lambda m: f"| {m[1].rstrip()}: ", _OF_LIKELIHOOD.sub(r"step \1, ", text))
    text = _DEVIANCE.sub(r"step \2, Deviance: \1", text)
    if "\t" in text and _is_celled(text):
        text = _CELL.sub(r"\1: \3", text)
    text = _STEP_AHEAD.sub(r"\1\2 \3: ", text)
    if "_" in text:
        text = _DIGIT_AHEAD.sub(_digits_behind, text)
        text = _SNAKES.sub(lambda m: ", " + _SNAKE.sub(r"\1: \2,", m[0]), text)
    if text[:1] == "(" and _ALL_AHEAD.match(text):
        return _NAME_AHEAD.sub(r"\1: ", text).replace(" ", ", ").replace(":,", ":")
    if play := _OF_PLAY.match(text):
        told = ("episode", "step", "reward", "success")
        return f"{play['phase']} " + ", ".join(
            f"{name}: {play[name].replace(',', '')}" for name in told if play[name]
        )
    text = _OF_KITTI.sub(r"\1 \2_EPE: \3, \2_outliers: \4", _OF_FLOW.sub(_of_flow, text))
    text = _ARROW_AHEAD.sub(r"step \1, ", _OF_OUTPUT.sub(_of_output, _NAME_IN_BRACKETS.sub(r"\1: ", text)))
    if text[:5].lower() == "#iter":
        text = text[1:]
    if step := _NEWTON.match(text):
        names = ("act", "pre", "radius", "f", "grad norm", "CG")
        pairs = zip(names, step.groups()[1:], strict=True)
        return ", ".join([step[1], *(f"{name}: {value}" for name, value in pairs)])
    if "(" in text:
        if len(_ENCLOSED_PAIR.findall(text)) > 1:  # a single one is a remark
            text = _ENCLOSED_PAIR.sub(r"\1", text)
        text = _BY_LETTERS.sub(lambda m: _LETTER.sub(rf" {m['name']}_\1: ", m["parts"]).lstrip(), text)
        text = _COUNTED.sub(r", val accuracy: \1", _METRIC.sub(r"\1\2: ", text))
        text = _OVERLAPS.sub(r"val mAP@\1: ", _TESTED.sub(r"\1: \2, \1_std: \3", text))
        text = _KINDS.sub(_of_kinds, text)
        text = _of_a_part(text)
    if "%/" in text:
        text = _PER_CENTS.sub(r"\1\2 \3, \1_2: \4", text)
    text = _PER_SECOND.sub(lambda m: f"{m[1]}/{'sec' if m[2] else m[3]}", text)
    text = _INITIALS.sub(r"batch \1 loss: \2", _IN_BRACKET.sub(r"\1: \2", text))
    return _TREES.sub("iteration: ", _OF_MODELS.sub(_of_models, text))


def _of_frames(row: re.Match[str]) -> str:
    """The names of a row of rl-starter-files, up to its last one."""
    update, frames, fps, _, _, entropy, value, policy_loss, value_loss = row.groups()
    pairs = [f"step {frames}", f"updates: {update}", f"fps: {fps}"]
    for name, values in (("return", row["returns"]), ("ep_len", row["lengths"])):
        kinds = zip(("mean", "std", "min", "max"), values.split(), strict=True)
        pairs += [f"{name}_{kind}: {of}" for kind, of in kinds]
    pairs += [f"entropy: {entropy}", f"value: {value}", f"policy_loss: {policy_loss}"]
    return ", ".join([*pairs, f"value_loss: {value_loss}", "grad_norm: "])


def _is_celled(text: str) -> bool:
    """Whether several names stand beside their numbers in cells, of which one is no single word; a single one may be a remark."""
    cells = _CELL.findall(text)
    return len(cells) > 1 and any(between == "\t" or name.count(" ") > 1 for name, between, _ in cells)


def _of_flow(match: re.Match[str]) -> str:
    """The names of a row about optical flow, if its shares may be those within 1, 3 and 5 pixels."""
    step, rate, one, three, five, distance = match.groups()
    if not float(one) <= float(three) <= float(five) <= 1:
        return match[0]
    return f"step {step}, lr: {rate}, within_1px: {one}, within_3px: {three}, within_5px: {five}, train EPE: {distance}"


def _of_output(match: re.Match[str]) -> str:
    return f"{match[1]}_{match[2].replace('/', '_')}: "


def _digits_behind(match: re.Match[str]) -> str:
    """A name with the digits that it began with behind it, with a sign."""
    sign = "" if match.string[match.end() : match.end() + 2].strip(" ")[:1] in {"=", ":"} else ":"
    return f"{match[2]}_{match[1]}{sign}"


def _of_a_part(text: str) -> str:
    """A row of one part of the data held out, whose name its values bear."""
    part = _SET_ASIDE.match(text)
    if part is None:
        return text
    name = "finalpass" if part[2] == "final" else part[2]  # of a picture that is rendered to the end
    row = _PIXELS.sub(rf"{name}_within_\1: ", text[part.end() :])
    return f"{part[1]} {name}_{row}"


def _of_kinds(match: re.Match[str]) -> str:
    kinds, values = match[2].split("/"), match[3].split("/")
    if len(kinds) != len(values):
        return match[0]
    return ", ".join(f"{match[1]}_{kind}: {value}" for kind, value in zip(kinds, values, strict=True))


def _of_models(match: re.Match[str]) -> str:
    """What each of several models reached on the same samples."""
    found = _MODEL.findall(match["models"])
    return ", ".join(f"{match['name']} {model}: {value}{percent}" for model, value, percent in found)
