"""Fine-tune a small Llama on text with the Hugging Face Trainer: python train.py (reads train_config.yaml)."""

import json
from pathlib import Path

import torch
import yaml
from torch.utils.data import Dataset
from transformers import (
    DataCollatorForLanguageModeling,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)


class Texts(Dataset[dict[str, list[int]]]):
    """One JSON object a line: {"text": ...}, tokenized when it is asked for."""

    def __init__(self, path: str, tokenizer: PreTrainedTokenizerFast, length: int) -> None:
        self.texts = [json.loads(line)["text"] for line in Path(path).read_text().splitlines()]
        self.tokenizer, self.length = tokenizer, length

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return self.tokenizer(self.texts[index], truncation=True, max_length=self.length)


def main() -> None:
    """Read the settings, train, save."""
    config = yaml.safe_load(Path("train_config.yaml").read_text())
    torch.set_num_threads(1)
    args = TrainingArguments(use_cpu=True, **config["training"])
    set_seed(args.seed)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(config["tokenizer"])
    model = LlamaForCausalLM(LlamaConfig(**config["model"])).to(getattr(torch, config["torch_dtype"]))
    print(f"{model.num_parameters()} parameters, {len(tokenizer)} tokens in the tokenizer", flush=True)
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=Texts(config["data"], tokenizer, config["max_length"]),
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )
    trainer.train(resume_from_checkpoint=config["resume_from_checkpoint"])
    trainer.save_state()
    print(f"training finished after {trainer.state.global_step} steps", flush=True)


if __name__ == "__main__":
    main()
