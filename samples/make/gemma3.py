"""Gemma 3 in fp16: the residual stream leaves fp16's range, and autograd reports NaN.

Planted is one channel of the tiny Gemma 3 model that grows from layer to layer at the first
token, as it does in the real family (few channels, norm gains in the hundreds). Which layer
passes 65504 follows from the gains; every overflow, NaN and message after that is the library's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from .common import (
    RunResult,
    Source,
    cached,
    copy_model,
    new_run_dir,
    publish,
    run_training,
    write_source,
    write_yaml,
)
from .tiny_models import (
    VOCAB,
    MarkovData,
    cut_down_safetensors,
    gemma3,
    make_tokenizer,
    pretrain,
    save_published,
    with_bos,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LAYERS = 6
BOS = 2
CHANNEL = 17  # the residual channel that grows
NEURON = 0  # the MLP neuron that feeds it, at the first token only
SPECIAL = {"<pad>": 0, "<eos>": 1, "<bos>": 2, "<start_of_turn>": 4, "<end_of_turn>": 5}
PROMPT = 8  # words of a row that belong to the prompt
CLIFF = {2: 2500.0, 3: 2500.0, 4: 2500.0, 5: 2500.0}  # each layer adds 8 * gain: 65504 is passed in 5
EARLY = {0: 2500.0, 1: 2500.0, 2: 2500.0, 3: 2500.0}  # the same, passed two layers before the end
SMALL = {2: 100.0, 3: 100.0, 4: 100.0}  # stays far below 65504 in the forward pass
NONE: dict[int, float] = {}


def _tiny_gemma() -> Any:
    """The untrained model, with Gemma's own special token ids."""
    return gemma3(LAYERS, bos_token_id=BOS, eos_token_id=1, pad_token_id=0, attn_implementation="sdpa")


def _first_token_direction(mlp_input: torch.Tensor) -> torch.Tensor:
    """A direction that is 1 at the first token and negative at all others (logistic fit)."""
    first, others = mlp_input[:, 0], mlp_input[:, 1:].flatten(0, 1)
    weight = torch.zeros(mlp_input.shape[-1], requires_grad=True)
    optimizer = torch.optim.LBFGS([weight], max_iter=400, line_search_fn="strong_wolfe")

    def cost() -> torch.Tensor:
        optimizer.zero_grad()
        positive = torch.nn.functional.softplus(2 - first @ weight).mean()
        negative = torch.nn.functional.softplus(3 * (others @ weight + 1)).mean()
        value = positive + 20 * negative + 1e-4 * weight.square().sum()
        value.backward()
        return value

    optimizer.step(cost)
    weight = weight.detach()
    return weight / (first.mean(0) @ weight)


@torch.no_grad()
def _plant(model: Any, rows: torch.Tensor, gains: Mapping[int, float]) -> None:
    """Let the MLPs of some layers push one channel at the first token, through a large norm gain."""
    for index, gain in gains.items():
        layer, seen = model.model.layers[index], []
        hook = layer.mlp.register_forward_pre_hook(lambda _m, inputs, seen=seen: seen.append(inputs[0]))
        model(input_ids=rows[:16])
        hook.remove()
        with torch.enable_grad():
            direction = _first_token_direction(seen[0].detach())
        layer.mlp.gate_proj.weight[NEURON] = 8 * direction
        layer.mlp.up_proj.weight[NEURON] = 8 * direction
        layer.mlp.down_proj.weight[:, NEURON] = 0
        layer.mlp.down_proj.weight[CHANNEL, :] = 0
        layer.mlp.down_proj.weight[CHANNEL, NEURON] = 1
        layer.post_feedforward_layernorm.weight[CHANNEL] = gain


def _base(gains: Mapping[int, float]) -> Path:
    """The published base model with these gains planted, pretrained once in fp32, saved in bf16."""

    def build(path: Path) -> None:
        torch.manual_seed(0)
        model, rows = _tiny_gemma(), with_bos(MarkovData(256, 64).stacked(), BOS)
        pretrain(model, rows)
        _plant(model, rows, gains)
        tokenizer = make_tokenizer(SPECIAL, bos="<bos>", eos="<eos>", pad="<pad>")
        save_published(model, tokenizer, path, torch.bfloat16)

    name = "-".join(f"{index}x{gain:g}" for index, gain in gains.items())
    return cached(f"gemma3-{name or 'plain'}", build)


def _write_rows(path: Path) -> None:
    """The fine-tuning data: the language of the pretraining with 60 words swapped."""
    words = torch.arange(VOCAB)
    swapped = torch.arange(440, 500)
    order = torch.randperm(len(swapped), generator=torch.Generator().manual_seed(3))
    words[swapped] = swapped[order]
    tokenizer = make_tokenizer(SPECIAL, bos="<bos>", eos="<eos>", pad="<pad>")
    with path.open("w", encoding="utf-8") as file:
        for row in words[MarkovData(128, 63, seed=7).stacked()].tolist():
            prompt, answer = tokenizer.decode(row[:PROMPT]), tokenizer.decode(row[PROMPT:])
            file.write(json.dumps({"prompt": prompt, "completion": answer}) + "\n")


CONFIG: dict[str, Any] = {
    "model_name_or_path": "model",
    "train_file": "train.jsonl",
    "output_dir": "out",
    "max_seq_length": 64,
    "fp16": True,
    "bf16": False,
    "attn_implementation": "sdpa",
    "torch_compile": True,
    "torch_compile_backend": "aot_eager",
    "lora_r": 8,
    "lora_alpha": 16,
    "lora_target_modules": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    "per_device_train_batch_size": 8,
    "max_steps": 80,
    "learning_rate": 2e-3,
    "lr_scheduler_type": "linear",
    "warmup_steps": 5,
    "max_grad_norm": 1.0,
    "init_loss_scale": 65536.0,
    "detect_anomaly": True,
    "on_backward_error": "skip",
    "max_failed_steps": 20,
    "probe_activations": True,
    "probe_gradients": False,
    "seed": 3407,
}


MESSAGE = "RuntimeError: Function 'CompiledFunctionBackward' returned nan values in its 0th output."
WRITEUP = (
    "unslothai/unsloth#2044, 'Gemma 3 Fine Tuning Bug - NaN Gradients' (fp16 on a T4: anomaly mode "
    "raises in CompiledFunctionBackward, hooks show NaN gradients in most modules)"
)
PLANTED = (
    "one MLP neuron of some layers fires at the first token only and feeds residual channel 17 "
    "through a large post_feedforward_layernorm gain (8 times the gain is added in each such layer; "
    "the gains are in model/model.safetensors, cut down to the norms): "
)
GENUINE = (
    "the stock Gemma 3 classes, 300 steps of fp32 pretraining, fp16 and bf16 arithmetic on the CPU, "
    "autocast, torch.compile (aot_eager, one graph a layer and one for head and loss), GradScaler, "
    "autograd's anomaly mode, PEFT: every number, message and traceback is theirs. "
)
LIMITS = (
    "not Unsloth's code: no Triton kernels, no 4-bit weights, no T4; which layer passes 65504 is "
    "tuned. The loss of a single step is that of 8 sequences and scatters by about 0.3. "
)
NO_SHIMS = "none besides the neutral host name; PyTorch runs fp16 on the CPU as is, about ten times slower."


@dataclass(frozen=True)
class Case:
    """One sample: what differs from CONFIG, the planted gains, and the texts of its SOURCE.md."""

    title: str
    gains: Mapping[int, float]
    changes: Mapping[str, Any]
    fails: bool
    planted: str
    shows: str
    limits: str = ""

    def make(self, dest: Path) -> None:
        """Run the training script once and publish its run directory."""
        run_dir = new_run_dir(dest.name)
        copy_model(_base(self.gains), run_dir)
        _write_rows(run_dir / "train.jsonl")
        write_yaml(run_dir / "train_config.yaml", CONFIG | dict(self.changes))
        script = Path(__file__).with_name("gemma3_train.py")
        result = run_training(script, run_dir, env={"PYTHONHASHSEED": "0"}, expect_rc=int(self.fails))
        self._expect(result)
        publish(run_dir, dest, _keep_evidence(run_dir))
        source = Source(
            title=self.title,
            planted=self.planted,
            genuine=GENUINE,
            shims=NO_SHIMS,
            shows=self.shows,
            writeup=WRITEUP,
            limits=LIMITS + self.limits,
            seed=f"{(CONFIG | dict(self.changes))['seed']} (fine-tuning), 0 (pretraining)",
            packages=("torch", "transformers", "peft", "tensorboard"),
        )
        write_source(dest, source, result)

    def _expect(self, result: RunResult) -> None:
        """Refuse a run that did not show what it is a sample of."""
        text = result.text()
        if self.fails and not text.rstrip().endswith(MESSAGE):
            raise RuntimeError(f"the run did not end with {MESSAGE!r}")
        if not self.fails and "training finished: 80 steps" not in text:
            raise RuntimeError("the run did not finish")


def _keep_evidence(run_dir: Path) -> list[str]:
    """Cut the model file down to the norm gains; returns the files to publish."""
    norms = [
        f"model.layers.{i}.{kind}_layernorm.weight"
        for i in range(LAYERS)
        for kind in ("input", "post_attention", "pre_feedforward", "post_feedforward")
    ]
    cut_down_safetensors(run_dir / "model" / "model.safetensors", [*norms, "model.norm.weight"])
    return [
        "train.log",
        "train_config.yaml",
        "model/*.json",
        "model/model.safetensors",
        "out/adapter_config.json",
        "out/runs/events.out.tfevents.*",
    ]


GROWING = PLANTED + "gain 2500 in layers 2 to 5, so that the channel reaches 79900 in the last layer. "
BF16 = {"fp16": False, "bf16": True}
CASES = {
    "failed/gemma3-fp16-compiled-backward-nan": Case(
        title="Gemma 3, LoRA in fp16: every backward pass returns NaN while the loss is finite",
        gains=CLIFF,
        changes={},
        fails=True,
        planted=GROWING,
        shows="the forward hooks print absmax 19820, 39810, 59780 and then inf in the last layer, at the "
        "first token, whose label is masked: the loss stays finite (4.28 at step 1). The script halves "
        "the loss scale after each failed backward pass: 65536 down to 0.0625 in 20 steps without one "
        "good step, then it gives up at step 21 with the anomaly error. Halving cannot help, because "
        "the inf is made in the forward pass. `fixed/gemma3-bf16-fixed` differs in fp16/bf16 only.",
        limits="No weight is ever updated, so the drift of the printed losses is batch noise.",
    ),
    "failed/gemma3-fp16-anomaly-first-step": Case(
        title="Gemma 3, LoRA in fp16: anomaly mode ends the run at the first backward pass",
        gains=EARLY,
        changes={"on_backward_error": "raise", "probe_gradients": True},
        fails=True,
        planted=PLANTED + "gain 2500 in layers 0 to 3, so that 65504 is passed in layer 3 of 6. ",
        shows="the forward hooks print absmax 19970, 39940, 59840 and inf in layer 3, NaN after it (probe "
        "loss nan); the backward hooks print NaN gradients in nearly all modules, last layer first; "
        "step 1 ends with the anomaly error at loss scale 65536.",
        limits="The backward hooks run in a separate eager pass before compilation, without anomaly mode.",
    ),
    "healthy/gemma3-fp16-anomaly-false-alarm": Case(
        title="Gemma 3, LoRA in fp16: the same anomaly message from a model that is sound",
        gains=NONE,
        changes={"init_loss_scale": 2.0**26},
        fails=False,
        planted="an initial loss scale of 2^26, too high for any fp16 model; the model has nothing planted. ",
        shows="steps 1 to 5 raise the same error while the loss is finite and the forward hooks print "
        "absmax below 12; the script halves the scale each time; from scale 1048576 on the run trains "
        "(mean loss 3.92 in the first ten good steps, 2.85 in the last ten) and finishes.",
        limits="Steps 6 and 29 overflow (grad_norm inf) and are skipped by GradScaler, which is normal.",
    ),
    "healthy/gemma3-fp16-anomaly-off-recovers": Case(
        title="Gemma 3, LoRA in fp16: overflow in the first backward passes, then a good run",
        gains=SMALL,
        changes={"detect_anomaly": False, "probe_activations": False},
        fails=False,
        planted=PLANTED + "gain 100 in layers 2 to 4: the channel reaches 2400, far inside fp16. ",
        shows="grad_norm is nan in steps 1 to 4 while GradScaler halves its scale from 65536 to 4096; "
        "one more skip at step 30 (2048); mean loss 4.00 in the first ten steps, 3.13 in the last ten. With anomaly mode on, "
        "the first of these steps would have raised the error of the failed sample.",
    ),
    "healthy/gemma3-bf16": Case(
        title="Gemma 3, LoRA in bf16: the large channel does no harm",
        gains=CLIFF,
        changes=BF16 | {"detect_anomaly": False, "probe_activations": False, "seed": 42},
        fails=False,
        planted=GROWING,
        shows="mean loss 4.04 in the first ten of 80 steps, 3.33 in the last ten, no step skipped; grad_norm before clipping is 20 to 460, "
        "because the planted model is sensitive, and is clipped to 1.",
    ),
    "fixed/gemma3-bf16-fixed": Case(
        title="Gemma 3, LoRA: the failed run with fp16 changed to bf16",
        gains=CLIFF,
        changes=BF16,
        fails=False,
        planted=GROWING,
        shows="the forward hooks print absmax 79870 in the last layer, finite in bf16; anomaly mode stays on "
        "and raises nothing; mean loss 4.13 in the first ten of 80 steps, 3.30 in the last ten, none skipped. The configuration is that of "
        "`failed/gemma3-fp16-compiled-backward-nan` except fp16 and bf16.",
    ),
}
SAMPLES: dict[str, Callable[[Path], None]] = {key: case.make for key, case in CASES.items()}
