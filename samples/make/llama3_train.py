"""The training script of the Llama-3 samples: mmengine's FlexibleRunner, the way XTuner uses it.

`train.py config.py` builds everything from the mmengine configuration file: the model, the data,
DeepSpeed's strategy with its precision, and the hook that chats with the model now and then (the
hook has XTuner's name and manner; XTuner itself is not used).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.registry import DATASETS, FUNCTIONS, HOOKS, MODELS
from mmengine.runner import FlexibleRunner
from transformers import AutoModelForCausalLM, AutoTokenizer

from samples.make.deepspeed_shims import allow_fp16, allow_mmengine

if TYPE_CHECKING:
    from collections.abc import Sequence


@MODELS.register_module()
class SupervisedFinetune(BaseModel):
    """Full fine-tuning of a causal language model."""

    def __init__(self, llm: str) -> None:
        super().__init__()
        self.llm = AutoModelForCausalLM.from_pretrained(llm)

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor, **_: str) -> dict[str, torch.Tensor]:
        """The loss of one batch."""
        return {"loss": self.llm(input_ids=input_ids, labels=labels).loss}


@DATASETS.register_module()
class TextDataset(torch.utils.data.Dataset[list[int]]):
    """Texts of a JSON lines file as token ids, each with BOS in front."""

    def __init__(self, path: str, tokenizer: str, max_length: int) -> None:
        tok = AutoTokenizer.from_pretrained(tokenizer)
        with Path(path).open(encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
        self.rows = [[tok.bos_token_id, *tok(text)["input_ids"]][:max_length] for text in texts]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> list[int]:
        return self.rows[index]


@FUNCTIONS.register_module()
def equal_length_collate(rows: Sequence[list[int]]) -> dict[str, torch.Tensor]:
    """A batch of texts that all have the same length."""
    ids = torch.tensor(rows)
    return {"input_ids": ids, "labels": ids.clone()}


@HOOKS.register_module()
class EvaluateChatHook(Hook):
    """Sample an answer before, every n iterations during, and after the training."""

    def __init__(self, tokenizer: str, evaluation_inputs: Sequence[str], every_n_iters: int) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(tokenizer)
        self.inputs = evaluation_inputs
        self.every_n_iters = every_n_iters

    def _generate_samples(self, runner: FlexibleRunner) -> None:
        wrapped = runner.model
        model = wrapped.model.module if hasattr(wrapped, "model") else wrapped
        model.eval()
        for text in self.inputs:
            ids = [self.tokenizer.bos_token_id, *self.tokenizer(text)["input_ids"]]
            output = model.llm.generate(
                torch.tensor([ids]),
                attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                max_new_tokens=24,
                do_sample=True,
                temperature=0.8,
                top_k=40,
                top_p=0.75,
            )
            runner.logger.info("Sample output:\n%s\n", self.tokenizer.decode(output[0]))
        model.train()

    def before_train(self, runner: FlexibleRunner) -> None:
        """Show what the model says before the training."""
        runner.logger.info("before_train in EvaluateChatHook.")
        self._generate_samples(runner)

    def after_train_iter(self, runner: FlexibleRunner, *_: Any, **__: Any) -> None:
        """Show what the model says every n iterations."""
        if self.every_n_train_iters(runner, self.every_n_iters):
            runner.logger.info("after_train_iter in EvaluateChatHook.")
            self._generate_samples(runner)

    def after_train(self, runner: FlexibleRunner) -> None:
        """Show what the model says after the training."""
        runner.logger.info("after_train in EvaluateChatHook.")
        self._generate_samples(runner)


def main() -> None:
    """Train with the configuration file named on the command line."""
    allow_fp16()
    allow_mmengine()
    torch.set_num_threads(1)
    FlexibleRunner.from_cfg(Config.fromfile(sys.argv[1])).train()
