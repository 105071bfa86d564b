"""The catalogue and the detectors agree: every declared fact is emitted, every emitted fact is declared."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from make_run import INF, NAN, RunMaker, falling, norms

from analyzer.detect import DETECTORS, run_detectors
from analyzer.detect.compare import EMITS
from analyzer.detect.likeness.answer import EMITS as LIKENESS
from analyzer.errors import RuleSyntaxError
from analyzer.facts.build import FactDeclarationError, build_facts
from analyzer.facts.catalog import catalog, spec_of, suggest
from analyzer.model.signal import FactValue, Signal

LADDER = [2.0**power for power in range(16, -1, -1)]


def configured() -> RunMaker:
    """Every key that a fact is made of."""
    maker = RunMaker("hf-trainer", "deepspeed", "unsloth").log(
        {"loss": falling(30), "rewards/mean": [0.0] * 30}
    )
    maker.config(
        fp16=True, torch_dtype="float32", model_name_or_path="01-ai/Yi-6B", attn_implementation="eager", packing=False,
        padding_side="left", padding_free=False, max_length=512, completion_only_loss=True, template="yi", learning_rate=1e-4,
        warmup_steps=10, lr_scheduler_type="linear", optim="adamw_torch", adam_epsilon=1e-8, adam_beta2=0.999,
        weight_decay=0.01, dropout=0.1,
        per_device_train_batch_size=2, gradient_accumulation_steps=1, max_grad_norm=1.0, max_steps=1000, num_train_epochs=3,
        logging_steps=1, gradient_checkpointing=True, group_by_length=False, resume_from_checkpoint=None, use_peft=True,
        load_in_4bit=False, torch_compile=False, detect_anomaly=True, use_liger_kernel=False, context_parallel_size=1,
        tensor_parallel_size=1, loss_reduction="mean",
    )  # fmt: skip
    maker.config(
        "deepspeed", path="ds_config.json", zero_optimization__stage=2, zero_optimization__overlap_comm=True,
        communication_data_type="fp32", fp16__loss_scale=128, fp16__initial_scale_power=16, fp16__hysteresis=2,
        fp16__min_loss_scale=1, fp16__loss_scale_window=1000,
    )  # fmt: skip
    maker.config(
        "model",
        path="model/config.json",
        dtype="bfloat16",
        model_type="llama",
        vocab_size=64000,
        num_hidden_layers=32,
    )
    maker.config(
        "tokenizer",
        path="model/tokenizer_config.json",
        pad_token="<unk>",
        eos_token="</s>",
        added_tokens=4,
        vocab_size=64000,
    )
    versions = {"deepspeed": "0.17.6", "transformers": "4.46.0", "torch": "2.5.1", "trl": "0.12.0"}
    maker.config("versions", path="requirements.txt", **versions)
    maker.file().layout(gpu_name="Tesla V100-SXM2-16GB", world_size=8, line=1)
    return maker.attempt("train.log", 1.0, exit_code=1)


def broken() -> RunMaker:
    """NaN in everything, after a sound start."""
    rate = [1e-5 * (i + 1) for i in range(40)] + [4e-4] * 20
    columns = {"loss": falling(40) + [NAN] * 20, "grad_norm": norms(40) + [NAN] * 20, "learning_rate": rate}
    maker = (
        RunMaker("hf-trainer")
        .log(columns)
        .log({"skipped": list(range(60))})
        .log({"eval_loss": [2.0, 1.9, NAN]}, every=20)
    )
    maker.config(fp16=True, lr_scheduler_type="linear").config(
        "model", path="model/config.json", vocab_size=512
    )
    maker.event("sampling_nonfinite", line=700).event("generation_repeats", line=701, token="!", times=16)
    maker.event("fully_masked_attention_row", line=702, rows=4)
    maker.event("autograd_anomaly", line=703, role="root_candidate", function="SqrtBackward0")
    maker.event("nonfinite_hook", line=704, module="model.layers.3", pass_="forward")
    maker.event("nonfinite_hook", line=705, module="model.layers.2", pass_="backward")
    maker.event("module_absmax", line=706, role="info", module="model.layers.2", value=59840.0)
    return maker.embedding({6: 1e-8})


def collapsed() -> RunMaker:
    maker = (
        RunMaker("deepspeed")
        .log({"loss": [*falling(17), 0.0], "loss_scale": [*LADDER, 1.0]})
        .overflows(LADDER)
    )
    return maker.event("loss_scale_minimum", line=186, role="root_candidate")


def masked() -> RunMaker:
    maker = RunMaker("hf-trainer").log({"loss": [0.0] * 30, "grad_norm": [INF] * 30}).config(max_steps=30)
    return maker.log({"train_loss_mean": [0.0]}, first=30)


def overfitted() -> RunMaker:
    maker = (
        RunMaker().log({"loss": falling(300), "grad_norm": [*norms(298), 0.0, 0.0]}).config(max_steps=3000)
    )
    return maker.log({"eval_loss": [2.0, 1.8, 2.4]}, first=100, every=100)


def of_families() -> list[RunMaker]:
    """Runs beside this file, ``runs_<family>.py``: each lists in ``RUNS`` what emits its family's facts."""
    found: list[RunMaker] = []
    for path in sorted(Path(__file__).parent.glob("runs_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found += [make() for make in module.RUNS]
    return found


def everything() -> dict[str, FactValue]:
    runs = [maker().run() for maker in (configured, broken, collapsed, masked, overfitted)]
    runs += [maker.run() for maker in of_families()]
    found: dict[str, FactValue] = {}
    for run in runs:
        found |= build_facts(run_detectors(run))
    parted = RunMaker().log({"loss": [*falling(20)[:10], *[9.0] * 10]}).config(packing=False)
    found |= build_facts(
        run_detectors(parted.run(), RunMaker().log({"loss": falling(20)}).config(packing=True).run())
    )
    script = {
        "script.last_units": 10, "script.last_activation": "linear", "script.loss": "categorical_crossentropy", "script.classes": 100,
        "script.scales_inputs": False, "script.shuffles_training": False, "script.clears_gradients": False,
        "script.keeps_graph": True, "script.validation_split": 0.2,
    }  # fmt: skip
    found |= build_facts(run_detectors(RunMaker().config("config", path="train.py", **script).run()))
    ours, theirs = (
        RunMaker().config(dataset_name=name).config("versions", path="requirements.txt", torch="2.4.0")
        for name in "ab"
    )
    found |= build_facts(run_detectors(ours.run(), theirs.run()))
    keys = {
        "fp16": True, "attn_implementation": "eager", "padding_side": "left", "zero_stage": 2, "learning_rate": 1e-4,
        "torch_compile": True, "use_liger_kernel": True, "model_name_or_path": "a/b",
    }  # fmt: skip
    many = RunMaker().config(**keys).config("deepspeed", path="ds.json", zero_optimization__overlap_comm=True)
    many.log({"loss": falling(20), "grad_norm": [1.0] * 20, "accuracy": [0.9] * 20, "val_mae": falling(20)})
    scores = {"acc_old": [0.9] * 10 + [0.5 - 0.04 * i for i in range(10)]}
    folds = RunMaker().log({"loss": [2.0] * 10 + falling(10), **scores}, steps=None)
    found |= build_facts(run_detectors(folds.event("training_begins_again", line=101, role="info").run()))
    no_json = RunMaker().event(
        "python_traceback", line=9, role="root_candidate", exception="requests.exceptions.JSONDecodeError", message="Expecting value"
    )  # fmt: skip
    found |= build_facts(run_detectors(no_json.run()))
    return {**found, **build_facts(run_detectors(many.run(), many.run()))}


def test_every_declared_fact_is_emitted():
    missing = set(catalog()) - set(everything())

    assert not missing, f"declared, but no detector emits: {sorted(missing)}"


def test_every_emitted_fact_is_promised_by_its_detector():
    prefixes = tuple(prefix for detector in DETECTORS for prefix in detector.emits) + EMITS + LIKENESS
    strangers = [name for name in everything() if not name.startswith(prefixes)]

    assert not strangers


def test_detectors_have_names_of_their_own():
    names = [detector.name for detector in DETECTORS]

    assert len(set(names)) == len(names)


def test_facts_point_to_where_they_were_seen():
    facts = broken().facts()
    blind = [
        name
        for name, fact in facts.items()
        if not fact.refs and not name.startswith(("run.", "config.train.nan_filter"))
    ]

    assert not blind


def test_every_declaration_reads_well():
    specs = catalog()

    assert {
        n: spec.dtype for n, spec in specs.items() if spec.dtype not in {"bool", "int", "float", "str"}
    } == {}
    assert [name for name, spec in specs.items() if not spec.meaning or spec.meaning.endswith(".")] == []


def test_fields_of_log_lines_are_declared_by_their_form():
    assert spec_of("event.cuda_oom.count").dtype == "int"
    assert spec_of("event.cuda_oom.tried_gib") is not None
    assert spec_of("event.cuda_oom") is None
    assert spec_of("signal.loss.fals") is None
    assert suggest("signal.loss.fals") == "signal.loss.falls"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("signal.a.b | bool | | says", "a fact has 5 columns"),
        ("signal.a.b | boole | | says | log it", "'boole' is not one of bool, int, float, str; did you mean 'bool'?"),
        ("signal.a.b | bool | | says | {_LOGG}", "nothing is called {_LOGG}; did you mean '{_LOG}'?"),
        ("signal.a.c | int | | says | log it", "fact 'signal.a.c' is declared twice"),
    ],
)  # fmt: skip
def test_a_row_of_a_table_is_refused_by_its_line(tmp_path, monkeypatch, row, message):
    (tmp_path / "hows.txt").write_text("_LOG = log it\n", encoding="utf-8")
    (tmp_path / "loss.txt").write_text(f"signal.a.c | int | | says |\n{row}\n", encoding="utf-8")
    monkeypatch.setattr("analyzer.facts.catalog.FOLDER", tmp_path)
    monkeypatch.setattr("analyzer.facts.catalog.TABLES", ("loss",))

    with pytest.raises(RuleSyntaxError, match=r"loss\.txt:2: ") as error:
        catalog.__wrapped__()

    assert message in str(error.value)


class TestBuild:
    def test_values_and_words(self):
        facts = collapsed().facts()

        assert facts.plain["signal.loss_scale.collapsing"] is True
        assert "loss scale" in facts.how("signal.loss_scale.first")
        assert facts.meaning("signal.loss_scale.collapsing")
        assert facts.meaning("no.such.fact") == "no.such.fact"
        assert facts.how("no.such.fact") == ""

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("signal.nonsense", True),
            ("signal.loss.falls", 1),
            ("signal.loss.points", True),
            ("signal.loss.points", 1.5),
            ("run.gpu.name", 3),
        ],
    )
    def test_undeclared_names_and_wrong_types_are_refused(self, name, value):
        with pytest.raises(FactDeclarationError, match=name):
            build_facts([Signal("test", {name: FactValue(value)})])

    def test_an_undeclared_name_is_told_with_the_nearest(self):
        with pytest.raises(FactDeclarationError, match=r"did you mean 'signal\.loss\.falls'"):
            build_facts([Signal("test", {"signal.loss.fals": FactValue(True)})])

    def test_whole_number_stands_for_a_float(self):
        facts = build_facts([Signal("test", {"signal.loss.first": FactValue(2)})])

        assert type(facts.plain["signal.loss.first"]) is float

    def test_one_fact_has_one_author(self):
        signal = Signal("test", {"signal.loss.first": FactValue(2.0)})

        with pytest.raises(FactDeclarationError, match="already"):
            build_facts([signal, signal])
