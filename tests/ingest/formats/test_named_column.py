import pytest
from structured_reading import read_files

from analyzer.ingest.base import Match
from analyzer.ingest.formats.metrics.named_column import NamedColumn
from analyzer.ingest.walk import make_candidate

COLUMN = NamedColumn()
NUMBERS = "0.75\n0.5\n\n2.5e-1\nnan\n0.125\n0.0625\n"


def sniffed(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return COLUMN.sniff(make_candidate(path, name))


@pytest.mark.parametrize(
    ("name", "metric"),
    [("loss.txt", "loss"), ("train_loss_2.log", "loss"), ("val-loss.dat", "eval_loss"), ("losses.csv", "loss"), ("test_acc.txt", "eval_accuracy")],
)  # fmt: skip
def test_a_column_in_a_file_named_for_a_curve_is_that_curve(tmp_path, name, metric):
    assert sniffed(tmp_path, name, NUMBERS) is Match.LIKELY
    series = read_files({name: NUMBERS}, COLUMN).metrics
    assert set(series.names) == {metric}


@pytest.mark.parametrize(
    ("head", "metric"),
    [("loss", "loss"), ("# val_loss", "eval_loss"), ('"train_loss"', "loss"), ("% mean class accuracy (train set)\t", "accuracy")],
)  # fmt: skip
def test_a_column_below_a_head_is_what_the_head_names(tmp_path, head, metric):
    text = f"{head}\n{NUMBERS}"
    assert sniffed(tmp_path, "curve.txt", text) is Match.LIKELY
    table = read_files({"curve.txt": text}, COLUMN).metrics
    assert (set(table.names), table.line[0]) == ({metric}, 2)


def test_a_number_that_grows_before_the_value_is_the_step(tmp_path):
    rows = "".join(f"{100 * n**2 + 28:.6e},{-20 + n:.6e}\n" for n in range(1, 9))

    assert sniffed(tmp_path, "rewards.csv", rows) is Match.LIKELY
    series = read_files({"rewards.csv": rows}, COLUMN).metrics.series("reward_mean")
    assert series.value.tolist() == [-19.0, -18.0, -17.0, -16.0, -15.0, -14.0, -13.0, -12.0]
    assert [series.step_at(at) for at in range(3)] == [128, 428, 928]
    falling = "".join(f"{9 - n},{n / 9:.4f}\n" for n in range(8))
    assert sniffed(tmp_path, "rewards.csv", falling) is Match.NO, (
        "two quantities, and nobody says which is which"
    )


def test_values_lines_and_what_is_no_number():
    run = read_files({"loss.txt": NUMBERS + "done\n0.03\n"}, COLUMN)
    table = run.metrics

    assert list(table.value[[0, 1, 2]]) == [0.75, 0.5, 0.25]
    assert list(table.line) == [1, 2, 4, 5, 6, 7, 9]
    assert [gap.rows_lost for gap in run.gaps] == [1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vocab.txt", NUMBERS),
        ("curve.txt", f"loss_weight\n{NUMBERS}"),
        ("curve.txt", f"The loss of my net:\n{NUMBERS}"),
        ("labels.txt", "0\n1\n" * 10),
        ("loss.txt", "epoch 1 loss 0.5\n" * 6),
        ("loss.txt", "0 1.5\n1 1.25\n" * 5),
        ("loss.txt", "0.5\n0.25\n"),
        ("loss.txt", ""),
    ],
)
def test_other_names_and_other_lines_are_left_alone(tmp_path, name, text):
    assert sniffed(tmp_path, name, text) is Match.NO
