"""Hyperparameters, arguments and ends of runs that stand in TensorBoard files."""

import pytest
from event_files import START_S, event, opening, read, reasons, text_event, write
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
from tensorboard.plugins.hparams import plugin_data_pb2


def hparams_event(**fields):
    result = Event(wall_time=START_S)
    content = plugin_data_pb2.HParamsPluginData(version=0, **fields).SerializeToString()
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="hparams", content=content))
    result.summary.value.add(tag="_hparams_/x", metadata=metadata)
    return result


def hparams_start(**values):
    info = plugin_data_pb2.SessionStartInfo()
    for name, value in values.items():
        if isinstance(value, bool):
            info.hparams[name].bool_value = value
        elif isinstance(value, str):
            info.hparams[name].string_value = value
        else:
            info.hparams[name].number_value = value
    return hparams_event(session_start_info=info)


def test_hyperparameters_are_configuration(tmp_path):
    start = hparams_start(batch_size=16, learning_rate=3e-4, **{"training/fp16": True, "optimizer": "None"})
    run = read(write(tmp_path, [opening(), start, event("loss", 1, 1.0)]))
    entries = {entry.key_in_source: entry.value for entry in run.config.entries}

    assert entries == {"batch_size": 16, "learning_rate": 3e-4, "training.fp16": True, "optimizer": None}
    assert run.config.value("train.learning_rate") == 3e-4
    assert run.config["train.learning_rate"].layer == "runtime_echo"


@pytest.mark.parametrize(
    ("status", "end_s", "kinds"),
    [
        ("STATUS_SUCCESS", 1_700_000_500.0, ("training_completed",)),
        ("STATUS_SUCCESS", 0.0, ()),  # torch writes this at the start
        ("STATUS_FAILURE", 1_700_000_500.0, ("session_failed",)),
    ],
)
def test_the_end_of_a_session_counts_if_it_has_a_time(tmp_path, status, end_s, kinds):
    info = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=end_s)
    run = read(write(tmp_path, [opening(), hparams_event(session_end_info=info), event("loss", 1, 1.0)]))

    assert run.events.kinds() == kinds
    assert run.attempts[0].end_s == max(end_s, START_S + 1)


def test_the_arguments_of_hf_trainer_are_configuration(tmp_path):
    arguments = (
        '{"per_device_train_batch_size": 4, "fp16": true, "logging_steps": 10, "logging_strategy": "steps",'
        ' "hub_token": "abcdefgh12345678", "debug": [], "deepspeed": {"zero_optimization": {"stage": 2}}}'
    )
    model = '{"hidden_size": 64, "torch_dtype": "float16"}'
    run = read(
        write(
            tmp_path,
            [
                opening(),
                text_event("args", arguments),
                text_event("model_config", model),
                event("train/loss", 10, 1.0),
            ],
        )
    )

    assert run.config.value("fp16.enabled") is True
    assert run.config.value("zero.stage") == 2
    assert run.config.value("model.hidden_size") == 64
    assert "model.native_dtype" not in run.config
    assert "weights.dtype" not in run.config
    assert "abcdefgh12345678" not in repr(run.config.entries)
    assert run.frameworks == {"hf-trainer"}
    assert run.step_window == {0: 10}


def test_the_arguments_of_megatron_are_one_text_each(tmp_path):
    arguments = {
        "num_layers": "12", "micro_batch_size": "1", "tensor_model_parallel_size": "8", "fp16": "True",
        "initial_loss_scale": "4294967296", "lr": "0.00015", "loss_scale": "None",
    }  # fmt: skip
    run = read(write(tmp_path, [opening(), *(text_event(name, text) for name, text in arguments.items())]))

    assert run.config.value("fp16.initial_scale") == 4294967296
    assert run.config.value("train.learning_rate") == 0.00015
    assert run.config.value("parallel.tensor") == 8
    assert run.frameworks == {"megatron"}
    assert any("no scalar in 8 records" in reason for reason in reasons(run))


def test_a_table_of_hyperparameters_is_configuration_and_prose_is_not(tmp_path):
    events = [
        opening(),
        text_event("hyperparameters", "|param|value|\n|-|-|\n|learning_rate|0.001|\n|seed|7|"),
        text_event("completions", "|prompt|completion|\n|-|-|\n|seed|8|"),
        text_event("sample", "seed: 9"),
        text_event("args", '{"seed": '),
        event("loss", 1, 1.0),
    ]
    run = read(write(tmp_path, events))

    assert {entry.key_in_source: entry.value for entry in run.config.entries} == {
        "learning_rate": 0.001,
        "seed": 7,
    }
    assert len(run.gaps) == 1


def test_the_last_row_of_hf_trainer_ends_the_run(tmp_path):
    run = read(
        write(tmp_path, [opening(), event("train/loss", 5, 1.0), event("train/train_runtime", 60, 12.5)])
    )

    assert [(row.step, row.fields["train_runtime_s"]) for row in run.events.of("training_completed")] == [
        (60, 12.5)
    ]
