"""Rows of Tacotron 2, FunASR, PyTorch-Kaldi, RVC and Marian, and the lines by which other scalers tell of an overflow."""

import pytest
from log_reading import only, points, read_text

FUNASR = (
    "[root][INFO] - train, rank: 0, epoch: 0/10, data_slice: 0/1, step_in_slice: 3/50, step_in_epoch: 3, total step: 3,"
    " (loss_avg_rank: 2.500), (loss_avg_slice: 2.750), (ppl_avg_slice: 1.250e+19), (acc_avg_slice: 0.000),"
    " (lr: 1.000e-05), [('loss_ctc', 2.25), ('loss', 2.5)], {'data_load': '0.250'}"
)


@pytest.mark.parametrize(
    ("row", "loss"),
    [
        ("Train loss 2000 0.250000 Grad Norm 0.500000 1.50s/it", (2000, 0.25)),
        (FUNASR, (3, 2.5)),
        (
            "ep=07 tr=['train'] loss=nan err=0.218 valid=dev loss=1.5 err=0.9 lr_arch1=0.0008 time(s)=100",
            (None, "nan"),
        ),
    ],
)
def test_the_loss_of_a_row(row, loss):
    assert points(read_text(row + "\n"), "loss") == [loss]


def test_marian_groups_its_sentences():
    row = "[2024-01-01 00:00:00] Ep. 2 : Up. 1500 : Sen. 10,000 : Cost nan : Time 9.5s : nan words/s : gNorm 0.5 : L.r. 1e-04"
    run = read_text(row + "\n")

    assert points(run, "loss") == [(1500, "nan")]
    assert points(run, "grad_norm") == [(1500, 0.5)]
    assert points(run, "learning_rate") == [(1500, 1e-04)]


def test_tacotron_prints_the_step_before_the_value():
    run = read_text("Train loss 2000 0.250000 Grad Norm inf 1.50s/it\nValidation loss 2001:  0.375000  \n")

    assert points(run, "grad_norm") == [(2000, float("inf"))]
    assert [value for _, value in points(run, "eval_loss")] == [0.375]


def test_funasr_names_no_perplexity():
    assert not read_text(FUNASR + "\n").metrics.has("perplexity")


def test_losses_of_a_voice_converter():
    row = "INFO:run:loss_disc=3.5, loss_gen=nan, loss_fm=10.25,loss_mel=20.5, loss_kl=1.25\n"
    run = read_text(row * 2)

    assert points(run, "loss_gen") == [(None, "nan")] * 2
    assert points(run, "loss_mel") == [(None, 20.5)] * 2


@pytest.mark.parametrize(
    ("line", "field", "scale"),
    [
        ("Found inf or nan, current scale is: 1.52e-05, decrease to: 1.52e-05*0.5", "attempted", 1.52e-05),
        ("Loss scaler reducing loss scale to 512.0", "reducing_to", 512.0),
        (
            "[2024-01-01 00:00:00] NaN/Inf percentage 0.70 in 10 gradient updates, but cost-scaling factor 7.5e-06 is already at minimum",
            "attempted",
            7.5e-06,
        ),
        ("[WARNING] overflow, drop the step, loss scale adjust to 256.0", "reducing_to", 256.0),
    ],
)
def test_scalers_tell_of_an_overflow(line, field, scale):
    assert only(read_text(line + "\n"), "loss_scale_overflow")[field] == scale


def test_a_static_scale_is_not_lowered():
    text = "[WARNING] overflow, still update, loss scale adjust to 1024.0\n"

    assert not read_text(text).events.of("loss_scale_overflow")


def test_rows_of_wespeaker_are_told_by_their_columns():
    form = "[ INFO : 2026-01-01 04:05:4{n},255 ] - |         7|      {n}00|   5.5e-05|       0.2|    {v}|    78.5|\n"
    run = read_text("".join(form.format(n=n, v=v) for n, v in ((1, 1.5), (2, 1.25))))
    assert points(run, "loss") == [(100, 1.5), (200, 1.25)]
    assert points(run, "accuracy") == [(100, 78.5), (200, 78.5)]
    assert points(run, "learning_rate") == [(100, 5.5e-05), (200, 5.5e-05)]
    # five columns, or another logger, may be anything
    assert not read_text(form.format(n=1, v=1.5).replace("|       0.2", "") * 3).metrics.raw_names
    assert not read_text(form.format(n=1, v=1.5).partition("] - ")[2] * 3).metrics.raw_names


def test_word_errors_as_kaldi_counts_them_are_those_of_their_set():
    text = "".join(
        f"## epoch-{n}\n[test-clean] %WER {v}5% [18104 / 52576, 56 ins, 9 del, 8 sub ]\n[test-other] %WER {w}5% [25032 / 52343, 49 ins, 9 del, 8 sub ]\n"
        for n, v, w in ((0, 9.2, 12.2), (1, 8.2, 10.2))
    )
    run = read_text(text)
    assert [round(value, 6) for _, value in points(run, "test-clean_wer")] == [0.0925, 0.0825]
    assert [round(value, 6) for _, value in points(run, "test-other_wer")] == [0.1225, 0.1025]
