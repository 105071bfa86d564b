from samples.make.recording import start_recording

start_recording()
"""LoRA fine-tuning of a TinyLlama with TRL: python train.py (reads train_config.yaml)."""

from pathlib import Path
from typing import Any

import torch
import yaml
from datasets import load_dataset
from peft import LoraConfig
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from trl import SFTConfig, SFTTrainer


class Trainer(SFTTrainer):
    """Also logs the loss scale, to see when the scaler skips steps."""

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """Add the scale to every training record."""
        if self.accelerator.scaler is not None and "loss" in logs:
            logs["loss_scale"] = self.accelerator.scaler.get_scale()
        super().log(logs, *args, **kwargs)


def load_model(config: dict[str, Any]) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model in half precision and its tokenizer."""
    name = config.pop("model_name_or_path")
    model = AutoModelForCausalLM.from_pretrained(
        name,
        dtype=torch.float16 if config["fp16"] else torch.bfloat16,
        attn_implementation=config.pop("attn_implementation"),
    )
    tokenizer = AutoTokenizer.from_pretrained(name, padding_side=config.pop("padding_side"))
    return model, tokenizer


def main() -> None:
    """Train, then save the adapter and the trainer's state."""
    config = yaml.safe_load(Path("train_config.yaml").read_text())
    model, tokenizer = load_model(config)
    lora = LoraConfig(
        r=config.pop("lora_r"),
        lora_alpha=config.pop("lora_alpha"),
        target_modules=config.pop("lora_target_modules"),
        task_type="CAUSAL_LM",
    )
    dataset = load_dataset("json", data_files=config.pop("dataset"), split="train")
    trainer = Trainer(
        model=model,
        args=SFTConfig(**config),
        train_dataset=dataset,
        processing_class=tokenizer,
        data_collator=DataCollatorForSeq2Seq(tokenizer),
        peft_config=lora,
    )
    if config["fp16"] and trainer.accelerator.device.type == "cpu":
        # accelerate leaves fp16 off on a CPU without saying so: switch it on
        trainer.accelerator.native_amp = True
        trainer.accelerator.scaler = torch.amp.GradScaler("cpu")
    trainer.train()
    trainer.save_model()
    trainer.save_state()


if __name__ == "__main__":
    main()
