"""Rows that say more than names and numbers: what repeats in the same words with other numbers is a series."""

import analyzer


def series_of(tmp_path, lines):
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    metrics = analyzer.load(tmp_path).metrics
    return {name: [float(v) for v in metrics.series(name).value] for name in set(metrics.names)}


def test_a_sentence_that_comes_again_with_other_numbers_is_a_series(tmp_path):
    lines = []
    for at in range(8):
        lines.append(
            f"[2025-02-03 10:{at:02d}:00,100][fit][INFO] - [Net] val pass over => avg_loss={9 - at}.25"
        )
        lines.append(
            f"[2025-02-03 10:{at:02d}:30,100][fit][INFO] - [Net] train pass over => avg_loss={8 - at}.5"
        )
    found = series_of(tmp_path, lines)
    assert found["loss"] == [8.5 - at for at in range(8)]
    assert found["eval_loss"] == [9.25 - at for at in range(8)]


def test_a_sentence_that_repeats_the_same_number_or_comes_a_few_times_is_none(tmp_path):
    settled = ["the optimizer was told to hold loss = 0.25 for good"] * 9
    remarks = [f"what others saw here before was loss = 0.{at}5" for at in range(3)]
    assert "loss" not in series_of(tmp_path, settled + remarks)


def test_over_how_many_batches_a_value_is_the_mean_is_no_part_of_its_name(tmp_path):
    lines = [f"Test error last 500 batches: 0.{90 - at}" for at in range(9)]
    assert series_of(tmp_path, lines)["test_error"] == [float(f"0.{90 - at}") for at in range(9)]


def test_an_array_of_one_value_is_that_value_and_one_of_several_agents_are_parts(tmp_path):
    lines = [f"train --- batch:{at}/900  loss:[ 0.{at}5]" for at in range(100, 900, 100)]
    lines += [f"Episode {at} | Rewards: [ -{at}.5 -{2 * at}.5]" for at in range(1, 6)]
    found = series_of(tmp_path, lines)
    assert found["loss"] == [float(f"0.{at}5") for at in range(100, 900, 100)]
    assert found["rewards_1"] == [-2 * at - 0.5 for at in range(1, 6)]
    assert "reward_mean" not in found


def test_a_logger_that_writes_behind_a_bar_is_read(tmp_path):
    lines = [
        f"Fitting:  {at}%|##   | {at}/900 [01:23<4:47:24,  1.62s/it]2025-04-05 06:{at // 60:02d}:09,9 - fit - INFO - Step {at}, Loss: {at / 1000}"
        for at in range(100, 900, 100)
    ]
    assert series_of(tmp_path, lines)["loss"] == [at / 1000 for at in range(100, 900, 100)]
