"""Which metrics are scores, and whether more or less of them is better, by the words of their names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from analyzer.model.name_words import read_name, says_no_quantity, word_set, words_of
from analyzer.record import NamedTuple

_RISES = word_set("""hitrate acc accs accuracy accurancy acuracy accuarcy acurracy accuracies accu acc1 accuracy1 top1 top5 pixacc pixelacc aacc macc top prec1 prec5 map map50 map75 map5095 ap ap50 ap75 ar mar f1 fb1 fscore f2 fmeasure fbeta dice dsc dc
    iou miou giou jaccard js auc auroc auprc roc prc rocauc aucpr bleu bleu4 sacrebleu chrf rouge rouge1 rouge2 rougel rougelsum meteor cider spice
    spearman spearmanr spearmans pearson pearsonr pcc corr correlation corrcoef kendall srcc srocc plcc krcc krocc nmi ari r2 mrr ndcg recall precision sensitivity specificity tpr psnr ssim
    em exact hit hits uas las kappa qwk mcc matthews gmean score fitness pck oks mota hota idf1 success win won bertscore sts stsb sickr pesq stoi mos cmc cmc1 cmc5 cmc10 cmc20
    mmlu cmmlu ceval agieval gsm8k humaneval mbpp hellaswag winogrande piqa boolq siqa openbookqa obqa
    truthfulqa triviaqa bbh ifeval lambada arcchallenge arceasy livecodebench gpqa""")
_FALLS = word_set(
    "wer cer uer ser ter der eer dcf mindcf error err errors errorrate mae rmse mse mape fid fid50k fid10k kid lpips ppl perplexity epe rpe ate mpjpe pampjpe bpc bpd bpb fpr misclass hd95 assd mcd"
)
_BESIDE = word_set("""decode head aux macro micro weighted binary samples mask box bbox segm seg b m cls classification class classes multiclass multilabel ovr ovo
    categorical sparse token tokens word sentence seq sequence top k at 1 2 3 4 5 10 50 75 95 100 mean foreground global avg n pixel
    map rate coef coeff coefficient score similarity index match matches under curve area pr rank image text i2t t2i node edge graph vqa squad full
    cosine dot euclidean manhattan max min battle knn probe linear""")
_OTHER = word_set(
    "loss losses reward rewards return lr learning time grad gradient norm threshold weight weights std var rank ratio count num seconds step epoch_time best"
)
_LETTERS = word_set("f p r")
"""Beside another word (``ents_f``) they are F-score, precision and recall."""

_OF_RANKS = word_set("hr hits hit pass maj rank")
"""Shares of queries or users whose item is among the first k, and of tasks that one of k answers solves, or that most of them do."""
_OF_OUTPUT = word_set(
    "bleu bleu4 sacrebleu chrf rouge rouge1 rouge2 rougel rougelsum meteor cider spice ndcg mrr"
)
"""Scores of whole outputs and of ranks over all items: no batch of a training gives them, so they are of held-out data."""
_OF_PROBES = word_set("knn probe")
"""A probe on embeddings is asked of samples that it was not fitted on."""

_CLASSES = word_set("class category")
"""Before a number they name one of several, whose score is not that of all."""

OVERLAP = word_set(
    "f1 fb1 fscore dice dsc dc iou miou jaccard js precision recall sensitivity tpr map map50 ap ap50 mcc kappa f"
)
"""Scores that are 0 where the rare class is never found, whatever the share of right answers."""

OF_BOXES = word_set("map map50 ap ap50")
"""Those of detectors, which name nothing at all where they are 0, and so no other class either."""

HALVES = word_set("precision recall sensitivity tpr specificity")
"""A threshold trades one of them for another; an F-score, a mean precision and an overlap weigh both."""

SHARE_OF_ALL = word_set(
    "acc accs accuracy accurancy acuracy accuarcy acurracy accuracies accu acc1 accuracy1 top1 pixacc pixelacc aacc specificity"
)
"""Scores that naming the largest class alone makes high."""


GENERAL = word_set("""mmlu cmmlu ceval agieval gsm8k humaneval mbpp hellaswag winogrande piqa boolq siqa openbookqa obqa
    truthfulqa triviaqa bbh ifeval lambada arcchallenge arceasy livecodebench gpqa""")
"""Public tests of what a language model could before it was tuned for something else."""


class ScoreReading(NamedTuple):
    """What a name says of a score."""

    better: int  # 1 if more is better, -1 if less is, 0 if it is no score
    phase: str  # ``eval``, ``train``, ``other`` or empty
    whole: bool  # whether nothing names a class or a component of which it is the score
    kind: frozenset[str]  # the words of the score itself, which training and held-out data share


_NONE = ScoreReading(0, "", whole=False, kind=frozenset())


@lru_cache(maxsize=4096)
def read_score(name: str) -> ScoreReading:
    """What the words of a name say of a score.

    >>> read_score("val_iou_score")[:3], read_score("valid WER")[:3], read_score("loss_dice")[:3]
    ((1, 'eval', True), (-1, 'eval', True), (0, '', False))
    >>> read_score("ents_f")[0], read_score("test/f1_liver")[:3]
    (1, (1, 'eval', False))
    >>> read_score("Recall@20"), read_score("train_ndcg@10").phase
    (ScoreReading(better=1, phase='eval', whole=True, kind=frozenset({'recall@'})), 'train')
    >>> read_score("pass@4")[:2], read_score("pass_4")[:2]
    ((1, 'eval'), (0, ''))
    >>> [read_score(name)[:2] for name in ("eval_spearman_cosine", "valid_uer", "dev_si_sdr")]
    [(1, 'eval'), (-1, 'eval'), (0, '')]
    >>> read_score("class_3_accuracy").whole, read_score("class_accuracy").whole
    (False, True)
    >>> read_score("knn_acc").phase, read_score("train_probe_top1").phase, read_score("linear_acc").phase
    ('eval', 'train', '')
    """
    words = words_of(name)
    ranked = "@" in name and any(word.isdigit() for word in words)
    others = _OTHER - _OF_RANKS if ranked else _OTHER
    if not words or name.startswith(("system.", "system/", "epoch/")) or not others.isdisjoint(words):
        return _NONE
    phase = read_name(name).phase
    kept = frozenset(word for word in words if not says_no_quantity(word))
    told = kept & (
        _RISES
        | _FALLS
        | (_LETTERS if len(words) > 1 else frozenset())
        | (_OF_RANKS if ranked else frozenset())
    )
    if not told or any(word.endswith("loss") for word in words):
        return _NONE
    better = -1 if told & _FALLS else 1
    rest = kept - told - _BESIDE
    if not phase and (ranked or told & _OF_OUTPUT or kept & _OF_PROBES):
        phase = "eval"
    kind = frozenset(f"{word}@" for word in told) if ranked else told
    of_one_class = any(a in _CLASSES and b.isdigit() for a, b in pairwise(words))
    whole = not of_one_class and all(word.isdigit() for word in rest)
    return ScoreReading(better, phase, whole=whole, kind=kind)


def judged(names: Iterable[str], risen: frozenset[str]) -> frozenset[str]:
    """The names of scores without precision and recall where one that weighs both rose in the same phase.

    >>> sorted(judged(("val_recall", "val_f1", "train_recall", "val/recall@5"), frozenset({"val_f1"})))
    ['train_recall', 'val/recall@5', 'val_f1']
    """
    read = {name: read_score(name) for name in names}
    weighed = {
        read[name].phase for name in risen if read[name].whole and read[name].kind & (OVERLAP - HALVES)
    }
    return frozenset(name for name, r in read.items() if not r.kind <= HALVES or r.phase not in weighed)
