r"""Rows of trainers of vision models.

    [01/01 00:00:00 d2.utils.events]:  eta: 0:10:00  iter: 19  total_loss: 2.5  loss_cls: 1.5  time: 0.25  data_time: 0.01  lr: 0.001  max_mem: 1000M
    Train: 0 [  50/1251 (  4%)]  Loss: 6.5 (6.75)  Time: 0.250s,  512.00/s  (0.300s,  427.00/s)  LR: 1.000e-05  Data: 0.010 (0.020)
    Epoch: [0]  [ 10/100]  eta: 0:00:10  lr: 0.0200  loss: 1.5000 (1.7500)  time: 0.2500  data: 0.0100  max mem: 1000
    Epoch: [0][ 10/5005]  Time  0.250 ( 0.300)  Data  0.010 ( 0.020)  Loss 6.5000e+00 (6.7500e+00)  Acc@1   0.00 (  0.25)
    Train: [0/300][10/1251]  eta 1:00:00 lr 0.000010  time 0.2500 (0.3000)  loss 6.5000 (6.7500)  grad_norm 1.5000 (inf)  mem 1000MB
    [  1]    1000 || B: 4.250 | C: 6.500 | M: 5.250 | S: 1.500 | T: 17.500 || ETA: 1 day, 0:00:00 || timer: 0.250
    Train Epoch: 0 [  1024/100000 (1%)] Data (t): 0.010 Batch (t): 0.250, 4096/s, 4096/s/gpu LR: 0.000010 Logit Scale: 14.286 Loss: 2.5000 (2.7500)

Of "value (mean)" the value counts: a running mean that became nan once stays nan for the rest of the epoch.
A row of an evaluation shows running means, so only the last row of a pass counts.
"""

from __future__ import annotations

from analyzer.ingest.text.rows.forms.row_forms import COLON, UNIT, VALUE, RowForm
from analyzer.lazy_regex import LazyRegex

_AT = r"(?P<step>\d{1,12})/ {0,12}(?P<total>\d{1,12})"
_EPOCH = r"(?P<epoch>\d{1,9})"
# A value, and its mean so far in brackets, which is what counts in an evaluation.
_MEAN = VALUE.replace("(?P<value>", "(?P<ignored>") + rf"s? {{1,4}}\( {{0,8}}{VALUE}\)"
_SPACED = rf"(?:^|(?<=[\s,|;]))(?P<key>[A-Za-z][\w./@-]{{0,40}}):?\s{{1,12}}{VALUE}{UNIT}"
_TIMES = {"time": "step_time_s", "data": "data_time_s", "Time": "step_time_s", "Data": "data_time_s"}

DETECTRON2 = RowForm(
    "detectron2",
    ("  total_loss: ", "  data_time: ", "  max_mem: ", "  last_time: "),
    LazyRegex(r"(?:^|\s)iter: (?P<step>\d{1,12}) {2}(?=[A-Za-z])"),
    LazyRegex(COLON),
    {
        "time": "step_time_s",
        "last_time": "",
        "last_data_time": "",
        "max_mem": "gpu_memory_peak_gib",
        "eta": "",
    },
)

TIMM = RowForm(
    "timm",
    ("Train: ",),
    LazyRegex(rf"\bTrain: {_EPOCH} \[ {{0,8}}{_AT} \( {{0,3}}\d{{1,3}}%\)\]"),
    LazyRegex(
        rf"(?:^|(?<=[\s,]))(?:(?P<key>Loss|LR|Data|Time|Grad Norm): {{1,8}}{VALUE}(?:s,?)?(?=\s|$)|{VALUE.replace('value', 'before_unit')}(?P<unit_key>/s)(?= ))"
    ),
    {**_TIMES, "Loss": "loss", "LR": "lr", "Grad Norm": "grad_norm", "/s": "samples_per_second"},
    epoch=0,
)

TIMM_EVALUATION = RowForm(
    "timm",
    ("Test: [", "Test (EMA): ["),
    LazyRegex(rf"\bTest(?: \(EMA\))?: \[ {{0,8}}{_AT}\] {{1,4}}(?=Time: )"),
    LazyRegex(rf"(?P<key>Loss|Acc@1|Acc@5): {{1,8}}{_MEAN}"),
    {"Loss": "loss", "Acc@1": "acc", "Acc@5": "acc5"},
    validation=True,
    last_only=True,
)

METRIC_LOGGER = RowForm(
    "",
    ("]  eta: ", "] eta: "),
    LazyRegex(rf"\b(?:Epoch|Train[a-z]{{0,3}}(?: Epoch)?): {{1,3}}\[{_EPOCH}(?:/\d{{1,9}})?\] {{0,3}}\[ {{0,12}}{_AT}\] {{1,3}}eta: "),
    LazyRegex(COLON.replace(r"[\w./@-]{0,80}", r"[\w./@-]{0,80}(?: (?:mem|loss|error|acc|time|norm)\b)?")),
    {**_TIMES, "max mem": "", "iter time": "step_time_s", "img/s": "samples_per_second"},
    epoch=0,
)  # fmt: skip

METRIC_LOGGER_EVALUATION = RowForm(
    "",
    ("]  eta: ", "] eta: "),
    LazyRegex(rf"\b(?:Test|Val|Eval|Validation)(?:: EMA)?: {{1,3}}\[ {{0,12}}{_AT}\] {{1,3}}eta: "),
    LazyRegex(rf"(?:^|(?<=\s))(?P<key>[a-z][\w@]{{0,40}}): {_MEAN}"),
    {"acc1": "acc"},
    validation=True,
    last_only=True,
)

PROGRESS_METER = RowForm(
    "",
    ("Epoch: [", "Train: ["),
    LazyRegex(
        rf"\b(?:Epoch|Train): {{0,3}}\[ {{0,6}}{_EPOCH}(?:/\d{{1,9}})?\] {{0,3}}\[ {{0,12}}{_AT}\](?=[\s,:])"
    ),
    LazyRegex(_SPACED),
    {
        **_TIMES,
        "Loss": "loss",
        "mem": "",
        "eta": "",
        "Mem": "",
        "Acc@1": "accuracy",
        "Acc@5": "accuracy5",
        "Err": "loss",
        "DataLoadingTime": "data_time_s",
    },
    epoch=0,
)

PROGRESS_METER_EVALUATION = RowForm(
    "",
    ("Test: [", "Valid: ["),
    LazyRegex(rf"\b(?:Test|Valid): {{0,3}}\[ {{0,12}}{_AT}\]\s{{1,4}}(?=Time )"),
    LazyRegex(rf"(?P<key>Loss|Acc@1|Acc@5|Prec@1|Prec@5)\s{{1,8}}{_MEAN}"),
    {"Loss": "loss", "Acc@1": "acc", "Acc@5": "acc5", "Prec@1": "acc", "Prec@5": "acc5"},
    validation=True,
    last_only=True,
)

SUMMARY_OF_EVALUATION = RowForm(
    "",
    (" * Acc@1 ", " *   Acc@1 ", "* Prec@1 "),
    LazyRegex(r"(?:^|\s)\* {1,3}(?=(?:Acc|Prec)@1 )"),
    LazyRegex(rf"(?P<key>Acc@1|Acc@5|Prec@1|Prec@5|loss) {VALUE}(?=\s|$)"),
    {"Acc@1": "acc", "Acc@5": "acc5", "Prec@1": "acc", "Prec@5": "acc5"},
    validation=True,
)

OPEN_CLIP = RowForm(
    "open_clip",
    ("Batch (t): ",),
    LazyRegex(rf"Train Epoch: {_EPOCH} \[ {{0,12}}{_AT} \( {{0,3}}\d{{1,3}}%\)\]"),
    LazyRegex(
        rf"(?:^|(?<=[\s,]))(?:(?P<key>[A-Z][\w ]{{0,40}}?(?: \(t\))?): {{1,4}}{VALUE}(?![\w.%])|{VALUE.replace('value', 'before_unit')}(?P<unit_key>/s)(?=[ ,]))"
    ),
    {"Data (t)": "data_time_s", "Batch (t)": "step_time_s", "LR": "lr", "Loss": "loss", "/s": "samples_per_second"},
    steps=False,
)  # fmt: skip

# Demucs and AudioCraft: "Train | Epoch 2 | 143/573 | 1.3 it/sec | Loss 0.25 | Grad 0.5"
FLASHY = RowForm(
    "",
    ("Train | Epoch ",),
    LazyRegex(rf"\bTrain \| Epoch {_EPOCH} \| {_AT} \|"),
    LazyRegex(rf"\| (?P<key>[A-Z][a-z]{{0,40}})[ =]{VALUE}(?=\s|$)"),
    {"Loss": "loss", "Grad": "grad_norm"},
    epoch=1,
)

FLASHY_EVALUATION = RowForm(
    "",
    ("Valid Summary | Epoch ",),
    LazyRegex(rf"\bValid Summary \| Epoch {_EPOCH}(?= \|)"),
    LazyRegex(rf"\| (?P<key>[A-Z][a-z]{{0,40}})[ =]{VALUE}(?=\s|$)"),
    {"Loss": "loss", "Best": ""},
    validation=True,
)

# CycleGAN and pix2pix: "(epoch: 1, iters: 100, time: 0.25, data: 0.5) G_GAN: 1.5 D_real: 0.5"; its losses are
# called loss_<name> in its code. Its time is that of the one iteration that prints, often the one that draws samples
# too: no mean of the rows between, so it tells nothing about the others.
_GAN_LOSSES = (
    "G_GAN",
    "G_L1",
    "D_real",
    "D_fake",
    "D_A",
    "G_A",
    "cycle_A",
    "idt_A",
    "D_B",
    "G_B",
    "cycle_B",
    "idt_B",
)
CYCLE_GAN = RowForm(
    "",
    (", iters: ",),
    LazyRegex(rf"\(epoch: {_EPOCH}, iters: (?P<step>\d{{1,12}}), (?=time: )"),
    LazyRegex(rf"(?:^|(?<=[\s,]))(?P<key>[A-Za-z]\w{{0,40}}): {VALUE}(?=[\s,)]|$)"),
    {**_TIMES, "time": "printing_step_time_s", **{name: f"loss_{name}" for name in _GAN_LOSSES}},
    restarts=True,
)

# Caffe names the step in the line above: "Train net output #0: loss = 1.5 (* 1 = 1.5 loss)". That line has the
# loss, a mean over some steps; what stands here are the outputs of the last step.
CAFFE = RowForm(
    "caffe",
    ("Train net output #",),
    LazyRegex(r"\bTrain net output #\d{1,6}: "),
    LazyRegex(rf"(?:^|(?<= ))(?P<key>[A-Za-z][\w./-]{{0,80}}) = {VALUE}(?=\s|$)"),
    {"loss": "output_loss"},
    follows=True,
)

CAFFE_EVALUATION = RowForm(
    "caffe",
    ("Test net output #",),
    LazyRegex(r"\bTest net output #\d{1,6}: "),
    LazyRegex(rf"(?:^|(?<= ))(?P<key>[A-Za-z][\w./-]{{0,80}}) = {VALUE}(?=\s|$)"),
    validation=True,
)

# The total stands under "T"; the parts are of boxes, classes, masks and segments.
YOLACT = RowForm(
    "yolact",
    (" || ETA: ",),
    LazyRegex(rf"(?:^|\s)\[ {{0,6}}{_EPOCH}\] {{1,12}}(?P<step>\d{{1,12}}) \|\| (?=[A-Z]: )"),
    LazyRegex(rf"(?:^|(?<=[| ]))(?P<key>[BCMSPEIT]|timer): {VALUE}(?=\s|$)"),
    {"T": "loss", "B": "loss_box", "C": "loss_class", "M": "loss_mask", "S": "loss_segment", "P": "loss_proto",
     "E": "loss_class_existence", "I": "loss_iou", "timer": "step_time_s"},
)  # fmt: skip

# DGCNN and the networks for point clouds made of it: "Train 0, loss: 2.500000, train acc: 0.250000, train avg acc: 0.125000"
DGCNN = RowForm(
    "",
    (", train acc: ",),
    LazyRegex(r"^(?:\S{1,40} )?Train (?P<step>\d{1,9}), (?=loss: )"),
    LazyRegex(rf"(?:^|(?<=, ))(?P<key>loss|train acc): {VALUE}(?=,|\s|$)"),
    {"train acc": "accuracy"},
)

DGCNN_EVALUATION = RowForm(
    "",
    (", test acc: ",),
    LazyRegex(r"^(?:\S{1,40} )?Test (?P<step>\d{1,9}), (?=loss: )"),
    LazyRegex(rf"(?:^|(?<=, ))(?P<key>loss|test acc): {VALUE}(?=,|\s|$)"),
    {"test acc": "acc"},
    validation=True,
)

VISION_FORMS: tuple[RowForm, ...] = (
    DETECTRON2,
    TIMM,
    TIMM_EVALUATION,
    METRIC_LOGGER,
    METRIC_LOGGER_EVALUATION,
    PROGRESS_METER,
    PROGRESS_METER_EVALUATION,
    SUMMARY_OF_EVALUATION,
    OPEN_CLIP,
    CYCLE_GAN,
    FLASHY,
    FLASHY_EVALUATION,
    CAFFE,
    CAFFE_EVALUATION,
    YOLACT,
    DGCNN,
    DGCNN_EVALUATION,
)
