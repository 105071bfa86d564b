"""Configuration that trainers print: arguments, model configurations, precision."""

from log_reading import read_text


def test_training_arguments_on_one_line():
    run = read_text(
        "INFO:__main__:Training/evaluation parameters TrainingArguments(output_dir=out, fp16=True, evaluation_strategy=IntervalStrategy.NO, "
        "learning_rate=5e-05, logging_steps=20, lr_scheduler_type=<SchedulerType.COSINE: 'cosine'>, deepspeed=None, report_to=['wandb'])\n"
    )

    assert run.config.value("fp16.enabled") is True
    assert run.config.value("train.learning_rate") == 5e-05
    assert run.config.value("train.logging_steps") == 20
    assert run.config.value("train.scheduler") == "cosine"
    assert run.config["fp16.enabled"].layer == "runtime_echo"


def test_training_arguments_one_a_line_and_only_those_of_the_first_rank():
    dump = "Training parameters Seq2SeqTrainingArguments(\n_n_gpu=1,\nbf16=True,\nper_device_train_batch_size={},\n)\n"

    run = read_text(dump.format(4) + dump.format(8) + "step 1 loss 2.0\n")

    assert run.config.value("bf16.enabled") is True
    assert run.config.value("train.micro_batch_size") == 4
    assert run.metrics.has("loss")


def test_stated_logging_steps_are_the_grid_of_rows_without_bars():
    text = (
        "TrainingArguments(logging_steps=10, num_train_epochs=3)\n  Num Epochs = 3\n  Total optimization steps = 375\n"
        + "".join(
            f"{{'loss': 2.0, 'learning_rate': {i}e-05, 'epoch': {round(i * 10 / 125, 2)}}}\n" for i in (1, 2)
        )
    )

    run = read_text(text)

    assert [run.metrics.series("loss").step_at(i) for i in range(2)] == [10, 20]
    assert run.step_window == {0: 10}


def test_arguments_of_megatron_and_neox():
    run = read_text(
        "------------------------ arguments ------------------------\n"
        "  bf16 ............................................ False\n"
        "  clip_grad ....................................... 1.0\n"
        "  initial_loss_scale .............................. 4294967296\n"
        "  micro_batch_size ................ 64..........................updated\n"
        "-------------------- end of arguments ---------------------\n"
        "  bf16 ............................................ True\n"
    )

    assert run.config.value("bf16.enabled") is False
    assert run.config.value("train.max_grad_norm") == 1.0
    assert run.config.value("fp16.initial_scale") == 4294967296
    assert run.config.value("train.micro_batch_size") == 64


def test_the_models_configuration_as_it_was_loaded():
    dump = '[INFO|configuration_utils.py:839] 2026-04-06 21:32:30,630 >> Model config Qwen2Config {{\n  "dtype": "{}",\n  "model_type": "qwen2",\n  "vocab_size": 151936\n}}\n'

    run = read_text(dump.format("bfloat16") + dump.format("float16"))

    assert run.config.value("model.native_dtype") == "bfloat16"
    assert run.config.value("model.vocab_size") == 151936


def test_precision_as_trainers_announce_it():
    assert (
        read_text(
            "[INFO|2024-05-01 12:00:00] llamafactory.hparams.parser:355 >> Process rank: 0, compute dtype: torch.float16\n"
        ).config.value("mixed_precision")
        == "float16"
    )
    assert read_text("  Mixed precision type: fp16\n").config.value("mixed_precision") == "fp16"
    assert not read_text("x >> Process rank: 0, compute dtype: None\n").config


def test_versions_in_many_banners():
    run = read_text(
        "- `transformers` version: 4.44.0\n- PyTorch version (GPU?): 2.4.0+cu121 (True)\n"
        "[..] [Rank -1] DeepSpeed info: version=0.17.6, git-hash=unknown, git-branch=unknown\n"
    )

    assert [run.config.value(f"versions.{name}") for name in ("transformers", "torch", "deepspeed")] == [
        "4.44.0",
        "2.4.0+cu121",
        "0.17.6",
    ]


def test_a_printed_secret_is_masked():
    run = read_text(
        "TrainingArguments(hub_token=hf_abcdefghijklmnopqrstuvwx, push_to_hub_token=<HUB_TOKEN>)\n"
    )

    assert all("abcdef" not in str(entry.value) + entry.raw for entry in run.config.entries)


def test_arguments_and_settings_that_a_program_shows_on_one_line():
    shown = read_text(
        "Namespace(batch_size=8, lr=10, name='a b', optimizer='sgd', steps=[1, 2])\nEpoch 1: loss 2.0\n"
    )
    assert shown.config.value("train.learning_rate") == 10
    assert shown.config.value("train.optimizer") == "sgd"

    printed = read_text(
        "2024-05-01 10:00:00,100 INFO Run args: {'model': 'unet', 'lr': 0.5, 'epochs': 7, 'x': None}\n"
        "2024-05-01 10:00:01,100 INFO Run args: {'lr': 0.25}\nEpoch 1/7: loss 2.0\n"
    )
    assert printed.config.value("train.learning_rate") == 0.5
    assert printed.config.value("train.epochs") == 7

    bare = read_text(
        "2024-05-01 10:00:00,100 - run - INFO - {'optimizer': 'adam', 'lr': 0.5, 'batch_size': 8}\nEpoch 1: loss 2.0\n"
    )
    assert bare.config.value("train.learning_rate") == 0.5
    assert printed.metrics.has("loss")


def test_a_row_of_metrics_and_a_torn_dictionary_are_no_settings():
    run = read_text(
        "{'loss': 0.5, 'lr': 0.25, 'epoch': 1.0}\nbest settings: {'lr': 0.125, 'momentum\nparams: {'a', 'b'}\nstep 1 loss 2.0\n"
    )
    assert run.config.value("train.learning_rate") is None
