"""What a Jupyter notebook printed is read as a console, and two trainings in it never become one series."""

import json

import pytest
from log_reading import points

from analyzer.errors import InputError
from analyzer.ingest.discover import load_run
from analyzer.ingest.walk import discover


def cell(*outputs):
    return {"cell_type": "code", "source": ["fit()"], "outputs": list(outputs)}


def stream(text):
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def notebook(path, *cells):
    path.write_text(json.dumps({"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "markdown"}, *cells]}))
    return path


def epochs(*losses):
    return stream("".join(f"Epoch {n}/{len(losses)} loss: {loss}\n" for n, loss in enumerate(losses, 1)))


def test_printed_rows_of_a_training_are_read(tmp_path):
    path = notebook(tmp_path / "fit.ipynb", cell(stream("Test loss: 0.61\n")), cell(epochs(2.5, 1.5, 1.25)))
    assert [value for _, value in points(load_run(path).run, "loss")] == [2.5, 1.5, 1.25]


def test_what_a_cell_below_scored_on_held_out_data_belongs_to_the_training(tmp_path):
    scored, other = (
        cell(stream("Test loss: 2.25\nTest accuracy: 0.5\n")),
        cell(stream("Test images: 400\nimages\n")),
    )
    path = notebook(tmp_path / "fit.ipynb", cell(epochs(2.5, 1.5, 1.25)), other, scored, other)
    run = load_run(path).run
    assert [value for _, value in points(run, "eval_loss")] == [2.25]
    assert [value for _, value in points(run, "eval_accuracy")] == [0.5]
    assert not {name for name in run.metrics.names if "images" in name}

    path = notebook(path, cell(epochs(2.5, 1.5, 1.25)), scored, cell(epochs(9.0, 8.0, 7.0)))
    assert not points(load_run(path).run, "eval_loss")


@pytest.mark.parametrize("look_first", [False, True])
def test_a_look_at_a_table_takes_no_score_from_the_training_above_it(tmp_path, look_first):
    look = cell(stream("".join(f"step {n} of the pipeline is ready\n" for n in range(1, 5))))
    scored = cell(stream("Test loss: 2.25\nTest accuracy: 0.5\n"))
    cells = (look, scored) if look_first else (scored, look)
    run = load_run(notebook(tmp_path / "fit.ipynb", cell(epochs(2.5, 1.5, 1.25)), *cells)).run
    assert [value for _, value in points(run, "loss")] == [2.5, 1.5, 1.25]
    assert [value for _, value in points(run, "eval_loss")] == [2.25]


def test_of_two_trainings_the_last_is_the_run_and_the_other_is_named(tmp_path):
    path = notebook(
        tmp_path / "fit.ipynb", cell(epochs(2.5, 1.5)), cell(epochs(9.0, 8.0, 7.0)), cell(stream("done\n"))
    )
    run = load_run(path).run
    assert [value for _, value in points(run, "loss")] == [9.0, 8.0, 7.0]
    assert any("the last of 2 trainings" in gap.reason for gap in run.gaps)


def test_a_look_at_a_table_of_samples_behind_the_training_is_no_training(tmp_path):
    rows = "".join(f"<tr><td>{n}</td><td>2{n}</td><td>tile 1{n}.png</td></tr>\n" for n in range(6))
    drawn = {"output_type": "execute_result", "data": {"text/html": f"<table>{rows}</table>"}}
    coloured = stream("".join(f"\x1b[1miter={n:04d} reward={n}.5\x1b[0m\n" for n in range(5)))

    trained = load_run(notebook(tmp_path / "fit.ipynb", cell(epochs(2.5, 1.5)), cell(drawn))).run
    played = load_run(notebook(tmp_path / "play.ipynb", cell(coloured), cell(drawn))).run

    assert [value for _, value in points(trained, "loss")] == [2.5, 1.5]
    assert [value for _, value in points(played, "reward_mean")] == [0.5, 1.5, 2.5, 3.5, 4.5]


def test_a_table_that_a_trainer_draws_is_read(tmp_path):
    head = "".join(f"<th>{name}</th>" for name in ("epoch", "train_loss", "valid_loss", "accuracy", "time"))
    rows = ((0, 1.5, 1.25, 0.5), (1, 1.0, 0.75, 0.75), (2, 0.5, 0.5, 0.875))
    body = "".join("<tr>" + "".join(f"<td>{v}</td>" for v in row) + "<td>00:12</td></tr>\n" for row in rows)
    drawn = {
        "output_type": "display_data",
        "data": {"text/html": [f"<table><tr>{head}</tr>\n", body, "</table>"]},
    }
    run = load_run(notebook(tmp_path / "fit.ipynb", cell(drawn))).run
    assert [value for _, value in points(run, "loss")] == [1.5, 1.0, 0.5]
    assert [value for _, value in points(run, "eval_loss")] == [1.25, 0.75, 0.5]


def table(names, *rows):
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{value}</td>" for value in row) + "</tr>\n" for row in rows)
    return {
        "output_type": "execute_result",
        "data": {"text/html": f"<table><tr>{head}</tr>\n{body}</table>"},
    }


def test_of_trainings_the_last_that_can_be_read_is_the_run(tmp_path):
    numbers = table(("", "width", "height"), (0, 3, 5), (1, 4, 6), (2, 5, 7))
    run = load_run(notebook(tmp_path / "fit.ipynb", cell(epochs(2.5, 1.5, 1.25)), cell(numbers))).run
    assert [value for _, value in points(run, "loss")] == [2.5, 1.5, 1.25]


@pytest.mark.parametrize("names", [("", "epoch", "train_loss", "val_loss"), ("", "loss", "val_loss")])
def test_a_frame_of_the_history_is_a_course(tmp_path, names):
    rows = [
        (n, *((n + 1,) if "epoch" in names else ()), loss, loss + 0.125)
        for n, loss in enumerate((2.5, 1.5, 1.25))
    ]
    run = load_run(notebook(tmp_path / "fit.ipynb", cell(table(names, *rows)))).run
    assert [value for _, value in points(run, "loss")] == [2.5, 1.5, 1.25]


@pytest.mark.parametrize(
    "row", ["[{}]\tvalid-rmse:{:.3f}\n", "{}:\tlearn: {:.3f}\ttotal: 1s\tremaining: 2s\n"]
)
def test_rows_of_boosted_trees_are_a_training(tmp_path, row):
    printed = stream("".join(row.format(n, 2.5 - n / 4) for n in range(6)))
    assert len(load_run(notebook(tmp_path / "fit.ipynb", cell(printed))).run.metrics) == 6


def test_a_printed_table_of_epochs_is_a_training(tmp_path):
    head = "  epoch    train_loss    valid_acc    valid_loss     dur\n-------  ------------  -----------  ------------  ------\n"
    rows = "".join(
        f"      {n}        \x1b[36m{3 / n:.4f}\x1b[0m       0.6150        0.6749  0.2269\n" for n in (1, 2, 4)
    )
    frame = stream("     width  height   depth\n 0   1.000   2.000   3.000\n 1   4.000   5.000   6.000\n")
    run = load_run(notebook(tmp_path / "fit.ipynb", cell(stream(head + rows)), cell(frame))).run
    assert [value for _, value in points(run, "loss")] == [3.0, 1.5, 0.75]


def test_a_notebook_beside_a_log_is_no_part_of_the_run(tmp_path):
    notebook(tmp_path / "look.ipynb", cell(epochs(2.5, 1.5)))
    (tmp_path / "train.log").write_text("Epoch 1/2 loss: 3.5\nEpoch 2/2 loss: 3.25\n")
    assert [found.candidate.name for found in discover(tmp_path).found] == ["train.log"]


def test_a_notebook_that_trained_nothing_is_no_run(tmp_path):
    path = notebook(tmp_path / "look.ipynb", cell(stream("accuracy 0.91 loss 0.3\naccuracy 0.90 loss 0.4\n")))
    with pytest.raises(InputError, match="nothing could be parsed"):
        load_run(path)


def test_rows_below_the_head_of_a_table_that_count_their_epochs_are_a_training(tmp_path):
    head = "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
    row = "        {}/9      2.18G      {:.3f}      1.125      0.875         73        640: 100%|██████████| 9/9 [03:26<00:00,  4.77it/s]\n"
    rows = "".join(head + row.format(n, 2 / n) for n in (1, 2, 4))
    run = load_run(notebook(tmp_path / "train.ipynb", cell(stream(rows)))).run

    assert [value for _, value in points(run, "box_loss")] == [2.0, 1.0, 0.5]


def test_a_notebook_that_never_began_to_train_tells_the_error_at_which_it_stopped(tmp_path):
    error = {
        "output_type": "error",
        "ename": "KeyError",
        "traceback": ["Traceback (most recent call last)", "KeyError: 'x'"],
    }
    path = notebook(
        tmp_path / "fit.ipynb",
        cell(stream("shape (3, 4)\n")),
        cell(stream("hm\n"), error),
        cell(stream("3\n")),
    )

    (event,) = load_run(path).run.events.of("python_traceback")
    assert event.fields["exception"] == "KeyError"


def failing(error):
    trace = [
        "-----",
        f"{error.partition(':')[0]}   Traceback (most recent call last)",
        "<ipython-input-3> in <module>",
        error,
    ]
    return cell({"output_type": "error", "traceback": trace})


def test_a_name_that_a_failed_cell_did_not_define_is_not_what_failed(tmp_path):
    missing = failing("AssertionError: Torch not compiled with CUDA enabled")
    path = notebook(tmp_path / "fit.ipynb", missing, failing("NameError: name 'net' is not defined"))
    alone = notebook(tmp_path / "other.ipynb", failing("NameError: name 'net' is not defined"))

    assert "not compiled" in load_run(path).run.events.of("python_traceback")[0].fields["message"]
    assert "'net'" in load_run(alone).run.events.of("python_traceback")[0].fields["message"]


def test_cells_that_failed_beside_a_training_are_told_and_do_not_end_it(tmp_path):
    path = notebook(
        tmp_path / "fit.ipynb",
        failing("OSError: no such set"),
        cell(epochs(2.5, 1.5)),
        failing("KeyError: 'x'"),
    )
    run = load_run(path).run

    assert not run.events.of("python_traceback")
    assert [gap.reason for gap in run.gaps if "2, 4" in gap.reason and gap.reason.endswith("KeyError: 'x'")]


def test_a_damaged_notebook_is_told(tmp_path):
    path = tmp_path / "fit.ipynb"
    path.write_text('{"nbformat": 4, "cells": [{"outputs": [')
    with pytest.raises(InputError, match="not a whole notebook"):
        load_run(path)


@pytest.mark.parametrize(
    "row",
    [
        "Episode {at} - Total Reward: {reward}, Moving Average Reward: {reward}, Epsilon: 0.9950\n",
        "Ep. {at}0 done, reward: {reward}, running_reward: {reward}, time (sec): 0.0246\n",
        "Época {at}: pérdida 0.5, reward: {reward}\n",
    ],
)
def test_rows_that_count_with_a_rarer_word_are_a_training(tmp_path, row):
    rewards = [11.5, 14.25, 20.5, 33.25, 48.5]
    printed = "".join(row.format(at=at, reward=reward) for at, reward in enumerate(rewards, 1))
    book = notebook(
        tmp_path / "play.ipynb",
        cell(stream("Collecting gym\n")),
        cell(stream(printed)),
        cell(stream("mean of 10 games: 3\n")),
    )

    run = load_run(book).run
    assert rewards in [[value for _, value in points(run, name)] for name in run.metrics.names]
