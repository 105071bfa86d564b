"""Rows of Hugging Face trainers, and the steps that they do not name."""

import time

import pytest
from log_reading import PUBLIC, only, points, read_file, read_text

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.text.log_line import LogState, make_line
from analyzer.ingest.text.rows.trainers.hf_console import HfConsole
from analyzer.ingest.text.rows.trainers.hf_rows import Row


def bar(at, total=100):
    return f"{at}%|#####     | {at}/{total} [00:0{at % 10}<00:09,  9.02it/s]"


def console(rows, total=100, redraw=True):
    """What a terminal got: a bar, blanks, the row, and the bar drawn again under it."""
    text = "\r  0%|          | 0/100 [00:00<?, ?it/s]"
    for step, row in rows:
        text += f"\r {bar(step, total)}\r{' ' * 60}\r{row}\n"
        if redraw:
            text += f"\r{' ' * 20}\r {bar(step, total)}"
    return text + "\n"


def test_version_4_prints_bare_floats_and_nan():
    run = read_text(
        console([(10, "{'loss': 1.53, 'grad_norm': nan, 'learning_rate': 6.4e-05, 'epoch': 0.02}")])
    )

    assert points(run, "loss") == [(10, 1.53)]
    assert points(run, "grad_norm") == [(10, "nan")]
    assert points(run, "learning_rate") == [(10, 6.4e-05)]
    assert "hf-trainer" in run.frameworks


def test_version_5_prints_quoted_strings():
    run = read_text(
        console([(5, "{'loss': '0', 'grad_norm': 'nan', 'learning_rate': '2e-05', 'epoch': '0.1'}")])
    )

    assert (points(run, "loss"), points(run, "grad_norm")) == ([(5, 0.0)], [(5, "nan")])


def test_a_row_glued_to_its_bar_is_read():
    run = read_text("\r " + bar(7) + "{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.07}\n")

    assert points(run, "loss") == [(7, 2.5)]


def test_a_lagging_bar_is_corrected_by_the_grid_of_the_other_rows():
    rows = [(10 * i - (i == 4), f"{{'loss': {3 - i / 10}, 'epoch': {i / 10}}}") for i in range(1, 8)]

    run = read_text(console(rows, redraw=False))

    assert [step for step, _ in points(run, "loss")] == [10, 20, 30, 40, 50, 60, 70]


def test_bars_of_datasets_are_not_taken_for_training():
    text = (
        "Map: 100%|##########| 512/512 [00:00<00:00]\n{'loss': 2.0, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
    )

    assert points(read_text(text), "loss") == [(None, 2.0)]


def test_without_bars_steps_come_from_the_banner_and_the_epoch():
    banner = "***** Running training *****\n  Num examples = 1,000\n  Num Epochs = 3\n  Total optimization steps = 375\n"
    rows = "".join(f"{{'loss': {3 - i / 10:.1f}, 'epoch': {round(i * 10 / 125, 2)}}}\n" for i in range(1, 6))

    run = read_text(banner + rows)

    assert [step for step, _ in points(run, "loss")] == [10, 20, 30, 40, 50]
    assert run.config.value("train.max_steps") == 375


def test_without_any_hint_points_have_no_step_but_keep_their_order():
    run = read_text("{'loss': 2.0, 'learning_rate': 1e-05}\n{'loss': 1.5, 'learning_rate': 1e-05}\n")

    assert points(run, "loss") == [(None, 2.0), (None, 1.5)]


def test_an_evaluation_belongs_to_the_step_at_which_training_paused():
    train = console([(50, "{'loss': 2.0, 'learning_rate': 1e-05, 'epoch': 0.5}")])
    evaluation = (
        "\r 50%|#####     | 5/10 [00:01<00:01]\r{'eval_loss': 1.9, 'eval_runtime': 3.0, 'epoch': 0.5}\n"
    )

    assert points(read_text(train + evaluation), "eval_loss") == [(50, 1.9)]


def test_the_last_row_is_the_end_of_training_and_its_mean_no_point_of_the_curve():
    rows = [(i, f"{{'loss': {2.0 - i / 100}, 'epoch': {i / 100}}}") for i in (98, 99, 100)]
    final = "{'train_runtime': 9.7, 'train_samples_per_second': 41.2, 'train_steps_per_second': 10.3, 'train_loss': 4.5, 'epoch': 1.0}"

    run = read_text(console(rows) + final + "\n")

    assert points(run, "train_loss_mean") == [(100, 4.5)]
    assert len(points(run, "loss")) == 3
    assert only(run, "training_completed")["train_runtime"] == 9.7


def test_the_time_so_far_beside_every_loss_ends_no_training():
    row = "{{'loss': '{}', 'grad_norm': '2.5', 'epoch': '{}', 'train_runtime': '{}'}}\n"
    run = read_text("".join(row.format(3 - n / 4, n / 8, 9.5 * n) for n in range(1, 5)))

    assert [value for _, value in points(run, "loss")] == [2.75, 2.5, 2.25, 2.0]
    assert not run.events.of("training_completed")


def test_rows_of_reinforcement_learning_keep_rewards_and_kl():
    row = "{'loss': 0.0, 'grad_norm': 0.3, 'learning_rate': 1e-06, 'reward': 0.5, 'rewards/accuracy': 0.25, 'kl': 0.01, 'epoch': 0.01}"

    run = read_text(console([(1, row)]))

    assert (points(run, "reward_mean"), points(run, "kl")) == ([(1, 0.5)], [(1, 0.01)])


def test_a_stated_step_is_believed():
    assert points(read_text("{'loss': 2.0, 'epoch': 0.1, 'step': 70}\n"), "loss") == [(70, 2.0)]


def test_tensors_are_numbers_too():
    text = "{'loss': tensor(nan, device='cuda:0'), 'grad_norm': tensor(2.5), 'epoch': 0.1, 'step': 3}\n"

    run = read_text(text)

    assert (points(run, "loss"), points(run, "grad_norm")) == ([(3, "nan")], [(3, 2.5)])


def test_dicts_that_are_no_rows_are_left_alone():
    run = read_text("{'_name': None, 'common': 3, 'epoch': 'x'}\nconfig {'lora_r': 8, 'epoch': 3}\n")

    assert run.metrics.names == ()


def test_a_row_that_two_callbacks_print_counts_once():
    row = "{'loss': 2.0, 'learning_rate': 1e-05, 'epoch': 0.1}\n"

    assert len(points(read_text(row + row), "loss")) == 1


def test_a_run_of_equal_rows_is_no_double_print():
    row = "{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 1e-05}\n"

    run = read_text(row * 50)

    assert len(points(run, "loss")) == 50
    assert list(run.metrics.series("loss").line) == list(range(1, 51))


def test_rows_without_end_are_read_in_linear_time():
    rows = 40_000
    started_s = time.process_time()

    run = read_text("{'loss': 1.0, 'grad_norm': 1.0} " * rows)

    assert len(points(run, "loss")) == rows
    assert time.process_time() - started_s < 5  # 48 s when each row looked at all text around it


def test_blank_lines_before_a_row_are_read_in_linear_time():
    text = ("\n" * 1000 + " 5%|\n{'loss': 2.0, 'learning_rate': 1e-05}\n{'loss': 1.0}") * 1000
    started_s = time.process_time()

    read_text(text)

    assert time.process_time() - started_s < 5


def test_a_kept_row_does_not_keep_the_text_around_it():
    grammar = HfConsole()
    builder = RunBuilder("run")
    row = b"{'loss': 2.0, 'epoch': 0.1}"
    line = make_line(row + b" " * 100_000, 0, len(row), 1, None)

    grammar.feed(line, LogState(SourceWriter(builder, 0)))

    assert grammar.rows.last == Row(1, None, None, ("loss", "epoch"), (2.0, 0.1), None, None)


def test_the_interval_between_rows_is_the_window_of_the_loss():
    rows = [(10 * i, f"{{'loss': 2.0, 'epoch': {i / 10}, 'learning_rate': {i}e-05}}") for i in range(1, 6)]

    assert read_text(console(rows)).step_window == {0: 10}


def test_unsloth_banner_gives_gpu_versions_and_sizes():
    run = read_text(
        "==((====))==  Unsloth 2024.10.7: Fast Llama patching. Transformers = 4.46.0.\n"
        "   \\\\   /|    GPU: Tesla T4. Max memory: 14.748 GB. Platform = Linux.\n"
        "O^O/ \\_/ \\    Pytorch: 2.5.0+cu121. CUDA = 7.5. CUDA Toolkit = 12.1.\n"
        "\\        /    Bfloat16 = FALSE. FA [Xformers = 0.0.28. FA2 = False]\n"
        "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs = 1\n"
        "   \\\\   /|    Num examples = 1,000 | Num Epochs = 1\n"
        "O^O/ \\_/ \\    Batch size per device = 2 | Gradient Accumulation steps = 4\n"
        "\\        /    Total batch size = 8 | Total steps = 60\n"
    )

    assert (run.layout.gpu_name, run.layout.gpus) == ("Tesla T4", 1)
    assert run.config.value("versions.transformers") == "4.46.0"
    assert run.config.value("versions.torch") == "2.5.0+cu121"
    assert run.config.value("train.gradient_accumulation_steps") == 4
    assert run.config.value("train.max_steps") == 60
    assert "unsloth" in run.frameworks


def test_a_real_log_without_bars_or_banner_gets_steps_from_its_last_row():
    path = PUBLIC / "textlog-train" / "sherryxzhao__lora_alpaca" / "log" / "record.log"
    if not path.exists():
        pytest.skip("the public logs are not on this machine")

    steps = [step for step, _ in points(read_file(path), "loss")]

    assert steps == list(range(10, 1220, 10))


def test_a_row_of_a_policy_without_a_loss_is_read():
    row = "{'eps': 1, 'objective/kl': 10.5, 'policy/approxkl_avg': 0.002, 'objective/rlhf_reward': 1.25, 'lr': 1e-05, 'episode': 64}"

    metrics = read_text(f"{row}\n").metrics

    assert metrics.series("kl").value.tolist() == [10.5]
    assert metrics.series("reward_mean").value.tolist() == [1.25]


def unstepped(count=12):
    """A training without bars: only its speed tells the steps, two between rows."""
    rows = [
        f"{{'loss': {3 - i / 20:.3f}, 'learning_rate': 1e-05, 'epoch': {i / 50:.4f}}}"
        for i in range(1, count + 1)
    ]
    last = f"{{'train_runtime': 2.0, 'train_steps_per_second': {count:.1f}, 'train_loss': 2.5, 'epoch': {count / 50:.4f}}}"
    return "\n".join([*rows, last]) + "\n"


def test_the_steps_of_a_second_training_in_one_log_begin_anew():
    steps = [step for step, _ in points(read_text(unstepped() + unstepped()), "loss")]

    assert steps == [*range(2, 25, 2)] * 2


def test_a_bar_whose_title_was_cut_off_is_no_training():
    """What stands above a row is looked at for a kilobyte; it may begin in the middle of a bar."""
    title = "Map: "
    for more in range(40):
        padding = f"{'x' * (900 + more)}\n"
        run = read_text(
            f"start\n{title}100%|{'#' * 10}| 512/512 [00:00<00:00, 2951.6 examples/s]\n{padding}{unstepped()}"
        )
        assert points(run, "loss")[0] == (2, 2.95)


def test_rows_whose_step_nothing_tells_keep_their_epoch():
    rows = "".join(
        f"{{'loss': {2 - epoch / 4}, 'learning_rate': 1e-05, 'epoch': {epoch}}}\n"
        for epoch in (1.0, 2.0, 3.0)
    )
    told, stepped = read_text(rows), read_text(console([(10, rows.splitlines()[0])]))

    assert [value for _, value in points(told, "epoch")] == [1.0, 2.0, 3.0]
    assert points(stepped, "epoch") == []
