"""The callbacks in real trainers: a run that breaks, one that raises, one that is fine, one whose diagnosis fails."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra: replay)")

from analyzer.integrations import accelerate_tracker, lightning_callback, trainer_callback  # noqa: E402
from analyzer.integrations.trainers import FOLDER  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # those of the trainers are not ours
STEPS = 60
HOW = ("breaks", "raises", "fine")


class Data(torch.utils.data.Dataset):
    """A line to be learned; one that raises has a record of another size."""

    def __init__(self, how):
        generator = torch.Generator().manual_seed(0)
        self.x = torch.rand(4 * STEPS, 4, generator=generator)
        self.how = how

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        if self.how == "raises" and i == 3 * STEPS:
            return {"inputs": torch.rand(5), "labels": torch.zeros(1)}
        return {"inputs": self.x[i], "labels": self.x[i].sum(0, keepdim=True)}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, inputs, labels=None):
        return {"loss": (self.layer(inputs) - labels).square().mean()}


def rate(how):
    """A rate far beyond what the quadratic bears makes it NaN within the run."""
    return 1e6 if how == "breaks" else 0.1


def with_trainer(out, how):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    arguments = transformers.TrainingArguments(
        str(out), max_steps=STEPS, per_device_train_batch_size=4, use_cpu=True, report_to=[], save_strategy="no",
        disable_tqdm=True, logging_steps=1, learning_rate=rate(how), optim="sgd", lr_scheduler_type="constant",
        train_sampling_strategy="sequential", max_grad_norm=0.0,
    )  # fmt: skip
    transformers.Trainer(Net(), arguments, train_dataset=Data(how), callbacks=[trainer_callback()]).train()


def with_lightning(out, how):
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, batch, _):
            loss = self.net(**batch)["loss"]
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=rate(how))

    trainer = lightning.Trainer(
        max_steps=STEPS, default_root_dir=out, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, log_every_n_steps=1, accelerator="cpu", callbacks=[lightning_callback()],
    )  # fmt: skip
    trainer.fit(Module(), torch.utils.data.DataLoader(Data(how), batch_size=4))


def with_accelerate(out, how):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True, log_with=[accelerate_tracker(str(out))])
    accelerator.init_trackers("p", config={"learning_rate": rate(how), "max_steps": STEPS})
    net = Net()
    loader = torch.utils.data.DataLoader(Data(how), batch_size=4)
    net, optimizer, loader = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=rate(how)), loader)
    for step, batch in enumerate(loader, start=1):
        loss = net(**batch)["loss"]
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.log({"train_loss": loss.item()}, step=step)
    accelerator.end_training()


TRAINERS = {"trainer": with_trainer, "lightning": with_lightning, "accelerate": with_accelerate}


def outcome(out, trainer, how, capsys):
    """What stands in the folder after a run, and what was said."""
    before = sys.excepthook
    try:
        TRAINERS[trainer](out, how)
    except RuntimeError as error:  # as the interpreter would, were it not for the test
        sys.excepthook(type(error), error, error.__traceback__)
    said = capsys.readouterr().err
    assert sys.excepthook is before
    return {path.name for path in (out / FOLDER).iterdir()}, said


@pytest.mark.parametrize("trainer", TRAINERS)
@pytest.mark.parametrize("how", HOW)
def test_a_report_is_written_if_and_only_if_training_ends_badly(trainer, how, tmp_path, capsys):
    files, said = outcome(tmp_path, trainer, how, capsys)

    assert ("report.html" in files) == ("brief.txt" in files) == (how != "fine")
    if how != "fine":
        assert "analyzer: failed: " in said
        brief = (tmp_path / FOLDER / "brief.txt").read_text()
        assert ("size" in brief) if how == "raises" else ("NaN" in brief)


def test_a_diagnosis_that_fails_does_not_reach_the_training(tmp_path, capsys, monkeypatch):
    def broken(*_, **__):
        raise subprocess.TimeoutExpired("analyzer", 60)

    monkeypatch.setattr(subprocess, "run", broken)
    files, _ = outcome(tmp_path, "accelerate", "breaks", capsys)

    assert "report.html" not in files
