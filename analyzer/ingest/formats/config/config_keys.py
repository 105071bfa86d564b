"""Canonical configuration keys: what each framework calls the same thing.

One table serves reading and fixing: a fix finds the key under the user's own spelling because both have the
same canonical key.
"""

from __future__ import annotations

import re
from functools import lru_cache

from analyzer.model.config import ConfigScalar

_KEYS: dict[str, dict[str, tuple[str, ...]]] = {}


def _add(canonical: str, **frameworks: str) -> None:
    _KEYS[canonical] = {name.replace("_", "-"): tuple(keys.split()) for name, keys in frameworks.items()}


# Keys that mean the same wherever they stand at the top level of a user's own file are listed under "any".
_add(
    "fp16.enabled",
    any="fp16 --fp16 use_fp16",
    deepspeed="fp16.enabled",
    mmengine="strategy.fp16.enabled",
    detectron2="SOLVER.AMP.ENABLED",
)
_add(
    "bf16.enabled",
    any="bf16 --bf16 use_bf16 pure_bf16",
    deepspeed="bf16.enabled bfloat16.enabled",
    mmengine="strategy.bf16.enabled",
)
_add(
    "mixed_precision",
    any="mixed_precision precision amp_dtype half_precision_backend.dtype trainer.precision compute_dtype",
)
_add("amp.dtype", mmengine="optim_wrapper.dtype", any="autocast_dtype")
_add("amp.wrapper", mmengine="optim_wrapper.type")
_add("amp.loss_scale", mmengine="optim_wrapper.loss_scale")
_add("weights.dtype", any="torch_dtype model_dtype load_dtype dtype model_kwargs.torch_dtype model.dtype")
_add("model.native_dtype", model="dtype torch_dtype text_config.dtype text_config.torch_dtype")
_add("model.type", model="model_type")
_add("model.vocab_size", model="vocab_size text_config.vocab_size")
_add("model.hidden_size", model="hidden_size text_config.hidden_size")
_add("model.max_positions", model="max_position_embeddings n_positions text_config.max_position_embeddings")
_add("model.layers", model="num_hidden_layers text_config.num_hidden_layers")
_add(
    "model.name",
    any="model_name_or_path model_name base_model pretrained_model_name_or_path model_id",
    model="_name_or_path",
    adapter="base_model_name_or_path",
)
_add(
    "model.attention",
    any="attn_implementation attention_implementation _attn_implementation model_kwargs.attn_implementation",
    model="_attn_implementation attn_implementation",
)
_add(
    "model.flash_attention",
    any="flash_attention flash_attn use_flash_attn use_flash_attention_2 --use-flash-attn",
)
_add("data.packing", any="packing sample_packing pack_to_max_length neat_packing use_packing")
_add("data.padding_side", any="padding_side tokenizer_padding_side", tokenizer="padding_side")
_add("data.padding_free", any="padding_free")
_add(
    "data.max_length",
    any="max_length max_seq_length max_seq_len cutoff_len sequence_len model_max_length seq_length block_size",
)
_add("data.train_on_prompt", any="train_on_prompt train_on_inputs")
_add(
    "data.completion_only",
    any="completion_only_loss train_on_responses_only assistant_only_loss completion_only",
)
_add("data.chat_template", any="template chat_template prompt_template")
_add("tokenizer.added_tokens", tokenizer="added_tokens")
_add("tokenizer.chat_template", tokenizer="chat_template")
_add("tokenizer.pad_token", tokenizer="pad_token")
_add("tokenizer.eos_token", tokenizer="eos_token")
_add("tokenizer.vocab_size", tokenizer="vocab_size")
_add(
    "train.learning_rate",
    any="learning_rate lr learning-rate --lr max_lr optimizer.lr optim.lr",
    detectron2="SOLVER.BASE_LR",
    deepspeed="optimizer.params.lr",
    mmengine="optim_wrapper.optimizer.lr",
)
_add(
    "train.warmup_steps",
    any="warmup_steps warmup num_warmup_steps warmup_iters lr_warmup_steps",
    detectron2="SOLVER.WARMUP_ITERS",
    deepspeed="scheduler.params.warmup_num_steps",
)
_add("train.warmup_ratio", any="warmup_ratio")
_add("train.scheduler", any="lr_scheduler_type lr_scheduler scheduler_type", deepspeed="scheduler.type")
_add(
    "train.optimizer",
    any="optim optimizer_name optimizer",
    deepspeed="optimizer.type",
    mmengine="optim_wrapper.optimizer.type",
)
_add(
    "train.adam_epsilon",
    any="adam_epsilon eps adam_eps",
    deepspeed="optimizer.params.eps",
    mmengine="optim_wrapper.optimizer.eps",
)
_add(
    "train.adam_beta2",
    any="adam_beta2 --adam-beta2 beta2",
    deepspeed="optimizer.params.betas[1]",
    mmengine="optim_wrapper.optimizer.betas[1]",
)
_add(
    "train.micro_batch_size",
    any="per_device_train_batch_size micro_batch_size micro_batch_size_per_gpu batch_size train_batch_size_per_device train_batch_size",
    deepspeed="train_micro_batch_size_per_gpu",
    mmengine="train_dataloader.batch_size strategy.train_micro_batch_size_per_gpu",
)
_add(
    "train.global_batch_size",
    deepspeed="train_batch_size",
    any="global_batch_size",
    detectron2="SOLVER.IMS_PER_BATCH",
)
_add(
    "train.gradient_accumulation_steps",
    any="gradient_accumulation_steps accumulate_grad_batches",
    deepspeed="gradient_accumulation_steps",
    mmengine="optim_wrapper.accumulative_counts strategy.gradient_accumulation_steps",
)
_add(
    "train.max_grad_norm",
    any="max_grad_norm gradient_clip_val clip_grad clip-grad clip_norm gradient_clip",
    deepspeed="gradient_clipping",
    mmengine="optim_wrapper.clip_grad.max_norm strategy.gradient_clipping",
)
_add(
    "train.max_steps",
    any="max_steps max_iters train_iters num_training_steps total_steps",
    detectron2="SOLVER.MAX_ITER",
    mmengine="train_cfg.max_iters",
)
_add("train.epochs", any="num_train_epochs num_epochs epochs max_epochs", mmengine="train_cfg.max_epochs")
_add(
    "train.logging_steps",
    any="logging_steps log_interval log_every_n_steps",
    deepspeed="steps_per_print",
    mmengine="default_hooks.logger.interval",
)
_add("train.seed", any="seed", mmengine="randomness.seed")
_add(
    "train.resume_from", any="resume_from_checkpoint resume_from load_checkpoint resume", mmengine="load_from"
)
_add("train.gradient_checkpointing", any="gradient_checkpointing activation_checkpointing")
_add("train.neftune_alpha", any="neftune_noise_alpha")
_add("train.logging_nan_inf_filter", any="logging_nan_inf_filter")
_add("train.group_by_length", any="group_by_length")
_add("lora.r", any="lora_r lora_rank", adapter="r")
_add("lora.alpha", any="lora_alpha", adapter="lora_alpha")
_add("lora.enabled", any="use_peft use_lora lora", adapter="peft_type")
_add("lora.finetuning_type", any="finetuning_type adapter")
_add(
    "quantization.bits",
    any="quantization_bit load_in_4bit load_in_8bit bits",
    model="quantization_config.bits quantization_config.load_in_4bit quantization_config.load_in_8bit",
)
_add(
    "zero.stage",
    deepspeed="zero_optimization.stage",
    mmengine="strategy.zero_optimization.stage",
    any="zero_stage zero_optimization.stage",
)
_add(
    "zero.overlap_comm",
    deepspeed="zero_optimization.overlap_comm",
    mmengine="strategy.zero_optimization.overlap_comm",
)
_add("zero.reduce_bucket_size", deepspeed="zero_optimization.reduce_bucket_size")
_add("zero.offload_optimizer", deepspeed="zero_optimization.offload_optimizer.device")
_add("zero.reduce_dtype", deepspeed="communication_data_type data_types.grad_accum_dtype")
_add("fp16.loss_scale", deepspeed="fp16.loss_scale", mmengine="strategy.fp16.loss_scale")
_add(
    "fp16.initial_scale_power",
    deepspeed="fp16.initial_scale_power",
    mmengine="strategy.fp16.initial_scale_power",
)
_add("fp16.initial_scale", any="initial_loss_scale init_loss_scale init_scale --fp16-init-scale")
_add("fp16.hysteresis", deepspeed="fp16.hysteresis", mmengine="strategy.fp16.hysteresis")
_add(
    "fp16.min_loss_scale",
    deepspeed="fp16.min_loss_scale",
    mmengine="strategy.fp16.min_loss_scale",
    any="min_loss_scale --min-loss-scale",
)
_add("fp16.loss_scale_window", deepspeed="fp16.loss_scale_window", mmengine="strategy.fp16.loss_scale_window")
_add("compile.enabled", any="torch_compile compile", mmengine="compile cfg.compile")
_add("anomaly.enabled", any="detect_anomaly set_detect_anomaly trainer.detect_anomaly")
_add("kernels.liger", any="use_liger_kernel use_liger enable_liger_kernel")
_add("kernels.unsloth", any="use_unsloth")
_add(
    "parallel.context",
    any="context_parallel_size context_parallel_degree cp_size --context-parallel-size sequence_parallel_size ulysses_degree",
)
_add(
    "parallel.tensor",
    any="tensor_model_parallel_size tensor_parallel_size tp_size --tensor-model-parallel-size",
)
_add(
    "parallel.pipeline",
    any="pipeline_model_parallel_size pipeline_parallel_size pp_size --pipeline-model-parallel-size pipe_parallel_size "
    "pipeline_parallel_degree",
)
_add(
    "parallel.virtual_pipeline",
    any="virtual_pipeline_model_parallel_size virtual_pipeline_parallel_size --num-virtual-stages-per-pipeline-rank",
)
_add("parallel.data", any="data_parallel_size data_parallel_degree dp_size")
_add("train.eval_batch_size", any="per_device_eval_batch_size eval_batch_size val_batch_size")
_add("train.manual_gc", any="manual_gc --manual-gc")
_add("train.ignore_data_skip", any="ignore_data_skip")
_add("vae.no_half", any="no_half_vae --no_half_vae")
_add("fp8.format", any="fp8_format --fp8-format fp8")
_add("fp8.recipe", any="fp8_recipe --fp8-recipe")
_add(
    "data.source",
    any="dataset_name dataset_path train_file data_path --data-path dataset_dir train_data_dir data_files",
)
_add("rl.top_k", any="rollout.top_k generation_kwargs.top_k sampling_params.top_k generation.top_k top_k")
_add("rl.top_p", any="rollout.top_p generation_kwargs.top_p sampling_params.top_p generation.top_p top_p")
_add(
    "rl.temperature",
    any="rollout.temperature generation_kwargs.temperature sampling_params.temperature generation.temperature temperature",
)
_add("rl.min_length", any="generation_kwargs.min_length generation_kwargs.min_new_tokens min_new_tokens")
_add("rl.kl_weight", any="beta kl_coef init_kl_coef actor.kl_loss_coef kl_ctrl.kl_coef kl_loss_coef")
_add("rl.inner_epochs", any="num_iterations ppo_epochs num_ppo_epochs actor.ppo_epochs")
_add("rl.engine", any="use_vllm rollout.name generation_backend")
_add("versions.deepspeed", versions="deepspeed")
_add("versions.transformers", versions="transformers")
_add("versions.torch", versions="torch")
_add("versions.trl", versions="trl")
_add("versions.unsloth", versions="unsloth")
_add("versions.transformer_engine", versions="transformer_engine transformer-engine")
_add("versions.flash_attn", versions="flash_attn flash-attn")

_BY_FRAMEWORK: dict[tuple[str, str], str] = {
    (framework, key): canonical
    for canonical, names in _KEYS.items()
    for framework, keys in names.items()
    for key in keys
}


def spelling_of(framework: str, canonical: str) -> str | None:
    """A framework's own key for a canonical one, None if the table has none of its own.

    >>> spelling_of("detectron2", "train.learning_rate"), spelling_of("detectron2", "train.epochs")
    ('SOLVER.BASE_LR', None)
    """
    keys = _KEYS.get(canonical, {}).get(framework)
    return keys[0] if keys else None


_PRIVATE_FRAMEWORKS = frozenset({"model", "tokenizer", "adapter", "versions", "generation", "checkpoint"})
"""Files whose keys mean something else than the same word in a training configuration."""

_SECRET_KEY = re.compile(
    r"(?i)((?:api|wandb|access|account|shared|signing|encryption|master|private|auth|client)[_-]?key|secret|passw|passphrase"
    r"|token$|[_-]token\b|credential|cookie|authorization|webhook|(?:^|_)dsn$|connection[_-]?string)"
)
_NOT_SECRET = re.compile(
    r"(?i)^(?:\w{0,40}_)?(?:pad|eos|bos|unk|sep|cls|mask|image|video|audio|stop|start|end|special|prompt|vision|boi|eoi|boa|eoa"
    r"|decoder_start|forced_bos|forced_eos|use_auth|next|new|first|last|per|by)_token$"
)
"""Keys that hold the text of a token, not a key to anything."""

_SURELY_SECRET = re.compile(r"(?i)passw|secret|api[_-]?key|access[_-]?key|private[_-]?key")
"""Keys of which even a number is a secret."""


@lru_cache(maxsize=8192)
def canonical_key(framework: str, key: str) -> str | None:
    """Canonical key of a framework's dotted key, or None if it has none.

    >>> canonical_key("deepspeed", "fp16.enabled"), canonical_key("hf-trainer", "fp16")
    ('fp16.enabled', 'fp16.enabled')
    >>> canonical_key("model", "lr") is None
    True
    """
    found = _BY_FRAMEWORK.get((framework, key))
    if found is not None or framework in _PRIVATE_FRAMEWORKS:
        return found
    found = _BY_FRAMEWORK.get(("any", key))
    if found is not None or framework == "deepspeed":
        return found
    return _in_section(key)


def _in_section(key: str) -> str | None:
    """A section around a known key ("training.learning_rate", "args.fp16") does not change its meaning."""
    head, _, rest = key.partition(".")
    if head in _DEEPSPEED_SECTIONS and rest:
        return canonical_key("deepspeed", rest) or _BY_FRAMEWORK.get(("any", rest))
    parts = key.split(".")
    if not 1 < len(parts) <= 4:
        return None
    pair, tail = ".".join(parts[-2:]), parts[-1]  # NeMo's "model.optim.lr" is known as "optim.lr"
    return _BY_FRAMEWORK.get(("any", pair)) or (
        None if tail in _AMBIGUOUS_TAILS else _BY_FRAMEWORK.get(("any", tail))
    )


_DEEPSPEED_SECTIONS = frozenset({"deepspeed", "deepspeed_config", "ds_config"})
"""Sections in which another trainer's file holds a DeepSpeed configuration."""


_AMBIGUOUS_TAILS = frozenset(
    {"lr", "dtype", "optimizer", "eps", "precision", "batch_size", "resume", "template", "lora", "compile", "warmup",
     "scale", "adapter", "seed", "epochs", "max_length", "packing", "bits", "train_batch_size", "beta", "top_k", "top_p",
     "temperature", "fp8", "num_iterations"}
)  # fmt: skip
"""Words that mean different things in different sections; taken only at the top level."""


def mask_value(key: str, value: ConfigScalar, raw: str) -> tuple[ConfigScalar, str]:
    """Replace the value of a key that names a secret; token texts such as ``pad_token`` are no secrets."""
    tail = key.rpartition(".")[2]
    if value is None or isinstance(value, bool) or not _SECRET_KEY.search(tail) or _NOT_SECRET.search(tail):
        return value, raw
    return ("***", "***") if isinstance(value, str) or _SURELY_SECRET.search(tail) else (value, raw)


@lru_cache(maxsize=1)
def training_words() -> frozenset[str]:
    """First words of all keys by which a training configuration is known, without command-line options."""
    return frozenset(
        key.partition(".")[0].lstrip("-")
        for framework, key in _BY_FRAMEWORK
        if framework not in _PRIVATE_FRAMEWORKS
    )
