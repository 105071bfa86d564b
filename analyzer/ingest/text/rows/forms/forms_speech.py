"""Rows of trainers of speech models: ESPnet, icefall, WeNet, Flashlight, Tacotron 2, FunASR, PyTorch-Kaldi, RVC.

    (trainer:762) INFO: 2epoch:train:101-200batch: iter_time=0.010, forward_time=0.100, loss=12.5, grad_norm=1.5, optim0_lr0=1e-05, train_time=0.250
    Epoch 1, batch 50, loss[loss=0.5, simple_loss=0.25, over 1000.00 frames. ], tot_loss[loss=0.75, over 50000.00 frames. ], batch size: 8, lr: 4.50e-03, grad_scale: 32.0
    TRAIN Batch 1/100 loss 12.500000 loss_att 10.000000 loss_ctc 15.000000 lr 0.00001000 rank 0
    epoch:        8 | nupdates:        2000 | lr: 0.400000 | lrcriterion: 0.000000 | runtime: 00:01:00 | bch(ms): 500.00 | loss:   30.50000 | train-TER: 90.00 | dev-WER: 95.00 | thrpt(sec/sec): 170.00
    Train loss 2000 0.250000 Grad Norm 0.500000 1.50s/it
    [root][INFO] - train, rank: 0, epoch: 0/10, data_slice: 0/1, step_in_slice: 1/50, step_in_epoch: 1, total step: 1, (loss_avg_rank: 2.500), (loss_avg_slice: 2.750), (ppl_avg_slice: 1.250e+01), (acc_avg_slice: 0.000), (lr: 1.000e-05), ...
    ep=01 tr=['train'] loss=2.500 err=0.500 valid=dev loss=2.250 err=0.450 lr_architecture1=0.0008 time(s)=1000
    LOG (nnet3-train[5.5]:PrintStatsForThisPhase():nnet-training.cc:121) Average objective function for 'output' for minibatches 10-19 is -2.5 over 12800 frames.
    INFO:run:loss_disc=3.500, loss_gen=2.500, loss_fm=10.250, loss_mel=20.500, loss_kl=1.250

Those from ESPnet to WeNet start their steps again at an epoch whose length they do not print.
"""

from __future__ import annotations

from analyzer.ingest.text.rows.forms.row_forms import EQUALS, SPACED, VALUE, RowForm
from analyzer.lazy_regex import LazyRegex

_EPOCH = r"(?P<epoch>\d{1,9})"
_STEP = r"(?P<step>\d{1,12})"
_ESPNET_NAMES = {
    "iter_time": "data_time_s",
    "train_time": "step_time_s",
    "clip": "",
    "optim0_lr0": "optim0_lr0",
}

ESPNET = RowForm(
    "espnet",
    ("epoch:train:",),
    LazyRegex(rf"\b{_EPOCH}epoch:train:\d{{1,12}}-{_STEP}batch: "),
    LazyRegex(EQUALS),
    _ESPNET_NAMES,
    restarts=True,
    window=True,
)

ESPNET_EVALUATION = RowForm(
    "espnet",
    ("epoch results: [train]",),
    LazyRegex(rf"\b{_EPOCH}epoch results: \[train\] .{{1,3000}}?\[valid\] "),
    LazyRegex(EQUALS),
    {"iter_time": "", "forward_time": "", "time": "", "total_count": "", "gpu_max_cached_mem_GB": ""},
    validation=True,
)

ICEFALL = RowForm(
    "icefall",
    (" loss[loss=", "train_loss[loss="),
    LazyRegex(rf"\bEpoch {_EPOCH}, batch (?P<batch>\d{{1,12}}), (?:global_batch_idx: {_STEP}, )?"),
    LazyRegex(
        rf"(?:(?<!tot_)loss\[|\b(?=lr: |grad_scale: ))(?P<key>loss|lr|grad_scale)(?:=|: ){VALUE}(?=[,\s]|$)"
    ),
)

ICEFALL_EVALUATION = RowForm(
    "icefall",
    (", validation: loss=",),
    LazyRegex(rf"\bEpoch {_EPOCH}, validation: "),
    LazyRegex(EQUALS),
    validation=True,
)

WENET = RowForm(
    "wenet",
    ("TRAIN Batch ", "TRAIN | "),
    LazyRegex(rf"\bTRAIN\b[^:]{{0,40}}?\bBatch {_EPOCH}/{_STEP} (?=loss )"),
    LazyRegex(SPACED),
    {"rank": ""},
    restarts=True,
)

# Error rates are percentages; what stands before "-loss" or "-WER" is the name of a list of files.
FLASHLIGHT = RowForm(
    "flashlight",
    (" | lrcriterion: ",),
    LazyRegex(rf"\bepoch: {{1,12}}{_EPOCH} \|(?: nupdates: {{1,15}}{_STEP} \|)?"),
    LazyRegex(rf"(?:^|(?<=\| ))(?P<key>[A-Za-z][\w./-]{{0,60}}(?:\((?:ms|sec/sec)\))?): {{1,15}}{VALUE}(?=\s|$)"),
    {"train-TER": "train_ter", "train-WER": "train_wer", "bch(ms)": "step_time_ms", "smp(ms)": "data_time_ms",
     "fwd(ms)": "", "crit-fwd(ms)": "", "bwd(ms)": "", "optim(ms)": "", "avg-isz": "", "avg-tsz": "", "max-tsz": "",
     "hrs": "", "thrpt(sec/sec)": "", "lrcriterion": "", "runtime": ""},
)  # fmt: skip

# The first number after the word is the step, not the loss; Mellotron and Flowtron kept the lines.
TACOTRON = RowForm(
    "tacotron2",
    (" Grad Norm ",),
    LazyRegex(rf"\bTrain (?=loss {_STEP} )"),
    LazyRegex(rf"(?:^|(?<=\s))(?P<key>loss|Grad Norm) (?:\d{{1,12}} )?{VALUE}(?=\s|$)"),
    {"Grad Norm": "grad_norm"},
)

TACOTRON_EVALUATION = RowForm(
    "tacotron2",
    ("Validation loss ",),
    LazyRegex(rf"\bValidation (?=loss {_STEP}: )"),
    LazyRegex(rf"(?:^|(?<=\s))(?P<key>loss) \d{{1,12}}: {{1,12}}{VALUE}(?=\s|$)"),
    validation=True,
)

# The losses of "slice" are running means, and the perplexity of an untrained CTC model means nothing.
FUNASR = RowForm(
    "funasr",
    ("(loss_avg_rank: ",),
    LazyRegex(
        rf"\btrain, rank: \d{{1,6}}, epoch: {_EPOCH}/\d{{1,9}}, .{{1,200}}?\btotal step: {_STEP}, (?=\(loss_avg_rank)"
    ),
    LazyRegex(rf"\((?P<key>loss_avg_rank|lr): {VALUE}\)"),
    {"loss_avg_rank": "loss"},
)

# One row per epoch: the first loss is that of training.
PYTORCH_KALDI = RowForm(
    "pytorch-kaldi",
    ("'] loss=",),
    LazyRegex(rf"\bep={_STEP} tr=\["),
    LazyRegex(rf"(?:^|(?<=\s))(?P<key>loss|err|lr_\w{{1,60}})={VALUE}(?=\s|$)"),
    {"err": "train_err"},
)

# The step stands alone in the row above, without a word that tells it.
RVC = RowForm(
    "",
    ("loss_disc=",),
    LazyRegex(r"(?<![\w.])(?=loss_disc=)"),
    LazyRegex(rf"(?:^|(?<=[\s,]))(?P<key>loss_(?:disc|gen|fm|mel|kl))={VALUE}(?=[,\s]|$)"),
    {
        key: f"{key.removeprefix('loss_')}_loss"
        for key in ("loss_disc", "loss_gen", "loss_fm", "loss_mel", "loss_kl")
    },
    steps=False,
)

# The mean log-probability per frame, which training raises: it is no loss.
KALDI = RowForm(
    "",
    ("objective function for '",),
    LazyRegex(
        r"\b[Aa]verage objective function for '[\w.-]{1,60}' for minibatches \d{1,12}-(?P<step>\d{1,12}) (?=is )"
    ),
    LazyRegex(rf"(?P<key>is) {VALUE} over "),
    {"is": "objective_function"},
)

SPEECH_FORMS: tuple[RowForm, ...] = (
    KALDI,
    ESPNET,
    ESPNET_EVALUATION,
    ICEFALL,
    ICEFALL_EVALUATION,
    WENET,
    FLASHLIGHT,
    TACOTRON,
    TACOTRON_EVALUATION,
    FUNASR,
    PYTORCH_KALDI,
    RVC,
)
