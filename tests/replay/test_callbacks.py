"""The recorder as a callback: real trainers, a run that overflows, and one that is fine."""

import json

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra: replay)")

from analyzer.replay.callbacks import lightning_callback, trainer_callback  # noqa: E402

STEPS = 6
pytestmark = pytest.mark.filterwarnings("default")  # those of the trainers are not ours


class Net(torch.nn.Module):
    """Its second layer overflows at the batch whose inputs are huge."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)

    def forward(self, inputs, labels=None):
        return {"loss": (self.second(self.first(inputs).square()) - labels).square().mean()}


def batches(bad_at):
    torch.manual_seed(0)
    rows = [{"inputs": torch.randn(4), "labels": torch.zeros(1)} for _ in range(2 * STEPS)]
    if bad_at is not None:
        rows[2 * bad_at]["inputs"] = torch.full((4,), 1e30)
    return rows


def non_finite(path):
    """Step and module of the first non-finite output that was written; None without a trace."""
    if not path.exists():
        return None
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    found = [row for row in rows if row.get("nonfinite")]
    return (found[0]["step"], found[0]["module"]) if found else None


def with_trainer(tmp_path, bad_at):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    path = tmp_path / "replay.jsonl"
    transformers.Trainer(
        Net(),
        transformers.TrainingArguments(
            str(tmp_path / "out"),
            max_steps=STEPS,
            per_device_train_batch_size=2,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            train_sampling_strategy="sequential",
        ),
        train_dataset=batches(bad_at),
        callbacks=[trainer_callback(str(path))],
    ).train()
    return path


def with_lightning(tmp_path, bad_at):
    lightning = pytest.importorskip("lightning")
    path = tmp_path / "replay.jsonl"

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, batch, _):
            return self.net(**batch)["loss"]

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    lightning.Trainer(
        default_root_dir=tmp_path,
        max_steps=STEPS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[lightning_callback(str(path))],
    ).fit(Module(), torch.utils.data.DataLoader(batches(bad_at), batch_size=2))
    return path


@pytest.mark.parametrize("train", [with_trainer, with_lightning])
def test_the_step_and_the_module_that_overflowed_are_written(tmp_path, train):
    step, module = non_finite(train(tmp_path, bad_at=3))

    assert step == 3
    assert module.endswith("second")


@pytest.mark.parametrize("train", [with_trainer, with_lightning])
def test_a_run_that_is_fine_leaves_nothing_non_finite(tmp_path, train):
    assert non_finite(train(tmp_path, bad_at=None)) is None
