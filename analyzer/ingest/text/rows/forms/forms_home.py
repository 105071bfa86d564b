r"""Rows of trainers that stand alone: darknet, PaddleOCR, Tensorpack, BigDL, OpenNMT-py, Marian, and boosted trees.

     100: 2.125000, 2.250000 avg loss, 0.001000 rate, 0.250000 seconds, 6400 images
    epoch: [1/100], global_step: 10, lr: 0.001000, acc: 0.500000, loss: nanxxx, avg_reader_cost: 0.01000 s, avg_batch_cost: 0.25000 s, ips: 32.0 samples/s
    [0101 00:00:00 @monitor.py:474] total_cost: 2.125
    [Epoch 1 32/1000][Iteration 1][Wall Clock 2.5s] Train 32 in 2.5seconds. Throughput is 12.8 records/second. Loss is 2.125.
    Step 100/1000; acc:  25.00; ppl: 9.49; xent: 2.25; lr: 0.00100; 1024/1024 tok/s;     25 sec
    Epoch  1,   100/1000; acc:  25.00; ppl:   9.49; xent:   2.25; 1024 src tok/s; 1024 tgt tok/s;     25 s elapsed
    [2024-01-01 00:00:00] Ep. 1 : Up. 100 : Sen. 10,000 : Cost 8.12500000 * 100,000 after 100,000 : Time 10.00s : 10000.00 words/s : gNorm 1.5000 : L.r. 1.0000e-04
    [100]	train-logloss:0.250000	eval-logloss:0.375000
    [100]	training's binary_logloss: 0.25	valid_1's binary_logloss: 0.375

PaddleOCR pads its numbers with "x" to six characters, so that NaN reads "nanxxx". Of a boosted tree the metric
that it minimises is its loss; areas and accuracies beside it are left out.
"""

from __future__ import annotations

from analyzer.ingest.text.rows.forms.row_forms import COLON, VALUE, RowForm
from analyzer.ingest.text.rows.printed_numbers import NUMBER
from analyzer.lazy_regex import LazyRegex

_STEP = r"(?P<step>\d{1,12})"

DARKNET = RowForm(
    "darknet",
    (" avg loss, ", " seconds, "),
    LazyRegex(rf"(?:^|\s){_STEP}: (?={NUMBER}, {NUMBER} avg(?: loss)?, {NUMBER} rate, )"),
    LazyRegex(rf"(?:^|(?<= ))(?={NUMBER} (?P<key>avg loss|avg|rate|seconds)(?:,|\s|$))(?P<value>{NUMBER})"),
    {"avg loss": "loss", "avg": "loss", "rate": "lr", "seconds": "step_time_s"},
)

TENSORPACK = RowForm(
    "tensorpack",
    (" @monitor.py:",),
    LazyRegex(r" @monitor\.py:\d{1,5}\] (?=[\w/.-]{1,120}: )"),
    LazyRegex(COLON),
    {"total_cost": "loss", "cost": "loss", "wd_cost": "loss_wd", "QueueInput/queue_size": ""},
    steps=False,
)

BIGDL = RowForm(
    "bigdl",
    ("][Wall Clock ",),
    LazyRegex(rf"\[Epoch \d{{1,9}} \d{{1,12}}/\d{{1,12}}\]\[Iteration {_STEP}\]\[Wall Clock "),
    LazyRegex(rf"(?P<key>Throughput|Loss|Current learning rate) is {VALUE}(?=\.?\s|\.?$| )"),
    {"Throughput": "samples_per_second", "Loss": "loss", "Current learning rate": "lr"},
)

_NMT_NAMES = {"acc": "accuracy", "xent": "loss", "sents": "", "bsz": ""}
OPENNMT = RowForm(
    "opennmt",
    ("; acc: ", "; ppl: "),
    LazyRegex(rf"\bStep {_STEP}/ {{0,12}}(?P<total>\d{{1,15}}); (?=acc: )"),
    LazyRegex(COLON),
    _NMT_NAMES,
)

OPENNMT_EPOCHS = RowForm(
    "opennmt",
    ("; acc: ", "; ppl: "),
    LazyRegex(
        rf"\bEpoch {{1,4}}(?P<epoch>\d{{1,9}}), {{1,12}}{_STEP}/ {{0,12}}(?P<total>\d{{1,12}}); (?=acc: )"
    ),
    LazyRegex(COLON),
    _NMT_NAMES,
    epoch=1,
)

_TRAINED_ON = ("train", "training")
_HELD_OUT = ("eval", "valid", "test", "val", "validation", "valid_0", "valid_1", "eval_0", "eval_1")
_MINIMISED = ("logloss", "binary_logloss", "mlogloss", "multi_logloss", "cross_entropy", "rmse", "mse", "mae", "l1", "l2", "error",
              "merror", "binary_error", "multi_error", "rmsle", "mape", "huber", "quantile")  # fmt: skip

BOOSTED_TREES = RowForm(
    "",
    (
        "-logloss:",
        "-mlogloss:",
        "-merror:",
        *tuple(
            f"{part}-{metric}:"
            for part in ("train", "eval", "valid", "test")
            for metric in ("rmse", "mae", "error")
        ),
        *tuple(f"'s {metric}: " for metric in ("binary_logloss", "multi_logloss", "rmse", "l1", "l2")),
    ),
    LazyRegex(rf"(?:^|\s)\[{_STEP}\]\s{{1,8}}(?=[a-z]\w{{1,40}}(?:-|'s )\w{{1,40}}:)"),
    LazyRegex(rf"(?:^|(?<=\s))(?P<key>[a-z]\w{{1,40}}(?:-|'s )\w{{1,40}}): ?{VALUE}(?=[\s+]|$)"),
    {
        f"{part}{sign}{metric}": name
        for parts, name in ((_TRAINED_ON, "loss"), (_HELD_OUT, "eval_loss"))
        for part in parts
        for sign in ("-", "'s ")
        for metric in _MINIMISED
    },
)

CATBOOST = RowForm(
    "catboost",
    ("\tlearn: ", ":\ttest: "),
    LazyRegex(rf"^{_STEP}:\s{{1,4}}(?=(?:learn|test): )"),
    LazyRegex(rf"(?:^|(?<=\t))(?P<key>learn|test|test1): {VALUE}(?=\s|$)"),
    {"learn": "train_loss", "test": "eval_loss", "test1": ""},
)

RETURNN = RowForm(
    "",
    ("dev_score", "train_score"),
    # the epoch stands in three places; a "dev_score" of another program, where more is better, does not
    LazyRegex(r"^epoch (?=[ \d]{3} )\s{0,2}\d{1,3} (?=(?:train|dev)_score)"),
    LazyRegex(rf"(?:^|(?<=\s))(?P<key>(?:train|dev)_score)(?:_output(?:/output_prob)?)?: {VALUE}(?=\s|$)"),
    {"train_score": "train_loss", "dev_score": "eval_loss"},
    steps=False,
)

HOME_FORMS: tuple[RowForm, ...] = (
    DARKNET,
    TENSORPACK,
    BIGDL,
    OPENNMT,
    OPENNMT_EPOCHS,
    BOOSTED_TREES,
    CATBOOST,
    RETURNN,
)
