"""The recorder: it changes nothing, forgets what is fine, and writes what is not."""

import gc
import json
import weakref

import pytest

from analyzer.errors import InputError

torch = pytest.importorskip("torch", reason="torch is not installed (extra: replay)")

from analyzer.replay import record  # noqa: E402
from analyzer.replay.numbers import full_row  # noqa: E402


class Net(torch.nn.Module):
    """Returns tuples and mappings, works in place, and shares a tensor between modules."""

    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.act = torch.nn.Linear(8, 8), torch.nn.ReLU(inplace=True)

        def forward(self, x, *, scale=1.0):
            return self.act(self.lin(x)) * scale, {"raw": x}

    def __init__(self):
        super().__init__()
        self.one, self.two, self.drop = self.Inner(), self.Inner(), torch.nn.Dropout(0.5)

    def forward(self, x, scale=1.0):
        first, rest = self.one(x, scale=scale)
        second, _ = self.two(rest["raw"])
        return {"loss": (self.drop(first) + second).square().mean()}


def train(model, steps=4, scale=lambda step: 1.0, each=lambda: None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1)
    losses = []
    for step in range(steps):
        loss = model(torch.randn(4, 8), scale=scale(step))["loss"]
        optimizer.zero_grad()
        loss.backward()
        if torch.isfinite(loss):
            optimizer.step()
        losses.append(loss.item())
        each()
    return losses


def net():
    torch.manual_seed(0)
    return Net()


def rows_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def infinite_from(first):
    return lambda step: float("inf") if step >= first else 1.0


@pytest.mark.parametrize("options", [{}, {"full_steps": (0, 99)}, {"backward": False}, {"every": 2}])
def test_recording_changes_no_number(tmp_path, options):
    plain, watched = net(), net()
    with record(watched, str(tmp_path / "r.jsonl"), **options):
        losses = train(watched)

    assert losses == train(plain)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), watched.parameters(), strict=True))


def test_the_hooks_come_off_and_nothing_is_kept_alive(tmp_path):
    model = net()
    recorder = record(model, str(tmp_path / "r.jsonl"))
    output = model(torch.randn(4, 8))["loss"]
    output.backward()
    gone = weakref.ref(output)
    del output
    gc.collect()

    assert gone() is None
    recorder.close()
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_memory_holds_the_last_steps_only(tmp_path):
    model = net()
    recorder = record(model, str(tmp_path / "r.jsonl"), keep_steps=3)
    train(model, steps=20)
    recorder.close()

    assert sorted({row["step"] for row in rows_in(tmp_path / "r.jsonl")}) == [17, 18, 19]


def test_a_bad_step_is_written_at_once_with_the_steps_before_it(tmp_path):
    model, seen = net(), []
    recorder = record(model, str(tmp_path / "r.jsonl"), keep_steps=2, write_on_exit=False)
    train(model, 5, infinite_from(4), lambda: seen.append((tmp_path / "r.jsonl").exists()))

    assert seen == [False, False, False, False, True]
    rows = rows_in(tmp_path / "r.jsonl")
    bad = [row for row in rows if row.get("nonfinite")]
    assert {row["step"] for row in rows} == {2, 3, 4}
    assert (bad[0]["module"], bad[0]["tensor_role"], bad[0]["pass"]) == ("one", "output[0]", "fwd")
    assert all(
        row["nonfinite"] is False for row in rows if row.get("module") == "one.lin" and row["pass"] == "fwd"
    )
    recorder.close()


def test_nothing_is_written_while_all_is_well(tmp_path):
    model = net()
    with record(model, str(tmp_path / "r.jsonl"), write_on_exit=False):
        train(model)

    assert not (tmp_path / "r.jsonl").exists()


def test_the_step_after_a_bad_one_has_every_statistic(tmp_path):
    model = net()
    with record(model, str(tmp_path / "r.jsonl")):
        train(model, 3, infinite_from(1))
    last = [row for row in rows_in(tmp_path / "r.jsonl") if row["step"] == 2 and row.get("module") == "one"]

    assert {"nan_count", "inf_count", "zero_count", "shape"} <= set(last[-1])
    assert any(row.get("inf_count") for row in last)


def test_gradients_are_told_with_the_module_they_leave_and_enter(tmp_path):
    model = net()
    with record(model, str(tmp_path / "r.jsonl")):
        train(model, 1)
    roles = {
        (row.get("module"), row["tensor_role"])
        for row in rows_in(tmp_path / "r.jsonl")
        if row["pass"] == "bwd"
    }

    assert {("one", "grad_output[0]"), ("one.lin", "grad_output[0]"), ("drop", "grad_input[0]")} <= roles


def test_a_scaler_that_searches_its_scale_is_no_event(tmp_path):
    class Scaler:
        def get_scale(self):
            return 65536.0

    class Huge(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.lin(self.lin.weight * x).sum()

    def step(model, factor):
        (model(torch.ones(4)) * factor).backward()

    for bad_steps, written in ((2, False), (3, True)):
        path, model = tmp_path / f"{bad_steps}.jsonl", Huge()
        with record(model, str(path), scaler=Scaler(), write_on_exit=False):
            for factor in [float("inf")] * bad_steps + [1.0]:
                step(model, factor)
        assert path.exists() is written


def test_steps_are_counted_by_the_caller_once_they_tell(tmp_path):
    model = net()
    recorder = record(model, str(tmp_path / "r.jsonl"), keep_steps=9, first_step=10)
    for _ in range(2):
        for _ in range(2):
            model(torch.randn(4, 8))["loss"].backward()
        recorder.step()
    recorder.close()
    places = {(row["step"], row.get("micro_step", 0)) for row in rows_in(tmp_path / "r.jsonl")}

    assert (11, 1) in places
    assert max(places) == (11, 1)


def test_forward_passes_without_gradients_are_left_alone(tmp_path):
    model = net()
    with record(model, str(tmp_path / "r.jsonl")), torch.no_grad():
        model(torch.full((4, 8), float("nan")))

    assert not (tmp_path / "r.jsonl").exists()


def test_an_exception_in_the_model_does_not_confuse_what_follows(tmp_path):
    model = net()
    recorder = record(model, str(tmp_path / "r.jsonl"))
    with pytest.raises(RuntimeError):
        model(torch.randn(4, 9))
    train(model, 2)
    recorder.close()

    assert max(row["step"] for row in rows_in(tmp_path / "r.jsonl")) == 2


def test_recomputed_forwards_of_checkpointing_start_no_new_step(tmp_path):
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.b(checkpoint(self.a, x, use_reentrant=False)).sum()

    model = Checkpointed()
    with record(model, str(tmp_path / "r.jsonl"), keep_steps=9):
        for _ in range(2):
            model(torch.randn(2, 4)).backward()

    assert {row["step"] for row in rows_in(tmp_path / "r.jsonl")} == {0, 1}


def test_wrappers_leave_no_trace_in_the_names(tmp_path):
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        model = torch.nn.parallel.DistributedDataParallel(net())
        with record(model, str(tmp_path / "r.jsonl")):
            model(torch.randn(4, 8))["loss"].backward()
    finally:
        torch.distributed.destroy_process_group()

    assert "one.lin" in {row.get("module") for row in rows_in(tmp_path / "r.jsonl")}


def test_autocast_and_half_formats_are_measured(tmp_path):
    model = net()
    with record(model, str(tmp_path / "r.jsonl")), torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.randn(4, 8))["loss"].backward()

    assert "bfloat16" in {row.get("dtype") for row in rows_in(tmp_path / "r.jsonl")}


def test_modules_inside_a_compiled_one_are_named_as_hidden(tmp_path):
    from analyzer.replay.recorder import hidden_modules

    model = net()
    model.one.forward = torch.compile(model.one.forward, backend="eager")
    assert hidden_modules(model, {"two.lin"}) == ["one.lin", "one.act"]


def test_statistics_are_those_of_numpy_over_finite_elements():
    import numpy as np

    values = torch.tensor([1.0, -3.0, 0.0, 5e-39, 2.0, float("nan"), float("-inf")])
    row = full_row(values, fp16_target=True)
    finite = np.array([1.0, -3.0, 0.0, 5e-39, 2.0])

    assert (row["nan_count"], row["inf_count"], row["zero_count"], row["subnormal_count"]) == (1, 1, 1, 1)
    assert (row["min"], row["max"], row["absmax"]) == (-3.0, 2.0, 3.0)
    assert row["mean"] == pytest.approx(finite.mean())
    assert row["std"] == pytest.approx(finite.std())
    assert row["l2norm"] == pytest.approx(np.linalg.norm(finite))
    assert row["underflow_frac"] == pytest.approx(1 / 6)


def test_norms_of_huge_and_tiny_tensors_neither_overflow_nor_vanish():
    assert full_row(torch.full((4,), 1e30))["l2norm"] == pytest.approx(2e30)
    assert full_row(torch.full((4,), 1e-30))["l2norm"] == pytest.approx(2e-30)


def test_a_wrong_option_is_one_line():
    with pytest.raises(InputError, match="record"):
        record(torch.nn.Linear(1, 1), "x.jsonl", absmax_only=True)
    with pytest.raises(InputError, match="every"):
        record(torch.nn.Linear(1, 1), "x.jsonl", every=0)
