"""Rows of trainers of language models, and of reinforcement learning on them.

    step: 10  loss:  8.1250  grad_norm:  1.5000  memory: 40.00GiB(50.00%)  tps: 1,024  tflops: 12.50  mfu: 4.00%
    iteration: 10 / 1000 | consumed_tokens: 1.05M | elapsed_time_per_iteration_ms: 281 | lm_loss: 10.9 | lr: 3e-05 | grad_norm: 1.2
    step   10/19560 | loss 8.125000 (+nanz)| norm 1.5000 (+nanz)| lr 4.29e-06 | 250.0 ms | 40.0% bf16 MFU | 1024 tok/s
    iter 10: loss 4.1250, time 250.00ms, mfu 30.00%
    completed step: 10, seconds: 0.250, TFLOP/s/device: 100.5, Tokens/s/device: 1024.0, total_weights: 1000, loss: 8.125
    Epoch 1 | iter 16 step 2 | loss train: 2.250, val: n/a | iter time: 250.00 ms (step) remaining time: 0:10:00
    Step 10 | loss:2.25 lr:1e-05 tokens_per_second_per_gpu:1024.0
    Training epoch 0, iteration 10/99 | lr: 1e-05 | global_batch_size: 8 | global_step: 10 | reduced_train_loss: 8.125 | train_step_timing in s: 0.25
    steps: 10 loss: 8.1250 iter time (s): 0.250 samples/sec: 32.000
    loss: 8.125, learning_rate: 1e-05, global_step: 10, interval_runtime: 2.5, interval_samples_per_second: 32.0
    { Epoch:[  1/  2], step:[   10/ 1000], loss: 8.125, per_step_time: 250ms, lr: 1e-05, overflow cond: False, loss_scale: 65536.0 }
    Iter 25: Train loss 2.250, Learning Rate 1.000e-05, It/sec 1.000, Tokens/sec 1024.000, Trained Tokens 9000, Peak mem 8.104 GB
    step:10 - actor/pg_loss:0.125 - actor/grad_norm:0.500 - critic/score/mean:0.250

verl prints three decimals, so that any usual learning rate reads 0.000: such a rate says nothing and is left
out. The z-scores of llm.c and the first times of some loops are nan for want of values: they are no metrics.
"""

from __future__ import annotations

from analyzer.ingest.text.rows.forms.row_forms import COLON, UNIT, VALUE, RowForm
from analyzer.ingest.text.rows.printed_numbers import NUMBER
from analyzer.lazy_regex import LazyRegex

_STEP = r"(?P<step>\d{1,12})"
_TOTAL = r"(?P<total>\d{1,12})"

TORCHTITAN = RowForm(
    "torchtitan",
    ("  grad_norm: ", "  memory: "),
    LazyRegex(rf"\bstep: {{1,12}}{_STEP} {{1,4}}(?=loss:|lr:)"),
    LazyRegex(COLON.replace(UNIT, r"(?:(?P<unit>GiB|%))?(?![\w.])")),
    {"memory": "gpu_memory_reserved_gib", "wps": "tokens_per_second_per_gpu", "step": ""},
)

NANOTRON = RowForm(
    "nanotron",
    (" | consumed_tokens: ", " | consumed_samples: "),
    LazyRegex(rf"\biteration: {_STEP} / {_TOTAL} \|"),
    LazyRegex(COLON),
    {"consumed_tokens": "", "consumed_samples": "", "global_batch_size": "", "hardware_tflops_per_gpu": "",
     "time_per_iteration_ms": "step_time_ms", "cuda_memory_allocated": "", "cuda_max_memory_reserved": "",
     "hd_total_memory_tb": "", "hd_used_memory_tb": "", "hd_free_memory_tb": "", "eta": ""},
    window=True,
)  # fmt: skip

LLM_C = RowForm(
    "llm.c",
    ("z)| norm ", "z)| lr "),
    LazyRegex(rf"\bstep {{1,8}}{_STEP}/{_TOTAL} \| (?=(?:train )?loss )"),
    LazyRegex(
        rf"(?:^|(?<=[|] ))(?:train )?(?:(?P<key>loss|norm|lr) {{1,8}}{VALUE}(?= )|{VALUE.replace('value', 'before_unit')} ?(?P<unit_key>ms|% bf16 MFU|tok/s))"
    ),
    {"ms": "step_time_s", "% bf16 MFU": "mfu", "tok/s": "tokens_per_second"},
)

NANOGPT = RowForm(
    "",
    (", time ", ", time: ", ", iter time: "),
    LazyRegex(rf"\biter(?:ation)? {_STEP}(?: step \d{{1,12}})?:(?= (?:train )?loss)"),
    LazyRegex(rf"(?:^|(?<=[\s,|;]))(?P<key>loss|(?:iter )?time|mfu):? {{1,12}}{VALUE}{UNIT}"),
    {"time": "step_time_s", "iter time": "step_time_s"},
)

MAXTEXT = RowForm(
    "maxtext",
    ("completed step: ",),
    LazyRegex(rf"completed step: {_STEP},"),
    LazyRegex(COLON),
    {"seconds": "step_time_s", "total_weights": "", "moe_lb_loss": "load_balancing_loss", "train_step_time_ms": "", "Tokens/s/chip": ""},
)  # fmt: skip

LITGPT = RowForm(
    "litgpt",
    (" | loss train: ",),
    LazyRegex(rf"\biter {_STEP} step \d{{1,12}} \| (?=loss train: )"),
    LazyRegex(rf"(?P<key>loss train|val|iter time|lr): {VALUE}{UNIT}"),
    {"loss train": "loss", "val": "val_loss", "iter time": "step_time_s"},
)

PADDLENLP = RowForm(
    "paddlenlp",
    (", interval_runtime: ", ", interval_samples_per_second: "),
    LazyRegex(rf"\bglobal_step: {_STEP}, "),
    LazyRegex(COLON),
    {"global_step": "", "interval_runtime": "", "progress_or_epoch": "epoch"},
    from_start=True,
)

MINDFORMERS = RowForm(
    "mindspore",
    ("], step:[",),
    LazyRegex(rf"Epoch:\[ {{0,8}}(?P<epoch>\d{{1,9}})/ {{0,8}}\d{{1,9}}\], step:\[ {{0,12}}{_STEP}/ {{0,12}}{_TOTAL}\],"),
    LazyRegex(COLON),
    {"per_step_time": "step_time_s", "train_throughput_per_npu": "", "global_norm": "grad_norm"},
    epoch=1,
)  # fmt: skip

VERL = RowForm(
    "verl",
    (" - actor/", " - critic/", " - training/", " - val-core/", " - global_seqlen/", " - train/"),
    LazyRegex(rf"(?:^|\s)step: ?{_STEP}(?= - [A-Za-z])"),
    LazyRegex(
        rf"(?<= - )(?!(?:actor|critic)/lr:0\.0{{1,6}}(?: |$))(?P<key>[A-Za-z][^:\n]{{0,120}}?): ?(?:np\.float(?:32|64)\(|tensor\()?(?P<value>{NUMBER})(?=\)| - |\s|$)"
    ),
    {"training/global_step": "", "training/epoch": "epoch"},
)

# The step is rounded ("step:10K"), so it names no place.
LEROBOT = RowForm(
    "lerobot",
    ("updt_s:",),
    LazyRegex(r"\bstep:[\d.]{1,12}[KMB]?(?= smpl:)"),
    LazyRegex(rf"(?<= )(?P<key>loss|grdn|lr|updt_s|data_s|epch):{VALUE}(?=\s|$)"),
    {"grdn": "grad_norm", "updt_s": "step_time_s", "data_s": "data_time_s", "epch": "epoch"},
    steps=False,
)

MLX = RowForm(
    "mlx",
    (", It/sec ", "Val took "),
    LazyRegex(rf"\bIter {_STEP}: (?=(?:Train|Val) loss )"),
    LazyRegex(
        rf"(?:^|(?<=[\s,]))(?P<key>Train loss|Val loss|Learning Rate|It/sec|Tokens/sec|Peak mem) {VALUE}{UNIT}"
    ),
    {"Train loss": "loss", "Val loss": "eval_loss", "Learning Rate": "lr", "It/sec": "steps_per_second",
     "Tokens/sec": "tokens_per_second", "Peak mem": "max_memory_allocated_gb"},
)  # fmt: skip

# The log of build-nanogpt: "250 val 3.5000", "250 hella 0.2500", "250 train 3.250000"
BUILD_NANOGPT = RowForm(
    "nanogpt",
    (" train ", " hella ", *(f" val {number}." for number in range(13))),
    LazyRegex(r"^(?P<step>\d{1,9}) (?=(?:train|val|hella) \S{1,20}$)"),
    LazyRegex(rf"^(?P<key>train|val|hella) {VALUE}$"),
    {"train": "loss", "val": "eval_loss", "hella": "hellaswag_accuracy"},
)

# Each epoch is judged on two sets; the score is of the one that the line names.
FLAIR = RowForm(
    "flair",
    ("DEV : loss ", "TEST : loss "),
    LazyRegex(r"(?:^|\s)(?=(?:DEV|TEST) : loss )"),
    LazyRegex(rf"(?P<key>(?:DEV|TEST) : loss) {VALUE}(?=\s|$)"),
    {"DEV : loss": "dev_loss", "TEST : loss": "test_loss"},
)

# The table of each epoch has two columns: "INFO - allennlp.training.tensorboard_writer - loss      |     0.500  |     0.625"
ALLENNLP = RowForm(
    "allennlp",
    tuple(f"|     {number}." for number in range(10)),
    LazyRegex(r"(?:^| - )(?=loss {1,40}\| {2}[\s\d]{4}\.\d{3} {2}\| {2}[\s\d]{4}\.\d{3}\s*$)"),
    LazyRegex(rf"(?P<key>^loss|\|)(?: {{1,40}}\|)? {{1,20}}{VALUE}(?=\s|$)"),
    {"loss": "train_loss", "|": "eval_loss"},
)

LLM_C_SHORT = RowForm(
    "",
    (" trl:", " tel:"),
    LazyRegex(r"^s:(?P<step>\d{1,12}) (?=trl:|tel:)"),
    LazyRegex(COLON),
    {"trl": "loss", "tel": "eval_loss", "norm": "grad_norm"},
)

LANGUAGE_FORMS: tuple[RowForm, ...] = (
    TORCHTITAN,
    NANOTRON,
    LLM_C,
    LLM_C_SHORT,
    NANOGPT,
    MAXTEXT,
    LITGPT,
    PADDLENLP,
    MINDFORMERS,
    VERL,
    LEROBOT,
    MLX,
    BUILD_NANOGPT,
    FLAIR,
    ALLENNLP,
)
