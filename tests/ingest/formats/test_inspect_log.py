"""Statistics of TransformerEngine's debug tools: numbers of one tensor come together in one row."""

from trace_reading import read, reasons, rows

LINE = "2025-04-01 10:00:00,123 - INFO - {layer}_{tensor}_{stat} \t\t\t\t iteration={step:06d} \t\t\t\t value={value}\n"


def log(tmp_path, *lines, name="nvdlfw_inspect_globalrank-3.log"):
    folder = tmp_path / "nvdlfw_inspect_statistics_logs"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(
        "".join(LINE.format(layer=a, tensor=b, stat=c, step=d, value=e) for a, b, c, d, e in lines)
    )
    return path


FC1 = "decoder.layers.0.mlp.fc1"


def test_numbers_of_a_tensor_are_one_row_and_shares_are_fractions(tmp_path):
    run = read(
        log(
            tmp_path,
            (FC1, "activation", "max", 10, "12.5000"),
            (FC1, "activation", "min", 10, "-3.0000"),
            (FC1, "gradient", "underflows%", 10, "3.1250"),
            (FC1, "gradient", "fp8_delayed_scaling_overflows%", 10, "50.0000"),
            (FC1, "activation", "max", 11, "nan"),
            (FC1, "wgrad", "l1_norm", 11, "2.0000"),
        )
    )
    first, gradient, bad, wgrad = rows(run)
    assert (first["step"], first["rank"], first["module"], first["tensor_role"]) == (10, 3, FC1, "input[0]")
    assert (first["absmax"], first["nonfinite"]) == (12.5, False)
    assert (gradient["pass"], gradient["underflow_frac"], gradient["overflow_frac"]) == ("bwd", 0.03125, 0.5)
    assert (bad["step"], bad["nonfinite"]) == (11, True)
    assert "max" not in bad
    assert wgrad["extra"] == '{"l1_norm": "2.0000"}'


def test_a_statistic_printed_as_zero_stays_unknown(tmp_path):
    found = rows(read(log(tmp_path, *[(FC1, "gradient", "std", 1, "0.0000")] * 4)))
    assert "std" not in found[0]  # four decimals: it may be 1e-5


def test_every_cut_is_read(tmp_path):
    path = log(tmp_path, *[(FC1, "weight", stat, 5, "1.5000") for stat in ("min", "max", "mean", "std")])
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        found = rows(read(path))
        assert len(found) <= 1
    assert reasons(read(path)) == ""
