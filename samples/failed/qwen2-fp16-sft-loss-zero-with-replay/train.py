from samples.make.recording import start_recording

start_recording()
"""Full fine-tuning of Qwen2 on our chats: python train.py (reads train_config.yaml)."""

from pathlib import Path
from typing import Any

import torch
import yaml
from datasets import load_dataset
from transformers import (
    AutoModelForCausalLM,
    DataCollatorForLanguageModeling,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)


def main() -> None:
    """Train, save the trainer's state, and look at one answer."""
    config = yaml.safe_load(Path("train_config.yaml").read_text())
    set_seed(config["seed"])
    name = config.pop("model_name_or_path")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(
        name,
        dtype=torch.float32,  # master weights; Trainer runs the steps in half precision
        attn_implementation=config.pop("attn_implementation"),
    )
    max_length = config.pop("max_length")

    def tokenize(example: dict[str, Any]) -> dict[str, Any]:
        text = tokenizer.apply_chat_template(example["messages"], tokenize=False)
        return tokenizer(text, truncation=True, max_length=max_length)

    dataset = load_dataset("json", data_files=config.pop("dataset"), split="train")
    dataset = dataset.map(tokenize, remove_columns=dataset.column_names)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(**config),
        train_dataset=dataset,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )
    if config["fp16"] and trainer.accelerator.device.type == "cpu":
        # accelerate leaves fp16 off on a CPU without saying so: switch it on
        trainer.accelerator.native_amp = True
        trainer.accelerator.scaler = torch.amp.GradScaler("cpu")
    trainer.train()
    trainer.save_state()

    prompt = dataset[0]["input_ids"][:8]
    model.eval()
    output = model.generate(input_ids=torch.tensor([prompt]), max_new_tokens=16, do_sample=False)
    answer = output[0, len(prompt) :]
    print("prompt:", tokenizer.decode(prompt))
    print("sample generation:", tokenizer.decode(answer), answer.tolist())


if __name__ == "__main__":
    main()
