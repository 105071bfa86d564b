"""Evaluations of which a log holds one: bars that end short, evaluations by Keras, sentences, tables, loops without a turn."""

import pytest
from log_reading import points, read_text

TRAINED = "Epoch 7/inf, loss=6.5: 100%|########| 400/400 [02:24<00:00,  2.29samples/s]\n"
EPOCHS = "".join(
    f"Epoch {n}/2\n40/40 [==============================] - 9s 225ms/step - mrr: 0.{n}5 - loss: {8 / n:.4f} - val_mrr: 0.0119 - val_loss: 24.5\n"
    for n in (1, 2)
)


@pytest.mark.parametrize(
    ("at", "found"), [(58, [(2800, 86.25)]), (60, [(2800, 86.25)]), (12, [])], ids=["short", "full", "begun"]
)
def test_the_last_state_of_a_bar_of_held_out_data_that_ends_nearly_full_is_its_evaluation(at, found):
    bar = f"Validating, loss=86.25:  {at * 100 // 60}%|####| {at}/60 [00:40<00:02,  6.63samples/s]\n"

    assert points(read_text(TRAINED + bar), "eval_loss") == found


@pytest.mark.parametrize("batches", [40, 12])
def test_an_evaluation_behind_the_last_epoch_of_keras_does_not_replace_it(batches):
    bar = f"{batches}/{batches} [==============================] - 3s 75ms/step - mrr: 0.0103 - loss: 27.75\n"
    run = read_text(EPOCHS + " Starting Evaluation\n" + bar)

    assert points(run, "loss") == [(40, 8.0), (80, 4.0)]
    assert [value for _, value in points(run, "mrr")] == [0.15, 0.25]


def test_the_end_of_a_bar_of_keras_is_drawn_again_with_its_held_out_values():
    bar = "40/40 [==============================] - 9s 225ms/step - loss: 8.0000"
    run = read_text(f"Epoch 1/1\n{bar}\r{bar} - val_loss: 24.5000\n")

    assert (points(run, "loss"), points(run, "eval_loss")) == ([(40, 8.0)], [(40, 24.5)])


@pytest.mark.parametrize("place", ["holdout set", "held-out set", "holdout"])
def test_a_sentence_about_data_held_out_is_an_evaluation(place):
    run = read_text(f"step 300 loss 0.5\nMean PSNR on {place}: 9.41\n")

    (name,) = [name for name in run.metrics.names if name != "loss"]
    assert "psnr" in name.lower()
    assert "hold" in name.lower() or "held" in name.lower()


def test_a_table_of_the_classes_of_objects_is_one_of_classes():
    run = read_text(
        "Object Class\tAP\tATE\nlorry\t0.000\t1.337\ntram\t0.000\t1.000\nbicycle\t0.412\t0.500\n\n"
    )

    (event,) = run.events.of("class_scores")
    assert (event.fields["classes"], event.fields["at_zero"]) == (3, 2)


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("0it [00:03, ?it/s]", {"loop_without_turn"}),
        ("0it [00:00, ?it/s]", set()),
        ("10it [00:03, 3.1it/s]", set()),
        ("Prediction : []  -- Label :  [3. 1.]", {"empty_prediction"}),
        ('Prediction: ""', {"empty_prediction"}),
        ("Prediction: [2 1] -- Label: [2 1]", {"worded_prediction"}),
        ('Predicted: "a cup of tea"', {"worded_prediction"}),
        ("no prediction: [] was made", set()),
        ("Prediction: [] Label: []", set()),
        ('Prediction: "" -- answer: "" (none is right)', set()),
        ("Prediction: [ 9 14  2] Label: [ 9 14  2]", {"worded_prediction"}),
    ],
)
def test_loops_without_a_turn_and_predictions_that_are_shown(line, kinds):
    assert {event.kind for event in read_text(line + "\n").events} == kinds


def test_a_label_that_stands_beside_an_empty_prediction_is_kept():
    (event,) = read_text("Predicted: [] -- Label: [ 5 5  2]\n").events

    assert event.fields["label"] == "5 5  2"


@pytest.mark.parametrize(("shown", "told"), [(6, [9.5]), (2, [])])
def test_the_means_of_a_lone_evaluation_that_breaks_off_are_those_of_many_batches(shown, told):
    rows = "".join(
        f"Test: [{at:4d}/200]  Time: 0.450s (0.500s,  250.00/s)  Loss:  9.7500 (9.5000)  Acc@1:   0.000 (  0.125)\n"
        for at in range(0, 10 * shown, 10)
    )

    assert [value for _, value in points(read_text("Model made\n" + rows), "eval_loss")] == told
