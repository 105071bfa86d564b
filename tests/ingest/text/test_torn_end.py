"""A log cut anywhere gives no value that the whole log does not hold."""

import pytest

from analyzer.ingest.discover import load_run
from analyzer.ingest.text.text_layer import without_torn_number

ROWS = {
    "plain": lambda n: f"step {n * 10} loss {3 / (n + 1):.4f} lr {1e-4 * (20 - n):.2e}\n",
    "repr": lambda n: f"step {n * 10} loss {3 / (n + 1)!r}\n",
    "hf": lambda n: (
        f"{{'loss': {3 / (n + 1):.4f}, 'grad_norm': {n / 7:.3f}, 'learning_rate': {1e-4 / (n + 1):.3e}, 'epoch': {n / 10:.2f}}}\n"
    ),
    "step last": lambda n: f"loss: {3 / (n + 1):.3f} acc: {n / 20:.3f} iteration: {990 + n}\n",
    "keras": lambda n: (
        f"Epoch {n + 1}/20\n50/50 [==============================] - 1s 20ms/step - loss: {3 / (n + 1):.4f} - accuracy: {n / 20:.4f}\n"
    ),
    "stamped": lambda n: (
        f"2026-11-22 10:00:{n:02d},123 INFO train: epoch={n} step={n * 100} train_loss={3 / (n + 1):.5f}\n"
    ),
    "bar": lambda n: f"\r{n:3d}%|██        | {n}/20 [00:{n:02d}<00:20, 1.00it/s, loss={3 / (n + 1):.3f}]",
}


def points(path, form=""):
    """Name, step and value of each point; a row that names its step last has none of its own when it is cut."""
    table = load_run(path).run.metrics
    return {
        (table.names[metric], 0 if form == "step last" else int(step), float(value))
        for metric, step, value in zip(table.metric, table.step, table.value, strict=True)
    }


@pytest.mark.parametrize("form", ROWS)
def test_a_log_cut_anywhere_holds_no_value_of_its_own(tmp_path, form):
    text = "".join(map(ROWS[form], range(20))).encode()
    (tmp_path / "train.log").write_bytes(text + b"\n")
    whole = points(tmp_path, form)
    assert whole
    for cut in range(len(text) - len(ROWS[form](19).encode()) - 2, len(text)):
        (tmp_path / "train.log").write_bytes(text[:cut])
        assert points(tmp_path, form) <= whole, text[:cut][-80:]


@pytest.mark.parametrize("form", ["plain", "hf", "stamped", "keras"])
def test_a_last_row_that_is_whole_is_read(tmp_path, form):
    text = "".join(map(ROWS[form], range(20)))
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    whole = points(tmp_path)
    (tmp_path / "train.log").write_text(text.rstrip("\n"), encoding="utf-8")
    assert points(tmp_path) == whole


@pytest.mark.parametrize("form", ["plain", "hf", "stamped", "keras"])
def test_a_log_that_stops_within_a_row_was_cut_off(tmp_path, form):
    text = "".join(map(ROWS[form], range(20)))
    begins = text.rstrip("\n").rfind("\n") + 1

    def cut_off(at, end=""):
        (tmp_path / "train.log").write_text(text[:at] + end, encoding="utf-8")
        return load_run(tmp_path).run.log_ends[0].cut_off

    assert all(cut_off(at) for at in range(begins + 12, len(text) - 8))
    assert not cut_off(len(text))
    assert not cut_off(len(text) - 1)
    assert not cut_off(begins)
    assert not cut_off(begins, "The end")


def test_a_record_that_holds_the_sign_of_a_number_is_none_of_the_same_wording():
    assert without_torn_number(b"1 # 5", b"2 # 5\n# # #\n") == b"1 # 5"
    assert without_torn_number(b"1 # 5", b"2 # 51\n# # #\n") == b"1 # "


def test_a_copied_log_whose_last_number_lost_its_point_ends_in_no_loss_of_nothing(tmp_path):
    text = "".join(map(ROWS["repr"], range(19)))
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    whole = points(tmp_path)
    for end in ("0\n", "0\r\n\r\n"):
        (tmp_path / "train.log").write_text(text + "step 200 loss " + end, encoding="utf-8", newline="")
        assert points(tmp_path) == whole


@pytest.mark.parametrize(("form", "end"), [("repr", "0.0"), ("plain", "0")])
def test_a_last_loss_that_is_printed_as_nothing_is_kept(tmp_path, form, end):
    text = "".join(map(ROWS[form], range(20)))
    (tmp_path / "train.log").write_text(f"{text}step 200 loss {end}\n", encoding="utf-8")
    assert ("loss", 200, 0.0) in points(tmp_path)
