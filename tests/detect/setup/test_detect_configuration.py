"""Configuration facts: what decides the precision, and what stays unknown."""

from __future__ import annotations

import pytest
from make_run import RunMaker, falling

from analyzer.detect.setup.configuration import bf16_born, is_base
from analyzer.detect.setup.run_course import compute_capability, supports_bf16


def plain(framework="hf-trainer", path="config.yaml", layer="file", **keys):
    return RunMaker().config(framework, path=path, layer=layer, **keys).plain()


class TestPrecision:
    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ({"fp16": True}, "fp16"),
            ({"fp16": True, "bf16": False}, "fp16"),
            ({"bf16": True, "fp16": False}, "bf16"),
            ({"mixed_precision": "bf16"}, "bf16"),
            ({"precision": "16-mixed"}, "fp16"),
            ({"precision": 16}, "fp16"),
            ({"precision": "16-true"}, "fp16"),
            ({"mixed_precision": "fp8"}, "fp8"),
            ({"mixed_precision": "no"}, "fp32"),
            ({"fp16": False, "bf16": False}, "fp32"),
            ({"torch_dtype": "bfloat16", "fp16": False}, "bf16"),
            ({"torch_dtype": "float16"}, "fp16"),
            ({"fp16": "auto", "bf16": "auto"}, None),
            ({"fp16": False}, None),
            ({"torch_dtype": "float32"}, None),
            ({"learning_rate": 1e-4}, None),
        ],
    )
    def test_flags(self, keys, expected):
        assert plain(**keys).get("config.precision") == expected

    def test_pure_half(self):
        facts = plain(torch_dtype="torch.float16", fp16=False, bf16=False)

        assert facts["config.precision_fp16_pure"] is True
        assert facts["config.uses_loss_scaler"] is False
        assert facts["config.weights_dtype"] == "float16"

    def test_mixed_is_not_pure(self):
        facts = plain(fp16=True)

        assert facts["config.precision_fp16_pure"] is False
        assert facts["config.uses_loss_scaler"] is True

    def test_static_scale_is_no_scaler(self):
        facts = plain("deepspeed", fp16__enabled=True, fp16__loss_scale=1024)

        assert facts["config.uses_loss_scaler"] is False
        assert facts["config.fp16.static_loss_scale"] == 1024.0

    def test_dynamic_scale_is_not_static(self):
        assert "config.fp16.static_loss_scale" not in plain(
            "deepspeed", fp16__enabled=True, fp16__loss_scale=0
        )

    def test_runtime_echo_beats_the_file(self):
        maker = (
            RunMaker()
            .config(fp16=True)
            .config("deepspeed", path="train.log", layer="runtime_echo", bf16__enabled=True)
        )
        facts = maker.facts()

        assert facts.plain["config.precision"] == "bf16"
        assert facts["config.precision"].refs[0].source == 1

    def test_two_flags_of_equal_rank_are_open(self):
        assert "config.precision" not in plain(fp16=True, bf16=True)

    def test_overflow_message_proves_fp16(self):
        maker = RunMaker("deepspeed").log({"loss": falling(20)}).overflows([65536.0, 32768.0])

        assert maker.plain()["config.precision"] == "fp16"

    def test_mmengine_autocast_without_a_dtype_is_fp16(self):
        assert plain("mmengine", optim_wrapper__type="AmpOptimWrapper")["config.precision"] == "fp16"

    def test_mmengine_autocast_in_bf16(self):
        assert (
            plain("mmengine", optim_wrapper__type="AmpOptimWrapper", optim_wrapper__dtype="bfloat16")[
                "config.precision"
            ]
            == "bf16"
        )

    def test_auto_dtype_is_the_checkpoints(self):
        maker = (
            RunMaker().config(torch_dtype="auto").config("model", path="model/config.json", dtype="bfloat16")
        )
        facts = maker.plain()

        assert facts["config.weights_dtype"] == "bfloat16"
        assert facts["config.precision"] == "bf16"

    @pytest.mark.parametrize(("version", "expected"), [("4.46.0", "fp32"), ("5.1.0", None), (None, None)])
    def test_default_dtype_changed_with_transformers_5(self, version, expected):
        maker = (
            RunMaker()
            .config(fp16=False, bf16=False)
            .config("model", path="model/config.json", dtype="bfloat16")
        )
        if version:
            maker.config("versions", path="requirements.txt", transformers=version)

        assert maker.plain().get("config.precision") == expected


class TestModel:
    @pytest.mark.parametrize(
        ("name", "kind", "expected"),
        [
            ("Qwen/Qwen2-7B-Instruct", "qwen2", True),
            ("01-ai/Yi-6B", "llama", True),
            ("meta-llama/Llama-2-7b-hf", "llama", True),
            ("meta-llama/Meta-Llama-3-8B", "llama", True),
            ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", "llama", True),
            ("unsloth/gemma-3-4b-it", None, True),
            ("google/flan-t5-large", "t5", True),
            ("google-t5/t5-small", "t5", True),
            ("microsoft/Phi-3-mini-4k-instruct", "phi3", True),
            ("huggyllama/llama-7b", "llama", False),
            ("huggyllama/llama-30b", "llama", False),
            ("facebook/opt-1.3b", "opt", False),
            ("openai-community/gpt2", "gpt2", False),
            ("bigscience/bloom-560m", "bloom", False),
            ("google-bert/bert-base-uncased", "bert", False),
            ("./outputs/model", "llama", None),
            ("./outputs/model", "qwen2", True),
            (None, None, None),
        ],
    )
    def test_families(self, name, kind, expected):
        assert bf16_born(name, kind) is expected

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("01-ai/Yi-6B", True),
            ("01-ai/Yi-6B-Chat", False),
            ("google/gemma-3-4b-it", False),
            ("google/gemma-3-4b-pt", True),
            ("meta-llama/Llama-2-7b-hf", True),
            ("Qwen/Qwen3-8B", None),
            ("Qwen/Qwen3-8B-Base", True),
            ("/data/model", None),
        ],
    )
    def test_base_or_chat(self, name, expected):
        assert is_base(name) is expected

    def test_family_outweighs_the_stored_dtype(self):
        """Llama 2 was trained in bf16 and published in fp16."""
        maker = RunMaker().config(model_name_or_path="meta-llama/Llama-2-7b-hf")
        facts = maker.config(
            "model", path="model/config.json", torch_dtype="float16", model_type="llama"
        ).plain()

        assert facts["config.model.bf16_born"] is True
        assert facts["config.model.bf16_born_by_config"] is False

    def test_unknown_family_in_fp32_is_open(self):
        facts = plain("model", path="model/config.json", torch_dtype="float32", model_type="llama")

        assert facts["config.model.bf16_born_by_config"] is False
        assert "config.model.bf16_born" not in facts

    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ({"attn_implementation": "flash_attention_2"}, "flash"),
            ({"attn_implementation": "eager"}, "eager"),
            ({"flash_attn": "fa2"}, "flash"),
            ({"flash_attn": "sdpa"}, "sdpa"),
            ({"flash_attention": True}, "flash"),
            ({"flash_attention": False}, None),
            ({"attn_implementation": "auto"}, None),
        ],
    )
    def test_attention(self, keys, expected):
        assert plain(**keys).get("config.model.attention") == expected


class TestTraining:
    def test_numbers_that_yaml_reads_as_text(self):
        assert plain(learning_rate="2e-5")["config.train.learning_rate"] == pytest.approx(2e-5)

    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ({"warmup_steps": 100}, True),
            ({"warmup_ratio": 0.03}, True),
            ({"warmup_steps": 0, "warmup_ratio": 0.1}, True),
            ({"warmup_steps": 0}, False),
            ({"warmup_steps": 0.1}, True),
            ({}, None),
        ],
    )
    def test_warmup(self, keys, expected):
        assert plain(learning_rate=1e-4, **keys).get("config.train.has_warmup") is expected

    def test_ratio_is_not_a_number_of_steps(self):
        assert "config.train.warmup_steps" not in plain(warmup_steps=0.1)

    def test_unset_counts(self):
        facts = plain(max_steps=-1, max_grad_norm=None)

        assert "config.train.max_steps" not in facts
        assert facts["config.train.max_grad_norm"] == 0.0

    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ({"resume_from_checkpoint": "out/checkpoint-500"}, True),
            ({"resume_from_checkpoint": True}, True),
            ({"resume_from_checkpoint": None}, False),
            ({}, None),
        ],
    )
    def test_resumed(self, keys, expected):
        assert plain(fp16=True, **keys).get("config.train.resumed") is expected

    def test_resumed_by_message(self):
        maker = RunMaker().event(
            "resume_from_checkpoint", role="info", text="Continuing training from global step 500", step_=500
        )

        assert maker.plain()["config.train.resumed"] is True

    def test_opening_weights_is_no_resumption(self):
        maker = RunMaker().event(
            "resume_from_checkpoint", role="info", text="Loading model from /data/base.", path_="/data/base"
        )

        assert "config.train.resumed" not in maker.plain()

    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ({"completion_only_loss": True, "assistant_only_loss": False}, True),
            ({"train_on_inputs": False}, True),
            ({"train_on_inputs": True}, False),
            ({"completion_only_loss": False}, False),
            ({}, None),
        ],
    )
    def test_masked_prompt(self, keys, expected):
        assert plain(fp16=True, **keys).get("config.data.masks_prompt") is expected

    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ({"finetuning_type": "lora"}, True),
            ({"finetuning_type": "full"}, False),
            ({"use_peft": False}, False),
            ({"lora_r": 8}, True),
            ({}, None),
        ],
    )
    def test_lora(self, keys, expected):
        assert plain(fp16=True, **keys).get("config.lora.enabled") is expected

    def test_adapter_file_means_lora(self):
        assert plain("adapter", path="adapter_config.json", peft_type="LORA")["config.lora.enabled"] is True

    def test_fused_kernels(self):
        assert plain(use_liger_kernel=True)["config.kernels.fused"] is True
        assert plain(use_liger_kernel=False)["config.kernels.fused"] is False
        assert RunMaker("unsloth").plain()["config.kernels.fused"] is True

    def test_summed_loss(self):
        assert plain("mmengine", model__loss_reduction="sum")["config.train.summed_loss"] is True

    def test_initial_scale_as_power(self):
        assert plain(initial_loss_scale=65536)["config.fp16.initial_scale_power"] == 16

    def test_versions_compare_as_numbers(self):
        facts = plain(
            "versions", path="requirements.txt", deepspeed="0.17.6", transformers="5.23.0", torch="2.13.0+cpu"
        )

        assert facts["config.versions.deepspeed"] == pytest.approx(17.006)
        assert facts["config.versions.transformers"] == 5023.0
        assert facts["config.versions.torch"] == 2013.0


class TestTokenizer:
    def test_pad_token(self):
        facts = plain("tokenizer", path="tokenizer_config.json", pad_token="</s>", eos_token="</s>")

        assert facts["config.tokenizer.pad_token_missing"] is False
        assert facts["config.tokenizer.pad_is_eos"] is True

    def test_missing_pad_token(self):
        assert (
            plain("tokenizer", path="tokenizer_config.json", pad_token=None)[
                "config.tokenizer.pad_token_missing"
            ]
            is True
        )

    def test_template_of_the_tokenizer(self):
        keys = {"chat_template": "present", "chat_template_tokens": "<|im_end|>, <|im_start|>"}

        assert (
            plain("tokenizer", path="tokenizer_config.json", **keys)["config.data.uses_chat_template"] is True
        )

    @pytest.mark.parametrize(("template", "expected"), [("qwen", True), ("alpaca", False)])
    def test_template_of_the_trainer(self, template, expected):
        assert plain(template=template)["config.data.uses_chat_template"] is expected


class TestGpu:
    @pytest.mark.parametrize(
        ("name", "capability"),
        [
            ("Tesla T4", 7.5),
            ("Tesla V100-SXM2-32GB", 7.0),
            ("Tesla P100-PCIE-16GB", 6.0),
            ("NVIDIA GeForce RTX 2080 Ti", 7.5),
            ("NVIDIA A100-SXM4-80GB", 8.0),
            ("NVIDIA A10G", 8.6),
            ("NVIDIA RTX A6000", 8.6),
            ("NVIDIA GeForce RTX 3090", 8.6),
            ("NVIDIA L4", 8.9),
            ("NVIDIA RTX 6000 Ada Generation", 8.9),
            ("NVIDIA GeForce RTX 4090", 8.9),
            ("NVIDIA H100 80GB HBM3", 9.0),
            ("NVIDIA H200", 9.0),
            ("NVIDIA B200", 10.0),
            ("NVIDIA GeForce RTX 5090", 12.0),
            ("NVIDIA GeForce GTX 1660 Ti", 7.5),
            ("NVIDIA Mystery 9000", None),
        ],
    )
    def test_compute_capability(self, name, capability):
        assert compute_capability(name) == capability

    def test_t4_has_no_bf16(self):
        assert supports_bf16("Tesla T4") is False
        assert supports_bf16("NVIDIA L4") is True
        assert supports_bf16("AMD Instinct MI300X") is True
        assert supports_bf16("NVIDIA Mystery 9000") is None

    def test_device_named_in_the_run(self):
        maker = RunMaker()
        maker.file().layout(gpu_name="Tesla T4", gpus=1, world_size=1, line=3)
        facts = maker.facts()

        assert facts.plain["run.gpu.supports_bf16"] is False
        assert facts.plain["run.gpu.compute_capability"] == 7.5
        assert facts.plain["run.world_size"] == 1
        assert facts["run.gpu.name"].refs[0].line == 3

    def test_unsloths_banner_asked_the_device(self):
        maker = RunMaker("unsloth").config(
            "unsloth", path="train.log", layer="runtime_echo", bfloat16_supported=False
        )

        assert maker.plain()["run.gpu.supports_bf16"] is False
