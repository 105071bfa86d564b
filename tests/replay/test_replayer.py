"""From a captured step to the operator, and from reruns to the verdict."""

import pytest

from analyzer import api
from analyzer.detect import run_detectors
from analyzer.errors import InputError

torch = pytest.importorskip("torch", reason="torch is not installed (extra: replay)")
pytest.importorskip("safetensors", reason="safetensors is not installed (extra: replay)")

from analyzer.replay import record  # noqa: E402
from analyzer.replay.replayer import load_factory, replay_capsule, write_trace  # noqa: E402


class Net(torch.nn.Module):
    """An embedding, a body that a test chooses, and a loss."""

    def __init__(self, body):
        super().__init__()
        self.embed, self.body = torch.nn.Embedding(16, 8), body

    def forward(self, ids):
        return {"loss": self.body(self.embed(ids)).float().square().mean()}


class Wide(torch.nn.Module):
    """A product that leaves the range of fp16: 60000 x 2."""

    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(8, 8, bias=False)

    def forward(self, x):
        return self.up(x * 0 + 1).tanh()


class Attention(torch.nn.Module):
    """A softmax over scores with a mask; one row has nothing to attend to."""

    def __init__(self, empty_row):
        super().__init__()
        self.query, self.empty_row = torch.nn.Linear(8, 8), empty_row

    def forward(self, x):
        scores = self.query(x) @ x.transpose(-1, -2)
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        if self.empty_row:
            allowed[0] = False
        masked = scores + torch.zeros_like(scores).masked_fill(~allowed, float("-inf"))
        return torch.softmax(masked, -1) @ x


def capture(tmp_path, model, *, dtype=None, ids=None, loss=lambda out: out["loss"], **options):
    place = tmp_path / "capsule"
    torch.manual_seed(3)
    with record(model, str(tmp_path / "r.jsonl"), capsule=place, **options):
        with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            out = model(torch.arange(12).reshape(2, 6) if ids is None else ids)
        (loss(out) * 1.0).backward()
    return place


def wide():
    torch.manual_seed(0)
    model = Net(Wide())
    with torch.no_grad():
        model.body.up.weight.fill_(20000.0)
    return model


def facts_of(path):
    return {
        name: fact.value for signal in run_detectors(api.load(path)) for name, fact in signal.facts.items()
    }


def test_an_overflow_is_found_with_its_module_operator_and_cure(tmp_path):
    replay = replay_capsule(capture(tmp_path, wide(), dtype=torch.float16), wide())
    write_trace(replay, tmp_path / "replay.jsonl")
    facts = facts_of(tmp_path / "replay.jsonl")

    assert (replay.origin.module, replay.origin.direction) == ("body.up", "fwd")
    assert "mm" in replay.origin.op
    assert replay.origin.reference_absmax == pytest.approx(160000.0)
    assert replay.origin.kernel_wrong is False
    assert (replay.judgement.verdict, replay.judgement.repeat_differs) == ("precision", False)
    assert {"float32", "bfloat16"} <= set(replay.judgement.cured_by)
    assert facts["signal.replay.first_module"] == "body.up"
    assert facts["signal.replay.overflowed"] is True
    assert facts["signal.rerun.verdict"] == "precision"
    assert facts["signal.rerun.float32_finite"] is True


def test_masks_are_no_fault_and_an_empty_row_is(tmp_path):
    for empty_row in (False, True):
        model = Net(Attention(empty_row))
        if not empty_row:  # all finite: nothing is captured unless the loss is bad
            place = capture(tmp_path / "plain", model, loss=lambda out: out["loss"] * float("nan"), ids=None)
            assert replay_capsule(place, model).judgement.verdict == "not_reproduced"
            continue
        replay = replay_capsule(capture(tmp_path / "empty", model), model)
        assert "softmax" in replay.origin.op
        assert replay.origin.module == "body"
        assert replay.origin.masked_rows == 2
        assert replay.judgement.verdict == "not_precision"


def test_gradients_alone_are_traced_to_the_forward_that_made_them(tmp_path):
    class Root(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Identity()

        def forward(self, x):
            return torch.sqrt(self.inner(x) * 0)

    model = Net(Root())
    replay = replay_capsule(capture(tmp_path, model), model)

    assert replay.origin.direction == "bwd"
    assert replay.origin.module == "body"
    assert "div" in replay.origin.op or "sqrt" in replay.origin.op or "mul" in replay.origin.op


def test_bad_data_and_bad_weights_are_told_apart_from_precision(tmp_path):
    class Dense(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(4, 1)

        def forward(self, x):
            return {"loss": self.lin(x).sum()}

    model = Dense()
    batch = capture(tmp_path / "a", model, ids=torch.tensor([[1.0, float("nan"), 0.0, 0.0]]))
    assert replay_capsule(batch, Dense()).judgement.verdict == "data"

    with torch.no_grad():
        model.lin.weight[0, 0] = float("inf")
    weights = capture(tmp_path / "b", model, ids=torch.ones(1, 4))
    assert replay_capsule(weights, Dense()).judgement.verdict == "weights"


def test_a_result_that_does_not_come_again_is_transient(tmp_path):
    class Flaky(torch.nn.Module):
        calls = 0

        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(8, 8)

        def forward(self, x):
            Flaky.calls += 1
            # bad when captured and in the first rerun, then never again
            return self.lin(x) * (float("nan") if Flaky.calls <= 3 else 1.0)

    model = Net(Flaky())
    assert replay_capsule(capture(tmp_path, model), model).judgement.verdict == "transient"


def test_a_kernel_that_is_wrong_on_sound_values_is_blamed(tmp_path):
    @torch.library.custom_op("analyzer_test::halve", mutates_args=())
    def halve(x: torch.Tensor) -> torch.Tensor:
        return x / 2 if x.dtype != torch.float32 else x / 2 + float("nan")

    halve.register_autograd(lambda _ctx, grad: grad / 2)

    class Custom(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(8, 8)

        def forward(self, x):
            return halve(self.lin(x))

    model = Net(Custom())
    replay = replay_capsule(capture(tmp_path, model), model)

    assert replay.origin.kernel_wrong is True
    assert replay.judgement.verdict == "kernel"


def test_the_random_state_is_part_of_the_step(tmp_path):
    class Dropped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = torch.nn.Dropout(0.5)

        def forward(self, x):
            return x if bool(self.drop(torch.ones(1)) > 0) else x * float("inf")

    model, places = Net(Dropped()), []
    for seed in range(8):
        torch.manual_seed(seed)
        with record(model, str(tmp_path / f"{seed}.jsonl"), capsule=tmp_path / f"c{seed}"):
            model(torch.arange(6))["loss"].backward()
        places.append(tmp_path / f"c{seed}")
    kept = [place for place in places if place.exists()]

    assert 0 < len(kept) < 8
    for place in kept:
        assert replay_capsule(place, model).outcomes[0].is_bad


def test_tied_weights_stay_tied_in_the_capsule(tmp_path):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = torch.nn.Embedding(16, 8), torch.nn.Linear(8, 16, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids):
            return {"loss": self.head(self.embed(ids)).mean() * float("inf")}

    replay = replay_capsule(capture(tmp_path, Tied()), Tied())

    assert replay.outcomes[0].is_bad


def test_a_model_that_does_not_fit_is_one_line(tmp_path):
    place = capture(tmp_path, wide(), dtype=torch.float16)

    with pytest.raises(InputError, match="does not fit"):
        replay_capsule(place, Net(torch.nn.Linear(8, 8)))


def test_a_damaged_capsule_is_one_line(tmp_path):
    place = capture(tmp_path, wide(), dtype=torch.float16)
    whole = (place / "weights.safetensors").read_bytes()
    for cut in (9, len(whole) // 2, len(whole) - 1):
        (place / "weights.safetensors").write_bytes(whole[:cut])
        with pytest.raises(InputError):
            replay_capsule(place, wide())


@pytest.mark.parametrize("text", ["nothing", "no_such_module_here:f", "json:no_such", "json:JSONDecoder"])
def test_a_wrong_factory_is_one_line(text):
    with pytest.raises(InputError, match="--model"):
        load_factory(text)
