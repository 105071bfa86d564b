"""Fine-tune Gemma 3 with LoRA: python train.py --config train_config.yaml.

The training script of the Gemma 3 samples, written as its user would write it. Every key of the
configuration file is read here; the decoder layers and the loss are compiled one by one.
"""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path
from typing import Any

import torch
import yaml
from peft import LoraConfig, get_peft_model
from torch.nn.functional import cross_entropy, linear
from torch.utils.tensorboard import SummaryWriter
from transformers import AutoModelForCausalLM, AutoTokenizer, get_scheduler

IGNORED = -100
WATCHED = ("Linear", "Gemma3RMSNorm", "Gemma3MLP", "Gemma3Attention", "GELUTanh", "Gemma3DecoderLayer")
logger = logging.getLogger("train")


def load_rows(path: str, tokenizer: Any, max_length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Prompts and completions as token ids; only the completion is learned."""
    ids, labels = [], []
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            prompt = [tokenizer.bos_token_id, *tokenizer(row["prompt"]).input_ids]
            answer = tokenizer(row["completion"]).input_ids
            ids.append((prompt + answer)[:max_length])
            labels.append(([IGNORED] * len(prompt) + answer)[:max_length])
    return torch.tensor(ids), torch.tensor(labels)


def lm_loss(hidden: torch.Tensor, head: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Language model head and shifted cross entropy in one function, to be compiled as one."""
    logits = linear(hidden, head).float()
    return cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED)


class Training:
    """Model, optimizer and loss scaling of one run."""

    def __init__(self, config: dict[str, Any]) -> None:
        """Load the model in the configured precision and attach LoRA."""
        self.config = config
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.dtype = torch.float16 if config["fp16"] else torch.bfloat16 if config["bf16"] else torch.float32
        base = AutoModelForCausalLM.from_pretrained(
            config["model_name_or_path"], dtype=self.dtype, attn_implementation=config["attn_implementation"]
        )
        lora = LoraConfig(
            r=config["lora_r"],
            lora_alpha=config["lora_alpha"],
            target_modules=config["lora_target_modules"],
            task_type="CAUSAL_LM",
        )
        self.model = get_peft_model(base, lora).to(self.device)
        self.model.peft_config["default"].save_pretrained(config["output_dir"])
        self.decoder, self.head, self.loss = base.model, base.lm_head.weight, lm_loss
        self.weights = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.weights, lr=config["learning_rate"])
        self.scheduler = get_scheduler(
            config["lr_scheduler_type"], self.optimizer, config["warmup_steps"], config["max_steps"]
        )
        self.scaler = torch.amp.GradScaler(
            self.device, enabled=config["fp16"], init_scale=config["init_loss_scale"]
        )

    def compile(self) -> None:
        """One graph for each decoder layer and one for the loss."""
        backend = self.config["torch_compile_backend"]
        for layer in self.decoder.layers:
            layer.forward = torch.compile(layer.forward, backend=backend)
        self.loss = torch.compile(lm_loss, backend=backend)

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The loss of one batch under autocast."""
        with torch.autocast(self.device, dtype=self.dtype, enabled=self.dtype != torch.float32):
            hidden = self.decoder(input_ids=ids).last_hidden_state
            return self.loss(hidden, self.head, labels)

    def backward(self, loss: torch.Tensor) -> tuple[float, bool]:
        """Backward pass and optimizer step: the gradient norm, and whether weights were updated."""
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.weights, self.config["max_grad_norm"])
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        done = self.scaler.get_scale() >= scale
        if done:
            self.scheduler.step()
        return float(norm), done


def probe_activations(training: Training, ids: torch.Tensor, labels: torch.Tensor) -> None:
    """Print the largest absolute output of every decoder layer for one batch."""

    def report(name: str) -> Any:
        """A forward hook that prints under this name."""

        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            value = (output[0] if isinstance(output, tuple) else output).detach().float()
            bad = int((~value.isfinite()).sum())
            logger.info("forward hook: %s output absmax=%.4g nonfinite=%d", name, value.abs().max(), bad)

        return hook

    hooks = [
        layer.register_forward_hook(report(f"model.layers.{i}"))
        for i, layer in enumerate(training.decoder.layers)
    ]
    with torch.no_grad():
        loss = training.forward(ids, labels).item()
    logger.info("probe batch: loss %.4f dtype %s", loss, training.dtype)
    for hook in hooks:
        hook.remove()


def probe_gradients(training: Training, ids: torch.Tensor, labels: torch.Tensor) -> None:
    """Print every module into which a NaN gradient flows for one batch."""
    found: list[str] = []

    def report(name: str) -> Any:
        """A backward hook that prints under this name."""

        def hook(module: Any, _grad_input: Any, grad_output: Any) -> None:
            if any(g is not None and g.isnan().any() for g in grad_output):
                found.append(name)
                logger.info("backward hook: NaN gradient in %s (%s)", name, type(module).__name__)

        return hook

    hooks = [
        module.register_full_backward_hook(report(name))
        for name, module in training.decoder.named_modules(prefix="model")
        if type(module).__name__ in WATCHED and ".lora_" not in name and ".base_layer" not in name
    ]
    training.scaler.scale(training.forward(ids, labels)).backward()
    training.optimizer.zero_grad()
    for hook in hooks:
        hook.remove()
    logger.info("backward hooks: %d of %d modules got NaN gradients", len(found), len(hooks))


def fit(training: Training, ids: torch.Tensor, labels: torch.Tensor, writer: SummaryWriter) -> None:
    """Train; a batch whose backward fails is skipped at half the loss scale when so configured."""
    config, scaler, failed_in_row, skipped = training.config, training.scaler, 0, 0
    steps = config["max_steps"]
    for step in range(1, steps + 1):
        picked = torch.randint(0, len(ids), (config["per_device_train_batch_size"],))
        loss = training.forward(ids[picked], labels[picked])
        writer.add_scalar("train/loss", loss.item(), step)
        head = f"step {step}/{steps} loss {loss.item():.4f}"
        try:
            norm, done = training.backward(loss)
        except RuntimeError:
            failed_in_row, skipped = failed_in_row + 1, skipped + 1
            if config["on_backward_error"] != "skip" or failed_in_row > config["max_failed_steps"]:
                logger.critical("%s: backward failed, giving up", head)
                raise
            logger.exception("%s: backward failed, batch skipped", head)
            scaler.update(scaler.get_scale() * 0.5)
            writer.add_scalar("train/loss_scale", scaler.get_scale(), step)
            logger.info("loss scale is now %g", scaler.get_scale())
            continue
        failed_in_row, skipped = 0, skipped + (not done)
        lr = training.scheduler.get_last_lr()[0]
        writer.add_scalar("train/grad_norm", norm, step)
        writer.add_scalar("train/learning_rate", lr, step)
        note = "" if done else " (overflow, step skipped)"
        if config["fp16"]:
            writer.add_scalar("train/loss_scale", scaler.get_scale(), step)
            note = f" loss_scale {scaler.get_scale():g}{note}"
        logger.info("%s grad_norm %.4f lr %.3e%s", head, norm, lr, note)
    logger.info("training finished: %d steps, %d skipped", steps, skipped)


def main() -> None:
    """Read the configuration and train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="train_config.yaml")
    with Path(parser.parse_args().config).open(encoding="utf-8") as file:
        config = yaml.safe_load(file)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    torch.manual_seed(config["seed"])
    tokenizer = AutoTokenizer.from_pretrained(config["model_name_or_path"])
    ids, labels = load_rows(config["train_file"], tokenizer, config["max_seq_length"])
    training = Training(config)
    trainable = sum(p.numel() for p in training.weights)
    logger.info("%d rows, %d trainable parameters, weights in %s", len(ids), trainable, training.dtype)
    if config["probe_activations"]:
        probe_activations(training, ids[:4], labels[:4])
    if config["probe_gradients"]:
        probe_gradients(training, ids[:4], labels[:4])
    if config["torch_compile"]:
        training.compile()
    writer = SummaryWriter(f"{config['output_dir']}/runs")
    with torch.autograd.set_detect_anomaly(config["detect_anomaly"]):
        fit(training, ids, labels, writer)
    writer.close()
    training.model.save_pretrained(config["output_dir"])


if __name__ == "__main__":
    main()
