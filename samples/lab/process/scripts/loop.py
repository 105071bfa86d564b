"""Train a small classifier with a plain PyTorch loop: python train.py (reads train_config.yaml)."""

import csv
import io
import json
import resource
import time
from pathlib import Path
from typing import Any

import torch
import yaml
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class JsonRecords(Dataset[tuple[torch.Tensor, int]]):
    """One JSON object a line: {"id": ..., "label": ..., "values": [...]}, decoded when it is asked for."""

    def __init__(self, path: str) -> None:
        self.lines = Path(path).read_bytes().splitlines()

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        record = json.loads(self.lines[index])
        return torch.tensor(record["values"]), record["label"]


class Pictures(Dataset[tuple[torch.Tensor, int]]):
    """labels.csv names the pictures and their classes."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        with (self.folder / "labels.csv").open() as file:
            self.rows = list(csv.DictReader(file))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        row = self.rows[index]
        picture = Image.open(self.folder / row["file"]).convert("L")
        pixels = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8)
        return pixels.view(1, picture.height, picture.width) / 255.0, int(row["label"])


class Block(nn.Module):
    """A hidden layer with a skip connection."""

    def __init__(self, width: int, inplace: bool) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.inplace = inplace

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The input plus its gated change."""
        gate = torch.sigmoid(self.inner(x))
        if self.inplace:
            gate += x
            return gate
        return gate + x


def build(config: dict[str, Any]) -> nn.Module:
    """The model of the configuration."""
    width = config["width"]
    if config["model"] == "cnn":
        return nn.Sequential(
            nn.Conv2d(1, width // 4, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(width // 4, width // 2, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.LazyLinear(config["classes"]),
        )
    blocks = [Block(width, config["inplace_residual"]) for _ in range(config["layers"])]
    return nn.Sequential(nn.LazyLinear(width), nn.ReLU(), *blocks, nn.Linear(width, config["classes"]))


def collect_outputs(model: nn.Module) -> list[torch.Tensor]:
    """A list into which every layer puts what it computes, for a report at the end."""
    kept: list[torch.Tensor] = []
    for layer in model.children():
        layer.register_forward_hook(lambda _module, _inputs, output: kept.append(output))
    return kept


def host_memory_gib() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**30


def main() -> None:
    """Read the settings, train, save."""
    config = yaml.safe_load(Path("train_config.yaml").read_text())
    torch.manual_seed(config["seed"])
    torch.set_num_threads(1)
    data = Pictures(config["data"]) if config["model"] == "cnn" else JsonRecords(config["data"])
    loader = DataLoader(
        data, config["batch_size"], shuffle=True, num_workers=config["num_workers"], drop_last=True
    )
    model = build(config)
    model(torch.stack([data[0][0], data[1][0]]))  # the lazy layers take their sizes from the data
    model.to(getattr(torch, config["weights_dtype"]))
    optimizer = getattr(torch.optim, config["optimizer"])(model.parameters(), lr=config["learning_rate"])
    scaler = torch.amp.GradScaler("cpu", enabled=config["amp"])
    epochs, step, losses = config["epochs"], 0, []
    kept = collect_outputs(model) if config["keep_outputs"] else []
    checkpoints = Path(config["output_dir"]) / "checkpoints"
    checkpoints.mkdir(parents=True, exist_ok=True)
    if config["init_from"]:
        print(f"loading weights from {config['init_from']}", flush=True)
        model.load_state_dict(torch.load(config["init_from"])["model"])
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(data)} records, {len(loader)} steps an epoch, {parameters} parameters", flush=True)
    metrics = Path(config["metrics_file"]).open("w", buffering=1)  # noqa: SIM115 - open as long as the run
    table = csv.writer(metrics)
    table.writerow(["step", "epoch", "loss", "grad_norm", "learning_rate", "step_time_s", "host_memory_gib"])
    for epoch in range(epochs):
        started = time.perf_counter()
        for x, y in loader:
            with torch.autocast("cpu", torch.float16, enabled=config["amp"]):
                output = model(x)
                loss = nn.functional.cross_entropy(output, y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), config["max_grad_norm"])
            scaler.step(optimizer)
            scaler.update()
            step += 1
            losses.append(loss.item())
            if step % config["log_every"] == 0:
                seconds = (time.perf_counter() - started) / config["log_every"]
                started = time.perf_counter()
                rate = optimizer.param_groups[0]["lr"]
                print(
                    f"epoch {epoch} step {step} loss {loss.item():.4f} grad_norm {norm:.3f} lr {rate:.2e} "
                    f"({seconds:.4f} s/step)",
                    flush=True,
                )
                table.writerow([step, epoch, loss.item(), norm.item(), rate, seconds, host_memory_gib()])
            if step % config["save_every"] == 0:
                path = checkpoints / f"step-{step:06d}.pt"
                torch.save(
                    {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path
                )
                print(f"saved {path}", flush=True)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    (checkpoints / "final.pt").write_bytes(buffer.getvalue())
    print(f"mean loss {sum(losses) / len(losses):.4f}, {len(kept)} outputs kept", flush=True)
    print(f"training finished after {step} steps", flush=True)


if __name__ == "__main__":
    main()
