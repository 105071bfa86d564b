"""A run of Lightning is known as one by what any version of it leaves, whichever metrics its module logs."""

import pytest

from analyzer.api import load

CONSOLE = (
    "GPU available: True (cuda), used: True\n",
    "TPU available: False, using: 0 TPU cores\n",
    "`Trainer.fit` stopped: `max_epochs=5` reached.\n",
)


@pytest.mark.parametrize("line", CONSOLE)
def test_by_its_console(tmp_path, line):
    (tmp_path / "train.log").write_text(line + "step 1 loss 2.5\nstep 2 loss 2.4\n", encoding="utf-8")

    assert "pytorch-lightning" in load(tmp_path).frameworks


def test_by_the_folder_of_its_logger(tmp_path):
    folder = tmp_path / "csv" / "version_0"
    folder.mkdir(parents=True)
    (folder / "metrics.csv").write_text("epoch,step,train_loss\n0,0,6.19\n0,1,6.02\n", encoding="utf-8")
    (folder / "hparams.yaml").write_text("lr: 0.1\nwidth: 16\n", encoding="utf-8")
    run = load(tmp_path)

    assert run.frameworks == {"pytorch-lightning"}
    assert run.config.value("train.learning_rate") == 0.1


def test_a_yaml_of_two_words_elsewhere_is_no_configuration(tmp_path):
    (tmp_path / "hparams.yaml").write_text("lr: 0.1\nwidth: 16\n", encoding="utf-8")
    (tmp_path / "train.log").write_text("step 1 loss 2.5\nstep 2 loss 2.4\n", encoding="utf-8")

    assert "pytorch-lightning" not in load(tmp_path).frameworks
