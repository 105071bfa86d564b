"""Rows of trainers of speech models: ESPnet, icefall, WeNet.

    (trainer:762) INFO: 2epoch:train:101-200batch: iter_time=0.010, forward_time=0.100, loss=12.5, grad_norm=1.5, optim0_lr0=1e-05, train_time=0.250
    Epoch 1, batch 50, loss[loss=0.5, simple_loss=0.25, over 1000.00 frames. ], tot_loss[loss=0.75, over 50000.00 frames. ], batch size: 8, lr: 4.50e-03, grad_scale: 32.0
    TRAIN Batch 1/100 loss 12.500000 loss_att 10.000000 loss_ctc 15.000000 lr 0.00001000 rank 0

Each starts its steps again at an epoch whose length it does not print.
"""

from __future__ import annotations

from analyzer.ingest.lazy_regex import LazyRegex
from analyzer.ingest.metric_lines.row_forms import EQUALS, SPACED, VALUE, RowForm

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

SPEECH_FORMS: tuple[RowForm, ...] = (ESPNET, ESPNET_EVALUATION, ICEFALL, ICEFALL_EVALUATION, WENET)
