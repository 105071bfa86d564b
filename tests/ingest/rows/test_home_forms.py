"""Rows of darknet, PaddleOCR, Tensorpack, BigDL, boosted trees and guided-diffusion, and cut logs of Keras."""

import pytest
from log_reading import only, points, read_text

from analyzer.errors import RuleSyntaxError
from analyzer.ingest.text.rows.forms.row_form import read_forms, row_forms
from analyzer.vocabulary.marked import load_marked

BOX = "-----------------------------"


@pytest.mark.parametrize(
    ("row", "loss"),
    [
        (" 100: 2.500000, 2.250000 avg loss, 0.001000 rate, 0.250000 seconds, 6400 images", (100, 2.25)),
        ("0|app  | 100: -nan, -nan avg, 0.001000 rate, 0.250000 seconds, 6400 images", (100, "nan")),
        (
            "[2024/01/01 00:00:00] ppocr INFO: epoch: [1/100], global_step: 10, lr: 0.001000, CTCLoss: nanxxx, loss: nanxxx, avg_reader_cost: 0.01 s",
            (10, "nan"),
        ),
        (
            "INFO  DistriOptimizer$:295 - [Epoch 1 32/1000][Iteration 7][Wall Clock 2.5s] Train 32 in 2.5seconds. Loss is Infinity. Current ",
            (7, float("inf")),
        ),
        (
            "[2024-01-01 00:00:00,000 INFO] Step 100/ 1000; acc: 2.5; ppl: nan; xent: nan; lr: 0.00100; 10/10 tok/s; 25 sec",
            (100, "nan"),
        ),
        ("[0101 00:00:00 @monitor.py:474] total_cost: nan", (None, "nan")),
        ("[100]\ttrain-logloss:0.250000\teval-logloss:0.375000", (100, 0.25)),
        ("[100]\ttraining's binary_logloss: 0.25\tvalid_1's binary_logloss: 0.375", (100, 0.25)),
    ],
)
def test_a_row_of_each_program_tells_its_loss(row, loss):
    assert points(read_text(row + "\n"), "loss") == [loss]


def test_losses_of_components_are_read_by_their_names_and_other_dicts_are_not():
    told = read_text("Losses {'tagger': 0.25, 'ner': 12.5}\nLosses {'tagger': 0.125, 'ner': 11.5}\n")

    assert points(told, "ner_loss") == [(None, 12.5), (None, 11.5)]
    assert points(told, "tagger_loss") == [(None, 0.25), (None, 0.125)]
    assert not read_text("pipes {'ner': <Pipe at 7>, 'parser': None}\nsizes {'nerves': 12.5}\n").metrics.names


def test_paddleocr_says_how_long_a_step_waited():
    row = "epoch: [1/9], global_step: 10, lr: 0.001, loss: 1.5, avg_reader_cost: 2.00000 s, avg_batch_cost: 2.50000 s, ips: 64.0 samples/s"
    run = read_text(row + "\n")

    assert points(run, "data_time_s") == [(10, 2.0)]
    assert points(run, "step_time_s") == [(10, 2.5)]


def test_the_metric_of_held_out_rows_is_their_loss():
    run = read_text("[1]\teval-rmse:0.5\ttrain-rmse:0.25\n[2]\teval-rmse:0.75\ttrain-rmse:0.125\n")

    assert points(run, "eval_loss") == [(1, 0.5), (2, 0.75)]


def test_an_area_under_a_curve_is_no_loss():
    assert points(read_text("[1]\ttrain-auc:0.5\ttrain-logloss:0.25\n"), "loss") == [(1, 0.25)]


def test_a_table_of_guided_diffusion_names_its_step():
    rows = [
        BOX,
        "| lg_loss_scale | 16.5      |",
        "| loss          | nan       |",
        "| step          | 1.5e+05  |",
        BOX,
    ]

    assert points(read_text("\n".join(rows) + "\n"), "loss") == [(150000, "nan")]


@pytest.mark.parametrize("title", ["Mean value_function loss", "Value function loss", "Mean value loss"])
def test_rsl_rl_calls_the_loss_of_its_critic_by_several_names(title):
    text = f"            Learning iteration 10/100\n\n   {title}: inf\n      Mean reward: 2.50\n{BOX}\n"

    assert points(read_text(text), "value_loss") == [(10, float("inf"))]


class TestKeras:
    def test_a_log_that_begins_inside_an_epoch(self):
        text = " 7/100 [=>............................] - ETA: 1s - loss: nan - accuracy: 0.1\n"

        assert points(read_text(text), "loss") == [(7, "nan")]

    def test_an_evaluation_alone_is_no_training(self):
        text = "100/100 [==============================] - 1s 10ms/step - loss: 0.5 - accuracy: 0.9\n"

        assert points(read_text(text), "loss") == []

    def test_bars_that_were_copied_without_the_heads_of_their_epochs(self):
        row = "100/100 [==============================] - 9s 90ms/step - loss: {} - box_loss: 0.25\n"

        assert points(read_text("\n".join(row.format(loss) for loss in (2.5, 2.25, 2.0))), "loss") == [
            (100, 2.5),
            (200, 2.25),
            (300, 2.0),
        ]

    def test_bars_of_evaluations_beside_a_loop_of_its_own_are_no_training(self):
        bar = "100/100 [==============================] - 1s 10ms/step - loss: 9.5\n"

        assert points(
            read_text("".join(f"epoch {at} train loss: {0.5 / at}\n{bar}" for at in (1, 2))), "loss"
        ) == [
            (None, 0.5),
            (None, 0.25),
        ]

    def test_an_evaluation_before_the_first_epoch_is_no_training(self):
        text = (
            "50/50 [==============================] - 1s 10ms/step - loss: 9.5\nEpoch 1/2\n"
            "100/100 [==============================] - 1s 10ms/step - loss: 0.5\n"
        )

        assert points(read_text(text), "loss") == [(100, 0.5)]

    @pytest.mark.parametrize("lead", ["iteration {} ", "Epoch {}/9: ", "Round #{} - ", "Эпоха {}/9 "])
    def test_the_name_of_an_epoch_may_stand_before_its_bar(self, lead):
        row = "100/100 [==============================] - 393s - loss: {}\n"
        text = "".join(lead.format(at) + row.format(9.5 - at) for at in (1, 2))

        assert points(read_text(text), "loss") == [(100, 8.5), (200, 7.5)]

    def test_an_indented_paste(self):
        text = "    Epoch 1/2\n    10/10 [==============================] - 1s 10ms/step - loss: 0.5\n"

        assert points(read_text(text), "loss") == [(10, 0.5)]


def test_typographic_quotes_of_a_forum():
    row = "{\u2018loss\u2019: 1.5, \u2018grad_norm\u2019: 0.5, \u2018learning_rate\u2019: 1e-05, \u2018epoch\u2019: 0.1}\n"

    assert [value for _, value in points(read_text(row), "loss")] == [1.5]


def test_a_notebook_table_with_columns_of_its_own():
    text = "Step | Training Loss | reward | rewards / format\n-- | -- | -- | --\n1 | 0.000000 | 0.5 | 0.25\n2 | 0.000100 | 1.0 | 0.5\n"

    assert points(read_text(text), "reward_mean") == [(1, 0.5), (2, 1.0)]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("(ctc:71) WARNING: 3/16 samples got nan grad. These were ignored for CTC loss.", "ctc_impossible"),
        ("(e2e_asr:302) WARNING: loss (=-186341) is not correct", "ctc_impossible"),
        ("(asr_chainer:132) WARNING: grad norm is nan. Do not update model.", "gradient_skipped"),
        (
            "WARNING: The gradients at all steps are invalid in this epoch. Stopped at 1epoch",
            "nonfinite_gradient_stop",
        ),
        (
            "Exception: Skipped 50 iterations in a row due to Overflow - Exiting training.",
            "loss_scale_minimum",
        ),
        ("| WARNING: overflow detected, setting loss scale to: 0.25", "loss_scale_overflow"),
        ("Found NaN, decreased lg_loss_scale to 16.5", "loss_scale_overflow"),
        ("RuntimeError:  [!] NaN loss with decoder_loss.", "nan_stop"),
    ],
)
def test_guards_against_values_that_are_not_finite(line, kind):
    only(read_text(line + "\n"), kind)


def test_the_source_line_of_a_guard_is_no_stop():
    assert not read_text('    raise RuntimeError(f" [!] NaN loss with {key}.")\n').events.of("nan_stop")


@pytest.mark.parametrize(
    ("line", "stops"),
    [
        ("NaN detected", 1),
        ("no NaN detected", 0),
        ("NaN detected in column 7, filled", 0),
        ("NaN detected, skipping step", 0),
    ],
)
def test_nan_that_a_line_of_its_own_tells_is_a_stop(line, stops):
    rows = "".join(f"Epoch  1 Update  {at} Cost  {2000 / at} UD  0.5\n" for at in range(100, 900, 100))

    assert len(read_text(f"{rows}{line}\n").events.of("nan_stop")) == stops


def _listed(rows, epochs=12, width=3):
    return "".join(
        f"epoch {epoch:{width}} {name}: {value / epoch}\n"
        for name, value in rows
        for epoch in range(1, epochs + 1)
    )


def test_a_score_that_returnn_lists_is_a_cost_and_another_value_is_no_other_training():
    run = read_text(
        _listed([("dev_error", 0.8), ("dev_score", 4.5), ("learning_rate", 0.1), ("train_score_output", 5.0)])
    )

    assert [value for _, value in points(run, "loss")][:2] == [5.0, 2.5]
    assert [value for _, value in points(run, "eval_loss")][:2] == [4.5, 2.25]
    assert not run.events.of("training_begins_again")


def test_a_dev_score_of_another_program_is_no_cost():
    assert not points(read_text(_listed([("dev_score", 0.9)], width=1)), "eval_loss")


def test_the_same_value_from_the_first_epoch_on_again_is_another_training():
    run = read_text(_listed([("train_loss", 2.0), ("train_loss", 3.0)]))

    assert [event.ref.line for event in run.events.of("training_begins_again")] == [13]


def test_each_example_is_read_by_its_own_form():
    def reader(row):
        for form in row_forms():
            head = form.head.search(row) if any(text in row for text in form.literals) else None
            if head is not None and form.pair.search(row if form.from_start else row[head.end() :]):
                return form.name
        return None

    assert [
        (form.name, row) for form in row_forms() for row in form.examples if reader(row) != form.name
    ] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("head: 'at ${STEPP}'", "no part above is called 'STEPP'"),
        ("head: 'at (${WHERE}'", "not a regular expression: missing [)]"),
        ("program: kerras", "no framework is called 'kerras'"),
        ("restart: true", "did you mean 'restarts'"),
    ],
)
def test_a_form_that_is_not_as_declared_is_refused(line, said):
    rest = "" if line.startswith("head") else "  head: x\n"
    text = f"parts: {{WHERE: x}}\nforms:\n- name: mine\n  {line}\n  literals: [a]\n{rest}  pair: y\n"

    with pytest.raises(RuleSyntaxError, match=said):
        read_forms(load_marked(text, "forms.yaml"))


def test_the_sentences_below_a_report_are_no_course():
    report = "I Training of Epoch 0 - WER: 0.750000, loss: 150.500000, mean edit distance: 0.400000"
    old = "I WER: 1.000000, loss: 2.250000, mean edit distance: 1.000000"
    new = "WER: 0.500000, CER: 0.250000, loss: 3.125000"
    alone = points(read_text(report + "\n"), "loss")
    assert points(read_text(f"{report}\n{old}\n{old}\n"), "loss") == alone
    assert not read_text(f"{new}\n{new}\n").metrics.names
    # fewer digits are those of another program, whose rows they are
    assert points(read_text("WER: 0.50, CER: 0.25, loss: 3.125\nWER: 0.25, CER: 0.12, loss: 2.5\n"), "loss")
