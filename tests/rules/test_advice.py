"""What a run is told to do: in the words of its own trainer and platform, in the direction of the title, for this cause."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

import analyzer
from analyzer.api import load
from analyzer.facts.catalog import spec_of
from analyzer.ingest.quote import Quoter
from analyzer.rules.fixing.fixes import GENERAL, resolve_fixes
from analyzer.rules.fixing.words import localised, uses
from analyzer.rules.load import load_rules
from analyzer.rules.restart import restart_of
from analyzer.rules.schema import RuleFix
from analyzer.rules.template import fill, holes
from analyzer.vocabulary.frameworks import family

RULES = {rule.slug: rule for rule in load_rules().rules}
TRAINERS = (
    "hf-trainer", "llamafactory", "axolotl", "unsloth", "trl", "deepspeed", "mmengine", "xtuner", "pytorch-lightning", "megatron",
    "fairseq", "nemo", "torchtitan", "keras", "maxtext", "paddlenlp", "mindspore", "nanogpt", "ultralytics", "detectron2",
)  # fmt: skip
OF_ONE_TRAINER = re.compile(
    r"LLaMA-Factory|Megatron|HF Trainer|[Aa]xolotl|fairseq|detectron2|Lightning|ESPnet|kohya|IMS_PER_BATCH|Unsloth"
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A run of which nothing is known."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "train.log").write_text("step 1 loss 2.5\nstep 2 loss 2.4\n", encoding="utf-8")
    return load(folder)


def fixes_of(slug, run, facts=None, frameworks=()):
    """The fixes of a rule for a run of some frameworks, by their ids."""
    run = replace(run, frameworks=frozenset(frameworks))
    return {fix.id: fix for fix in resolve_fixes(RULES[slug], run, facts or {}, Quoter(run).lines)}


def values(fix):
    return {change.key: change.new for change in fix.changes}


@pytest.mark.parametrize("trainer", ["", *TRAINERS])
def test_no_key_of_another_trainer_is_named(bare, trainer):
    """Of all fixes of all rules; what has no spelling here is said in general words and marked so."""
    frameworks = {trainer} - {""}
    for slug in RULES:
        for fix in fixes_of(slug, bare, frameworks=frameworks).values():
            assert not OF_ONE_TRAINER.search(fix.title), (slug, fix.id)
            for change in fix.changes:
                own = uses(frameworks, change.framework) or change.framework in frameworks
                assert own or change.framework in {*family("place"), GENERAL}, (slug, fix.id, change)
                assert (change.framework == GENERAL) <= bool(fix.scope), (slug, fix.id)


FOREIGN = (
    ({"run.backend": "gloo"}, r"NCCL"),
    ({"run.platform": "ascend", "run.backend": "hccl"}, r"NCCL|CUDA|nvidia-smi"),
    ({"run.platform": "rocm", "run.backend": "rccl"}, r"\bCUDA|nvidia-smi|compute-sanitizer"),
    ({"run.library": "jax", "run.platform": "tpu"}, r"TORCH_|torchrun|NCCL|CUDA|DataLoader"),
    ({"run.library": "tensorflow"}, r"_SOCKET_IFNAME|MASTER_ADDR|torchrun"),
    ({"run.platform": "mps"}, r"--exclude|--mem\b|--time|CUDA|NCCL|\bdmesg\b|/dev/shm|\bsacct\b|\bkubectl\b"),
    ({"run.library": "java"}, r"torch\.|TORCH_|named_modules|PYTHONFAULTHANDLER|_SOCKET_IFNAME|DataLoader"),
    ({"run.library": "chainer"}, r"\btorch\b|torchrun|named_modules|DataLoader"),
    ({"run.subject": "control"}, r"rollout_probs_diff|sampling_logp|tokenizer"),
    ({"run.subject": "vision"}, r"input_ids|tokenizer|max_new_tokens|cutoff_len"),
)


@pytest.mark.parametrize(("facts", "words"), FOREIGN)
def test_no_word_of_another_platform_is_named(bare, facts, words):
    for slug in RULES:
        for fix in fixes_of(slug, bare, facts).values():
            told = "\n".join((fix.code, *(f"{change.key}={change.new}" for change in fix.changes)))
            assert not re.search(words, told), (slug, fix.id, told)


def test_nobody_is_asked_for_what_the_run_cannot_have(tmp_path):
    """Checks that are next speak of tokens only where a language model is trained."""
    rows = (
        "-" * 41,
        "| time/                   |             |",
        "|    total_timesteps      | {step}       |",
    )
    rows += ("| train/                  |             |", "|    approx_kl            | 6.25        |")
    rows += ("|    clip_fraction        | 0.71        |", "|    clip_range           | 0.2         |")
    rows += ("|    explained_variance   | 0.31        |", "|    learning_rate        | 0.003       |")
    rows += (
        "|    policy_gradient_loss | 0.21        |",
        "|    value_loss           | 1.5         |",
        "-" * 41,
    )
    log = "".join("\n".join(rows).format(step=2048 * n) + "\n" for n in range(1, 12))
    (tmp_path / "train.log").write_text(
        "Using cpu device\nWrapping the env in a DummyVecEnv.\n" + log, encoding="utf-8"
    )

    found = analyzer.diagnose(tmp_path)

    assert found.findings
    assert not any("rollout_probs_diff" in check.how for check in found.next_checks)


def test_code_that_does_it_anywhere_needs_no_setting_in_general_words(bare):
    for slug in RULES:
        for fix in fixes_of(slug, bare, frameworks={"hf-trainer"}).values():
            assert not (fix.code and any(change.framework == GENERAL for change in fix.changes)), (
                slug,
                fix.id,
            )


def test_a_recorder_that_has_dumped_is_not_switched_on(bare):
    assert "record-more" in fixes_of("nccl-timeout", bare, {})
    assert "record-more" not in fixes_of("nccl-timeout", bare, {"signal.flight.stuck": True})


@pytest.mark.parametrize("slug", sorted(RULES))
def test_no_sentence_counts_ranks_that_nobody_counted(slug):
    """One log or one dump shows one rank; what a sentence says without any fact must hold for it."""
    assert not re.search(r"\b(?:some|all|several|many) ranks\b", fill(RULES[slug].says, {})), slug


def test_every_rule_has_something_to_say_everywhere(bare):
    """A fix may be withheld where it means nothing; on torch with CUDA none is left without any."""
    for slug in RULES:
        assert fixes_of(slug, bare), slug


def test_sentences_speak_of_the_platform_at_hand():
    assert localised("a CUDA kernel", {"run.platform": "rocm"}) == "a HIP kernel"
    assert localised("unless CUDA_LAUNCH_BLOCKING=1 was set", {"run.platform": "rocm"}) == (
        "unless AMD_SERIALIZE_KERNEL=3 was set"
    )
    assert localised("NCCL could not connect", {"run.backend": "gloo"}) == "gloo could not connect"
    assert localised("more than the GPU has", {"run.platform": "tpu"}) == "more than the TPU has"
    assert (
        localised("the rest goes to CUDA context", {"run.platform": "mps"})
        == "the rest goes to Metal context"
    )
    assert localised("[nccl-timeout] NCCL_DEBUG", {"run.backend": "gloo"}) == "[nccl-timeout] NCCL_DEBUG"


EMPTY = re.compile(
    r"an unknown value|not stated|\(\s*\)|:\s*$|  |\(\s|\s\)|,\s*$|\s$|^\s|: :|,,|\? %|\(,|:\s*[,;)]|^[,;:]|\{|\}"
)


@pytest.mark.parametrize("slug", sorted(RULES))
def test_every_sentence_reads_with_whatever_is_known(slug):
    """No fact, each alone, all but each, all: nothing empty is said."""
    known = {"bool": True, "int": 7, "float": 2.5}
    for text in (RULES[slug].says, RULES[slug].restart_because):
        names = sorted(set(holes(text)))
        for some in (
            [],
            *([name] for name in names),
            *([n for n in names if n != name] for name in names),
            names,
        ):
            facts = {name: known.get(spec_of(name).dtype, "word") for name in some}
            assert not EMPTY.search(fill(text, facts)), (text, some)
            assert not text or fill(text, facts)


def test_a_bound_never_turns_a_setting_the_other_way(tmp_path):
    (tmp_path / "train.yaml").write_text(
        "output_dir: out\nnum_train_epochs: 1\nper_device_train_batch_size: 4\nmax_grad_norm: 0.3\n",
        encoding="utf-8",
    )
    run = load(tmp_path)
    fix = RuleFix("f", "clip", "cures", "restart", change={"hf-trainer": {"max_grad_norm": "at most 1.0"}})

    assert resolve_fixes(SimpleNamespace(fixes=(fix,)), run, {}, Quoter(run).lines) == ()


def test_what_may_ease_it_stands_behind_the_tests(bare):
    fixes = list(fixes_of("nccl-timeout", bare, {}))
    known = list(fixes_of("nccl-timeout", bare, {"signal.step_time.outliers_at_saves": True}))

    assert fixes[-1] == known[0] == "longer-timeout"


@pytest.mark.parametrize(
    ("slug", "facts", "first"),
    [
        ("library-abi-mismatch", {"event.import_failed.name": "AdamW"}, "version-with-the-name"),
        ("library-abi-mismatch", {"exception.message": "Descriptors cannot not be created directly."}, "older-protobuf"),
        ("library-abi-mismatch", {"event.library_mismatch.symbol": "_ZN3c104"}, "match-versions"),
        ("no-accelerator-visible", {"event.no_accelerator.what": "Torch not compiled with CUDA enabled"}, "build-for-the-device"),
        ("no-accelerator-visible", {"event.no_accelerator.what": "CPU-only"}, "build-with-gpu"),
        ("no-accelerator-visible", {"run.library": "chainer"}, "ask-for-them"),
        ("rendezvous-timeout", {"run.library": "jax"}, "coordinator-jax"),
        ("rendezvous-timeout", {"run.library": "torch"}, "interface"),
        ("rendezvous-timeout", {}, "reach-the-store"),
        ("data-pipeline-bug", {"event.empty_dataset.seen": True}, "path-and-filter"),
        ("invalid-config-argument", {"event.argument_rejected.required": "port number"}, "launched"),
        ("invalid-config-argument", {"event.argument_rejected.unknown": "-f"}, "own-list"),
        ("invalid-config-argument", {"event.argument_rejected.argument": "--mode"}, "correct-it"),
        ("package-missing", {"event.import_failed.module": "flask"}, "install"),
        ("system-program-missing", {}, "install"),
        ("native-crash", {"event.segfault.in_loader": "workers", "event.fatal_python_error.seen": False}, "fault-handler"),
        ("oom-fragmentation", {"event.cuda_oom.reserved_gib": 11.0}, "split-limit-older"),
        ("oom-fragmentation", {"event.cuda_oom.unallocated_gib": 2.0}, "expandable-segments"),
    ],
)  # fmt: skip
def test_the_first_fix_is_that_of_the_message(bare, slug, facts, first):
    of_imports = {"event.import_failed.name": "", "exception.name_gone": False, "exception.api_clash": False}

    assert next(iter(fixes_of(slug, bare, {**of_imports, **facts}))) == first


def test_nobody_is_sent_to_a_scheduler_for_a_key_that_was_pressed(bare):
    assert "who" in fixes_of("user-cancelled", bare, {"event.slurm_cancelled.seen": True})
    assert "who" not in fixes_of("user-cancelled", bare, {"event.keyboard_interrupt.seen": True})


def test_the_ways_to_the_logs_of_ranks_fit_the_launcher(bare):
    assert "per-rank-logs" in fixes_of("nccl-remote-rank-crash", bare, {"run.library": "torch"})
    other = fixes_of("nccl-remote-rank-crash", bare, {"run.library": "tensorflow"})
    assert next(iter(other)) == "per-rank-logs-of-another-launcher"


def test_a_missing_module_is_installed_and_another_exception_is_mended(bare):
    assert next(iter(fixes_of("user-code-exception", bare, {}))) == "read-first-traceback"
    assert (
        next(iter(fixes_of("user-code-exception", bare, {"event.module_missing.seen": True})))
        == "install-package"
    )


def test_what_has_no_spelling_is_said_in_general_words(bare):
    fix = fixes_of("learning-rate-too-high", bare, {"config.train.learning_rate": 3e-4})["lower-lr"]

    assert fix.scope == "the trainer was not recognised"
    assert [(change.framework, change.key, change.new) for change in fix.changes] == [
        (GENERAL, "learning_rate", "0.0001")
    ]


def test_a_feature_of_one_trainer_is_never_named_in_general_words(bare):
    fix = fixes_of("nonfinite-forward", bare, {}, {"keras"})["native-check"]

    assert fix.changes == ()
    assert fix.scope == "the name of this setting in keras is not known"


def test_code_of_another_library_is_left_out(bare):
    keras = fixes_of("nonfinite-forward", bare, {"run.library": "tensorflow"}, {"keras"})

    assert "check-inputs" not in keras
    assert keras["native-check-tensorflow"].code.startswith("tf.debugging")
    assert "native-check-tensorflow" not in fixes_of("nonfinite-forward", bare, {"run.library": "torch"})


def test_a_table_may_know_the_trainers_own_spelling(bare):
    facts = {"config.train.learning_rate": 0.03}
    fix = fixes_of("learning-rate-too-high", bare, facts, {"detectron2"})["lower-lr"]

    assert values(fix) == {"SOLVER.BASE_LR": "0.01"}
    assert fix.scope == ""


# What a close reading of the rules found wrong, one test each.


@pytest.mark.parametrize("slug", ["nccl-timeout", "nccl-timeout-slow-rank"])
def test_a_longer_timeout_is_hours_not_years(bare, slug):
    fix = fixes_of(slug, bare, frameworks={"llamafactory"})["longer-timeout"]

    assert all(60 <= int(value) <= 24 * 3600 for value in values(fix).values())


@pytest.mark.parametrize("slug", ["nccl-timeout", "pipeline-p2p-mismatch", "training-stall"])
@pytest.mark.parametrize(
    ("version", "names"),
    [
        (None, {"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"}),
        (2006.0, {"TORCH_NCCL_TRACE_BUFFER_SIZE"}),
        (2010.001, {"TORCH_FR_BUFFER_SIZE"}),
    ],
)
def test_the_recorder_is_named_as_the_version_names_it(bare, slug, version, names):
    facts = {} if version is None else {"config.versions.torch": version}
    told = set().union(*map(values, fixes_of(slug, bare, facts).values()))

    assert {name for name in told if "BUFFER_SIZE" in name} == names


def test_a_larger_bucket_is_larger_than_the_default(bare):
    found = fixes_of("zero-stage-bug", bare, frameworks={"deepspeed"})

    assert int(values(found["bigger-bucket"])["zero_optimization.reduce_bucket_size"]) > 500_000_000
    assert "bf16" not in found  # that is the cure of another cause


def test_more_room_for_the_scaler_does_not_raise_the_scale_sooner(bare):
    fix = fixes_of("fp16-loss-scale-collapse", bare, frameworks={"deepspeed"})["more-room"]

    assert set(values(fix)) == {"fp16.hysteresis"}


@pytest.mark.parametrize(
    ("slug", "decision"),
    [
        ("fp16-gradient-underflow", "fix-then-restart"),  # what was lost left no trace
        ("bad-input-data", "resume-from-earlier-checkpoint"),  # the weights hold NaN
        ("labels-all-ignored", "fix-then-restart"),  # a gradient of zero harms no weight
        ("degenerate-length-samples-nan", "resume-from-earlier-checkpoint"),
        ("job-not-torn-down", "fix-then-restart"),
        ("gpu-hardware-fault-hang", "fix-then-restart"),
        ("nccl-timeout", "fix-then-restart"),
    ],
)
def test_the_restart_follows_from_its_reason(slug, decision):
    assert restart_of(RULES[slug], {}).decision == decision


def test_fused_kernels_of_a_loss_do_not_chunk_its_logits(bare):
    assert "chunked-loss" in fixes_of("oom-activations", bare, frameworks={"llamafactory"})
    assert "--cross-entropy-loss-fusion" not in str(
        fixes_of("oom-activations", bare, frameworks={"megatron"})
    )


def test_units_that_huge_updates_killed_get_smaller_updates_first(bare):
    found = fixes_of("dead-network", bare, {"signal.stall.after_explosion": True})

    assert next(iter(found)) == "smaller-rate"
    assert "smaller-rate" not in fixes_of("dead-network", bare, {"signal.stall.after_explosion": False})


def test_a_silent_gsp_may_need_another_driver(bare):
    assert "driver" in fixes_of("gsp-rpc-timeout", bare)["other-driver"].title


def test_a_stopped_device_is_not_called_defective(bare):
    rule = RULES["gpu-hardware-fault-hang"]
    two = {"signal.flight.device_stopped": True, "signal.flight.faulty_count": 2}

    assert rule.entry.id == "device-stopped"
    assert "kernel" in rule.title
    assert "leave-out" in fixes_of(
        rule.slug,
        bare,
        {
            **two,
            "signal.flight.faulty_count": 1,
            "event.illegal_memory_access.seen": False,
            "event.device_side_assert.seen": False,
        },
    )
    assert "leave-out" not in fixes_of(rule.slug, bare, two)  # several at once speak for the program


def test_a_negative_label_gets_no_wider_head(bare):
    found = fixes_of("label-out-of-range", bare, {"event.label_out_of_range.label": -1})

    assert "negative-label" in found
    assert "correct-classes" not in found
    assert "negative-label" not in fixes_of(
        "label-out-of-range", bare, {"event.label_out_of_range.label": 21}
    )


def test_one_huge_request_is_not_cured_by_fewer_workers(bare):
    found = fixes_of("host-oom-kill", bare, {"event.cpu_oom.tried_gib": 160.0})

    assert next(iter(found)) == "one-request"
    assert "fewer-copies" not in found


def test_frozen_weights_are_unfrozen_first(bare):
    found = fixes_of("gradients-disabled", bare)

    assert next(iter(found)) == "unfreeze"
    assert "non-reentrant" not in fixes_of(
        "gradients-disabled", bare, {"config.train.gradient_checkpointing": False}
    )


def test_nobody_resumes_what_was_never_saved(bare):
    facts = {"run.never_saved": True}

    assert "resume-earlier" not in fixes_of("loss-divergence", bare, facts, {"hf-trainer"})
    restart = restart_of(RULES["loss-divergence"], facts)
    assert restart.decision == "fix-then-restart"
    assert "anew" in restart.because


@pytest.mark.parametrize(
    "facts",
    [
        {"lifecycle.restarts": 2},
        {"event.rendezvous_failure.joined": 1, "event.rendezvous_failure.expected": 8},
        {"event.job_not_started.seen": True},
    ],
)
def test_as_it_is_only_where_it_may_help(facts):
    rule = RULES["training-stall"]

    assert restart_of(rule, {}).decision == "restart-as-is"
    assert restart_of(rule, facts).decision == "fix-then-restart"
    assert restart_of(RULES["scheduler-preemption"], {"lifecycle.restarts": 9}).decision == "restart-as-is"


def test_what_a_trace_may_show_is_not_denied():
    """The text stands below the split of a step where a trace was read; it must hold there as well."""
    text = load_rules(()).by_id("slow-throughput").text

    assert "does not show how" not in text
    assert "A timing trace, where there is one, shows how a step's time is split" in text


def test_a_next_check_asks_for_nothing_of_another_library(tmp_path):
    courses = [(0.42, 0.85), (0.5, 0.83), (2.1, 0.6), (9.0, 0.2), *[(14.5035, 0.1)] * 6]
    rows = [
        f"Epoch {i}/200\n1562/1562 - 353s - loss: {loss:.4f} - acc: {right:.4f} - val_loss: {loss + 0.01:.4f} - val_acc: {right:.4f}\n"
        for i, (loss, right) in enumerate(courses, 1)
    ]
    (tmp_path / "train.log").write_text("".join(rows))
    found = analyzer.diagnose(tmp_path)

    assert found.findings[0].cause.id == "loss-divergence"
    assert not [check.how for check in found.next_checks if "DeepSpeed" in check.how]
