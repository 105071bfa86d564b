"""How far a run came by its epochs: where their counter is a heading, a row, or the words behind an evaluation."""

import pytest

import analyzer

EVALUATED = "Validation loss {loss:.4f} accuracy 0.71\n"
OF_EVALUATION = "***** Evaluating perplexity, Epoch {epoch}/{epochs} *****\nppl {loss:.4f}\nsaving model\n"
ROW = "step {step} loss {loss:.4f}\n"
HEADING = "Epoch {epoch}/{epochs}\n"


def loss(step):
    return 0.4 + 3.6 / (1 + step / 20)


def training(epochs, *, of_each=60, of_last=None, heading=HEADING, row=ROW, close="", done=None):
    """A log of ``done`` epochs, the last of which may stop after ``of_last`` rows."""
    text, step = "", 0
    done = epochs if done is None else done
    for epoch in range(1, done + 1):
        stops = of_last is not None and epoch == done
        text += heading.format(epoch=epoch, epochs=epochs)
        for at in range(1, (of_last if stops else of_each) + 1):
            step += 1
            text += row.format(step=step, at=at, epoch=epoch, epochs=epochs, loss=loss(step))
        if not stops:
            text += close.format(epoch=epoch, epochs=epochs, loss=loss(step))
    return text


def ended(tmp_path, text, settings=""):
    (tmp_path / "train.log").write_text(text)
    if settings:
        (tmp_path / "config.yaml").write_text(settings)
    return analyzer.diagnose(tmp_path).ended


DIED = {
    "under its heading": training(3, of_last=25, close=EVALUATED),
    "no closing words": training(3, of_last=25),
    "heading with the rate": training(3, of_last=25, heading="Epoch {epoch}/{epochs}, lr=0.001\n", close=EVALUATED),
    "counter of batches": training(3, of_last=25, row="[{at}/60] loss {loss:.4f}\n", close=EVALUATED),
    "counter in each row": training(3, of_last=25, heading="", row="Epoch {epoch}/{epochs} loss {loss:.4f}\n"),
    "evaluated in its middle": training(3, of_last=40, close=EVALUATED) + "Validation loss 0.6100 accuracy 0.71\nstep 161 loss 0.5\n",
    "only begun": training(40, of_each=1, close="60/60 - 2s\n", done=39) + "Epoch 40/40\n",
    "longer than what is kept": training(3, of_each=2000, of_last=900, close=EVALUATED),
    "counter behind the epoch": training(3, of_last=25, heading="", close="Epoch {epoch}/{epochs} train loss {loss:.3f} val loss {loss:.3f}\n"),
}  # fmt: skip
WHOLE = {
    "under its heading": training(3, close=EVALUATED),
    "no closing words": training(3),
    "heading with the rate": training(3, heading="Epoch {epoch}/{epochs}, lr=0.001\n", close=EVALUATED),
    "counter in each row": training(3, heading="", row="Epoch {epoch}/{epochs} loss {loss:.4f}\n"),
    "longer than what is kept": training(2, of_each=2000, close=EVALUATED),
    "counter behind the epoch": training(3, heading="", close="Epoch {epoch}/{epochs} train loss {loss:.3f} val loss {loss:.3f}\n"),
    "best model sometimes saved": training(9, of_each=8, heading="", close="Epoch {epoch}/{epochs} val loss {loss:.3f}\n").replace("8/9 val", "8/9 val best model saved\n8/9"),
    "counter of the evaluation": training(2, heading="", close=OF_EVALUATION),
    "a single epoch that was evaluated": training(1, close=EVALUATED),
}  # fmt: skip


@pytest.mark.parametrize("text", DIED.values(), ids=DIED.keys())
def test_a_run_that_died_inside_its_last_epoch_did_not_complete(tmp_path, text):
    found = ended(tmp_path, text)

    assert found.state == "interrupted", found.because
    assert f"{found.planned - 1:.0f} of {found.planned:.0f} epochs" in found.because


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE.keys())
def test_a_last_epoch_that_closed_as_the_one_before_is_done(tmp_path, text):
    found = ended(tmp_path, text)

    assert found.state == "completed", found.because


def test_whether_a_single_epoch_ended_is_unknown_where_nothing_closes_it(tmp_path):
    assert ended(tmp_path, training(1, of_last=40)).state == "unknown"


@pytest.mark.parametrize(
    ("close", "settings"),
    [
        (OF_EVALUATION, "max_steps: 240\n"),
        (OF_EVALUATION, "max_steps: 960\ngradient_accumulation_steps: 8\n"),
        (EVALUATED, "max_steps: 123\n"),
    ],
    ids=["batches of each device", "micro-batches", "last batch dropped"],
)
def test_the_last_epoch_outweighs_a_number_of_steps(tmp_path, close, settings):
    heading = HEADING if close is EVALUATED else ""
    whole = ended(tmp_path, training(2, heading=heading, close=close), settings)
    died = ended(tmp_path, training(2, of_last=25, heading=heading, close=close), settings)

    assert (whole.state, whole.progress()) == ("completed", "2 of 2 epochs")
    assert (died.state, died.unit) == ("interrupted", "steps")


def test_a_counter_of_what_was_left_to_do_after_a_resume(tmp_path):
    def log(last):
        bar = " {percent}%|###   | {at}/500 [00:10<00:20, 3.1it/s]\n{{'loss': {loss:.4f}, 'step': {step}}}\n"
        rows = (
            bar.format(percent=at // 5, at=at, step=at + 500, loss=loss(at + 500))
            for at in range(5, last + 1, 5)
        )
        return "Resuming from checkpoint-500\n" + "".join(rows)

    assert ended(tmp_path, log(500)).progress() == "500 of 500 steps"
    assert ended(tmp_path, log(500)).state == "completed"
    assert ended(tmp_path, log(395)).progress() == "395 of 500 steps"


def test_a_bar_with_a_title_that_names_its_step_counts_all_of_them(tmp_path):
    text = "".join(
        f"Training: {step // 10}%|###   | {step}/1000 [00:10<00:20, 3.1it/s, loss={loss(step):.3f}, step={step}]\n"
        for step in range(1, 301)
    )

    assert ended(tmp_path, text).because.startswith("it stops at 300 of 1000 steps")


ROWS = "".join(f"Epoch {epoch}/100: train_loss {loss(epoch):.4f} val_loss {loss(epoch) + 0.1:.4f}\n" for epoch in range(1, 60))  # fmt: skip


@pytest.mark.parametrize(
    "said",
    ["Early stopping", "EarlyStopping: no improvement in 10 epochs. Stopping training.",
     "No improvement for 10 epochs, stopping training", "Stopped early at epoch 59"],
)  # fmt: skip
def test_an_early_stop_is_an_end_and_one_fold_that_stopped_is_none(tmp_path, said):
    assert ended(tmp_path, ROWS + said + "\n").state == "completed"
    assert ended(tmp_path, ROWS.partition("Epoch 40/")[0] + said + "\n" + ROWS).state == "interrupted"


@pytest.mark.parametrize(
    ("last", "state"), [(99, "completed"), (60, "interrupted")], ids=["to its end", "stopped"]
)
def test_a_row_of_a_table_that_no_bar_ends_tells_of_a_whole_epoch(tmp_path, last, state):
    rows = (
        f"{epoch:>8}/99     1.86G{loss(epoch) / 40:>10.4f}    0.0932         0    0.1917        24       416"
        f"    0.2935    0.4043 {1 - loss(9 * epoch) / 5:>9.4f}    0.2366    0.0959    0.0785         0\n"
        for epoch in range(last + 1)
    )
    (tmp_path / "results.txt").write_text("".join(rows))
    found = analyzer.diagnose(tmp_path).ended

    assert found.state == state, found.because


@pytest.mark.parametrize(("stamped", "below"), [("", True), ("12:00:0{epoch} ", True), ("", False)])
def test_a_log_that_stops_at_the_heading_of_an_epoch_stops_within_it(tmp_path, stamped, below):
    parts = []
    for epoch in range(70):
        stamp = stamped.format(epoch=epoch % 9)
        heading, rows = (
            f"{stamp}epoch:  {epoch}\n",
            f"train loss : {loss(epoch):.4f}\nvalidation loss: {loss(epoch) + 0.1:.4f}\n",
        )
        parts.append(heading + rows if below else rows + heading)
    (tmp_path / "train.log").write_text("".join(parts) + (f"{stamp}epoch:  70\n" if below else ""))
    found = analyzer.diagnose(tmp_path / "train.log").ended

    assert found.state == ("interrupted" if below else "unknown"), found.because


@pytest.mark.parametrize(("last", "state"), [(995, "completed"), (900, "interrupted")])
def test_rewards_that_are_told_every_five_updates_reach_their_plan_within_five(tmp_path, last, state):
    rows = "".join(
        f"[Episode {at}]\nupdates {at}/1000 episodes, total num timesteps {300 * at}/300000, FPS 39.\naverage reward: {-10 - 180 / (1 + at / 40):.4f}\n"
        for at in range(0, last + 1, 5)
    )

    assert ended(tmp_path, rows).state == state


def test_rounds_that_are_planned_and_not_counted_tell_of_no_progress(tmp_path):
    text = "strategy:FedAvg | num_rounds: 200 | drop_ratio:0.0\navg_test_acc: 0.25\navg_test_acc: 0.5\n"

    assert ended(tmp_path, text).state == "unknown"


@pytest.mark.parametrize(("epochs", "told"), [((0,), False), ((0, 1, 2, 3, 4), True)])
def test_no_sample_is_known_by_heart_within_the_first_epoch(tmp_path, epochs, told):
    rows = [
        f"Epoch: [{epoch}][{at}/250] Loss {1.6 + 2.6 / (1 + at / 25 + 10 * epoch):.4f} Acc@1 {20 + 40 * at / 250:.2f}\n"
        for epoch in epochs
        for at in range(0, 250, 10)
    ]
    (tmp_path / "train.log").write_text("".join(rows) + " * Acc@1 21.123 loss 6.003\n")

    likely = {
        finding.cause.id for finding in analyzer.diagnose(tmp_path).findings if finding.probability >= 0.5
    }
    assert ("overfitting" in likely) is told
