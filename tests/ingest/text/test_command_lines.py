"""The command that started a run, where its log shows it."""

import pytest
from log_reading import read_text


@pytest.mark.parametrize(
    "line",
    [
        "+ python train.py --lr 0.1 --optimizer sgd --layers 20",
        "anna@node7:~/work$ CUDA_VISIBLE_DEVICES=0 python3 -u tools/train.py --lr=0.1 --optimizer sgd --layers 20 > out.txt",
        "!python main.py --lr 0.1 --optimizer sgd --layers 20",
        "Command: torchrun --nproc_per_node 8 train.py --lr 0.1 --optimizer sgd --layers 20",
        "python train.py lr=0.1 optimizer=sgd layers=20",
        "$ NCCL_P2P_DISABLE=1 python train.py --lr 0.1 --optimizer sgd --layers 20",
    ],
)
def test_arguments_of_the_command_are_settings(line):
    run = read_text(f"{line}\nepoch 1 loss 2.0\n")

    assert run.config.value("train.learning_rate") == 0.1
    assert run.config.value("train.optimizer") == "sgd"
    assert next(entry.value for entry in run.config.entries if entry.word == "layers") == 20
    assert run.config["train.learning_rate"].ref.line == 1


@pytest.mark.parametrize(
    "line",
    [
        "usage: python train.py --lr LR",
        "To go on, call python train.py --lr 0.1 --resume last.pt",
        "+ python prepare_data.py --lr 0.1",
        "the script python train.py has no option --lr",
    ],
)
def test_what_only_mentions_a_command_states_no_setting(line):
    assert read_text(f"{line}\nepoch 1 loss 2.0\n").config.value("train.learning_rate") is None


def test_the_first_command_of_a_log_is_read():
    run = read_text("+ python train.py --lr 0.1\nepoch 1 loss 2.0\n+ python train.py --lr 0.5\n")

    assert run.config.value("train.learning_rate") == 0.1
