"""Rows of many trainers are read with the right names, steps and values; what only looks like one is not."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from log_reading import only, points, read_text

from analyzer.detect.base import RunView
from analyzer.ingest.text.log_reader import ASKED_AGAIN
from analyzer.ingest.text.rows.learned.line_masks import in_english
from analyzer.ingest.text.rows.learned.templates import IDLE_LINES, TemplateRows

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("rows_of_trainers.jsonl").read_text("utf-8").splitlines()
]
"""Rows as many trainers print them, written from the grammar of each, and points of some of their metrics; a text without
points is none that tells of a course."""


def seen(run, metric):
    """The points of a metric whose name may be written with spaces."""
    for name in (metric, metric.replace(" ", "_")):
        series = run.metrics.series(name)
        if series is not None:
            values = [
                "nan" if np.isnan(v) else "inf" if np.isinf(v) else round(float(v), 9) for v in series.value
            ]
            return [[series.step_at(at), value] for at, value in enumerate(values)]
    return []


@pytest.mark.parametrize("case", ROWS, ids=[case["trainer"] for case in ROWS])
def test_rows_of_a_trainer(case):
    run = read_text(case["text"])

    assert {name: seen(run, name) for name in case["points"]} == case["points"]
    assert case["points"] or run.metrics.names == ()


def test_names_that_are_only_well_formed_count_from_the_second_row_on():
    row = "epoch 1 step {at}: chamfer={at}.5\n"

    assert read_text(row.format(at=1)).metrics.names == ()
    assert points(read_text(row.format(at=1) + row.format(at=2)), "chamfer") == [(1, 1.5), (2, 2.5)]


def test_rows_far_below_the_beginning_are_found_without_a_known_word():
    noise = "".join(f"worker {at % 7} handled part-{at:05d} in {at % 13} ms\n" for at in range(4_000))

    assert points(read_text(noise + "it 7 | cls 0.5 | reg=0.25\nit 8 | cls 0.5 | reg=0.125\n"), "reg") == [
        (7, 0.25),
        (8, 0.125),
    ]


def test_a_wording_that_never_becomes_a_row_is_asked_for_so_often_and_others_go_on(monkeypatch):
    asked = Counter()
    feed = TemplateRows.feed

    def counted(self, line, log):
        asked[line.text.split()[0]] += 1
        return feed(self, line, log)

    monkeypatch.setattr(TemplateRows, "feed", counted)
    chatter = "shard {0:05d} of 04096 holds samples={1} tokens={0}{1} cache_hit=0.{0:04d} of bucket corpus\n"
    lines = [
        chatter.format(at, at % 97) + (f"it {at} gnorm {1 + at / 7000:.3f}\n" if at % 2 else "")
        for at in range(5_000)
    ]
    read = read_text("".join(lines))

    assert len(points(read, "grad_norm")) == 2_500
    assert IDLE_LINES <= asked["shard"] <= IDLE_LINES + ASKED_AGAIN


def test_a_wording_with_another_sort_of_number_is_no_step():
    assert points(read_text("epoch 1 loss 0.5\nepoch nan loss 0.25\n"), "loss") == [(None, 0.5)]


def test_a_percentage_of_an_accuracy_and_a_share_are_values():
    run = read_text("epoch 1 loss 0.5 Accuracy: 9500/10000 (95%)\n")

    assert points(run, "accuracy") == [(None, 0.95)]


FAULTS = [
    ("iter 10 loss_cls: nan loss_bbox: nan loss: nan", {"loss_cls": [(10, "nan")], "loss_bbox": [(10, "nan")], "loss": [(10, "nan")]}),
    ("Epoch: 3 loss: 0.3.", {"loss": [(None, 0.3)]}),
    ("step 10 loss -nan grad_norm inf", {"loss": [(10, "nan")], "grad_norm": [(10, float("inf"))]}),
    ("'loss': 0.125, 'grad_norm': 0.5, 'step': 7}", {"loss": [(7, 0.125)]}),
    ("Step: 20 | Loss 0.5 | 2052.5 samples/sec", {"loss": [(20, 0.5)], "samples_per_second": [(20, 2052.5)]}),
    ("Loss at step 100: 0.5", {"loss": [(100, 0.5)]}),
    ("Cost after iteration 100: 0.5", {"loss": [(100, 0.5)]}),
    ("Iter: [100/1000]  Loss: 0.5000 (avg 0.6000)  LR: 1e-3", {"loss": [(100, 0.5)], "learning_rate": [(100, 0.001)]}),
    ("Epoch 2 took 12.5 s, train loss 0.5", {"loss": [(None, 0.5)]}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), FAULTS, ids=[str(at) for at in range(len(FAULTS))])
def test_rows_that_were_read_wrongly_or_not_at_all(line, expected):
    run = read_text(line + "\n")

    assert {name: points(run, name) for name in expected} == expected


def test_what_is_glued_to_a_bar_has_no_place():
    text = "  0%|          | 39/100 [00:39<01:00,  1.06s/it]10/01/2026 - INFO - shard 5 samples=3 cache_hit=0.5\n"

    assert read_text(text * 3).metrics.names == ()


@pytest.mark.parametrize(
    "line",
    [
        "  1%|#         | 8/100 [00:05<03:57,  4.17it/s]OVERFLOW! Skipping step. Attempted loss scale: 512.0, reducing to 256.0",
        "step 5 Attempted loss scale: 512.0, reducing to 256.0",
    ],
)
def test_a_message_of_the_scaler_is_an_event_and_no_row(line):
    assert read_text((line + "\n") * 3).metrics.names == ()


class TestBareColumns:
    def test_a_counter_and_a_number_that_does_not_rise_are_a_series_without_a_name(self):
        run = read_text("".join(f"{760 + at} {41.25 - at / 100}\n" for at in range(12)))

        assert points(run, "unnamed")[0] == (760, 41.25)
        assert RunView(run).curve("loss").logged_as == "unnamed"

    @pytest.mark.parametrize(
        "text",
        [
            "".join(f"{at} {at * 0.5}\n" for at in range(12)),
            "".join(f"{at * at} 2.5\n" for at in range(12)),
            "1 0.5\n2 0.4\n",
        ],
        ids=["rises", "uneven", "few"],
    )
    def test_other_columns_are_none(self, text):
        assert read_text(text).metrics.names == ()

    @pytest.mark.parametrize(
        ("loss", "count", "beside"),
        [
            (lambda n: 12 * 0.98**n, 80, ""),
            (lambda n: 2.5 + n % 7 / 10, 80, None),  # neither rises nor falls
            (lambda n: 12 * 0.98**n, 8, None),
            (lambda n: 12 * 0.98**n, 80, "step 1 loss 0.5\nstep 2 loss 0.4\n"),
        ],
        ids=["falls", "stands", "few", "beside-a-loss"],
    )
    def test_numbers_alone_are_a_series_if_they_fall_and_nothing_else_is_one(self, loss, count, beside):
        text = "Epoch 0\n" + "".join(f"{loss(n):.12f}\n" for n in range(count)) + (beside or "")
        names = read_text(text).metrics.names

        assert ("unnamed" in names) is (beside == "")


@pytest.mark.parametrize("word", ["Batch #", "Epoch ", "Iter: "])
def test_three_numbers_behind_a_counter_with_a_word_are_a_course(word):
    text = "".join(f"{word}{at}: {value}\n" for at, value in ((0, "0.5"), (500, "0.25"), (1000, "nan")))

    assert points(read_text(text), "unnamed")[:2] == [(0, 0.5), (500, 0.25)]
    assert RunView(read_text(text)).curve("loss").logged_as == "unnamed"


def test_letters_that_were_read_wrongly_are_no_loss():
    text = '[ERR:3] "road" -> "rod"\n[OK] "a" -> "a"\n[ERR:2] "moon" -> ""\n'

    assert read_text(text * 3).metrics.names == ()


def test_boxes_whose_frames_were_lost_are_told_apart_by_what_begins_them():
    box = "| time/ | |\n| episodes | {n} |\n| total_timesteps | {n}00 |\n| train/ | |\n| critic_loss | {n}.5 |\n| ent_coef_loss | 0.25 |\n"
    run = read_text(box.format(n=4) + box.format(n=8))

    assert points(run, "value_loss") == [(400, 4.5), (800, 8.5)]


def test_how_many_rows_were_read_by_their_wording_is_told():
    assert only(read_text("it 1: loss 0.5\nit 2: loss 0.25\n"), "rows_read_by_name")["rows"] == 2


def test_a_box_that_counts_its_steps_under_total():
    box = "---------------------------\n| rollout/return   | {0:.1f} |\n| total/epochs     | {1}    |\n| total/steps      | {2}    |\n| train/loss_actor | 1.5     |\n---------------------------\n"
    run = read_text("".join(box.format(-900 + 300 * n, n, 2000 * n) for n in range(1, 5)))

    assert seen(run, "reward_mean") == [[2000, -600.0], [4000, -300.0], [6000, 0.0], [8000, 300.0]]


def test_one_loss_of_several_ranks_is_not_added_up():
    rows = "".join(
        f"{rank}: TRAIN [0][{10 * n}/100]\tTime 0.1 (0.1)\tLoss/tok {9.0 / n:.4f} (9.0)\n"
        for n in range(1, 9)
        for rank in (0, 1)
    )
    loss = RunView(read_text(rows)).curve("loss")

    assert loss.value[0] == 9.0
    assert len(loss) == 8


@pytest.mark.parametrize(
    ("program", "row"),
    [
        ("marian", "Ep. 1 : Up. {n}00 : Sen. 6{n},000 : Cost 7.5 : gNorm 1.25 : L.r. 3.0e-05"),
        (
            "nemo",
            "Training epoch 0, iteration {n}/9 | lr: 1e-05 | global_step: {n} | reduced_train_loss: 8.5",
        ),
        ("torchtune", "Step {n} | loss:8.5 lr:1e-05 peak_memory_active:20.5"),
        ("deepspeed", "steps: {n}0 loss: 8.5 iter time (s): 1.25 samples/sec: 12.5"),
        (
            "paddleocr",
            "epoch: [1/9], iter: {n}0, lr: 0.1, loss: 2.5, avg_reader_cost: 0.5 s, ips: 30.5 samples/s",
        ),
    ],
)
def test_a_program_is_known_by_its_rows(program, row):
    assert program in read_text("".join(row.format(n=n) + "\n" for n in range(1, 4))).frameworks
    assert program not in read_text("step 1 loss: 8.5\nepoch: [1/9], iter: 10, loss: 2.5\n").frameworks


@pytest.mark.parametrize(
    ("words", "english"),
    [
        ("perdida de validacion", "val loss"),
        ("perdida en entrenamiento", "loss train"),
        ("perdida de entrenamiento", "train loss"),
        ("trainingsverlust", "train loss"),
        ("Validierungsverlust", "val loss"),
        ("exactitud de validacion", "val accuracy"),
        ("epoche", "epoch"),
        ("schritt", "step"),
        ("paso", "step"),
        ("lote", "batch"),
        ("perte", "loss"),
        ("genauigkeit", "accuracy"),
        ("validierung", "val"),
        ("entrenamiento", "train"),
        ("lernrate", "learning rate"),
        ("taux d'apprentissage", "learning rate"),
        ("tasa de aprendizaje", "learning rate"),
        ("durchschnittlich", "avg"),
        ("moyenne", "avg"),
        ("promedio", "avg"),
        ("belohnung", "reward"),
        ("recompensa", "reward"),
    ],
)
def test_words_of_other_languages_are_known_without_their_accents_too(words, english):
    assert in_english(f"{words}: \x02").replace(" :", ":") == f"{english}: \x02"


def test_the_mean_of_an_epoch_keeps_its_name_though_something_else_is_counted_in_batches_later():
    text = "".join(
        f"Train loss: {loss}\nEvaluation @epoch {epoch} - batch 300: \n[Metrics] AUC: 0.7{epoch}\n"
        f"** Epoch={epoch} end **\n"
        for epoch, loss in enumerate((0.5, 0.25, 0.125), 1)
    )
    read = read_text("** Epoch=1 start **\n" + text)
    assert [value for _, value in points(read, "loss")] == [0.5, 0.25, 0.125]


def test_rows_that_differ_in_their_blanks_are_of_one_kind_from_the_first_on():
    text = "".join(
        f"batch[{last - 499:4d}-{last:4d}]: wobble = {value}; wabble = 0.5;\n"
        for last, value in ((500, 0.5), (1000, 0.25), (1500, 0.125))
    )
    assert points(read_text(text), "wobble") == [(500, 0.5), (1000, 0.25), (1500, 0.125)]


def test_an_error_on_held_out_data_that_stands_alone_is_read_beside_that_of_the_training():
    rows = "".join(f"{n}0 epochs:\nTrain RMSE: 0.{9 - n}\nTest RMSE: 1.{n}\n" for n in (1, 2, 3))
    assert [value for _, value in points(read_text(rows), "test_rmse")] == [1.1, 1.2, 1.3]
    assert not read_text(rows.replace("Train", "Best")).metrics.names
