"""Facts about the configuration."""

from __future__ import annotations

from analyzer.facts.tables.hows import MODEL_CONFIG, TOKENIZER, USER_CONFIG

TABLE = f"""
config.precision | str | | precision of the forward and backward pass: fp16, bf16, fp32 or fp8 | {USER_CONFIG}
config.precision_fp16_pure | bool | | the weights themselves are in fp16, without mixed precision | {USER_CONFIG}
config.uses_loss_scaler | bool | | a dynamic loss scale is in use | {USER_CONFIG}
config.weights_dtype | str | | dtype in which the trained weights were loaded: float16, bfloat16 or float32 | {USER_CONFIG}
config.model.native_dtype | str | | dtype in which the model was published: float32, float16 or bfloat16 | {MODEL_CONFIG}
config.model.bf16_born | bool | | the model was pre-trained in bf16, by its config or as a member of a family known for it | {MODEL_CONFIG}
config.model.bf16_born_by_config | bool | | the model's own config.json names bfloat16 as its dtype | {MODEL_CONFIG}
config.model.type | str | | model_type of the model, for example llama | {MODEL_CONFIG}
config.model.name | str | | name or path of the model that was loaded | {USER_CONFIG}
config.model.vocab_size | int | tokens | rows of the embedding by the model's config | {MODEL_CONFIG}
config.model.layers | int | | number of decoder layers | {MODEL_CONFIG}
config.model.max_positions | int | tokens | longest position that the model is made for | {MODEL_CONFIG}
config.vae.no_half | bool | | the VAE is kept in fp32 while latents are made | {USER_CONFIG}
config.fp8.recipe | str | | scaling recipe of fp8: delayed, tensorwise, blockwise, mxfp8 | {USER_CONFIG}
config.model.attention | str | | attention implementation: eager, sdpa, flash or flex | {USER_CONFIG}
config.model.is_base | bool | | the model's name marks a base (not chat, instruct) variant | {USER_CONFIG}
config.data.packing | bool | | several samples share one row | {USER_CONFIG}
config.data.padding_side | str | | left or right | {TOKENIZER}
config.data.padding_free | bool | | samples are concatenated without padding | {USER_CONFIG}
config.data.max_length | int | tokens | longest sequence kept | {USER_CONFIG}
config.data.masks_prompt | bool | | the loss is taken over the answer only | {USER_CONFIG}
config.data.uses_chat_template | bool | | the data is formatted with a chat template that holds special tokens | {TOKENIZER}
config.tokenizer.added_tokens | int | tokens | special tokens that were added to or reserved in the vocabulary, without bos, eos, unk, pad | {TOKENIZER}
config.tokenizer.size | int | tokens | number of tokens that the tokenizer can produce | {TOKENIZER}
config.tokenizer.pad_token_missing | bool | | the tokenizer has no pad token | {TOKENIZER}
config.tokenizer.pad_is_eos | bool | | the pad token is the eos token | {TOKENIZER}
config.train.learning_rate | float | | peak learning rate asked for | {USER_CONFIG}
config.train.warmup_steps | int | steps | warm-up steps asked for | {USER_CONFIG}
config.train.has_warmup | bool | | some warm-up is configured | {USER_CONFIG}
config.train.scheduler | str | | learning-rate schedule, lower case | {USER_CONFIG}
config.train.optimizer | str | | optimizer, lower case | {USER_CONFIG}
config.train.adam_epsilon | float | | epsilon of Adam | {USER_CONFIG}
config.train.adam_beta2 | float | | second-moment decay of Adam | {USER_CONFIG}
config.train.micro_batch_size | int | samples | samples per device and micro-step | {USER_CONFIG}
config.train.gradient_accumulation_steps | int | | micro-steps per optimizer step | {USER_CONFIG}
config.train.max_grad_norm | float | | clipping threshold, 0 if clipping is off | {USER_CONFIG}
config.train.max_steps | int | steps | steps asked for | {USER_CONFIG}
config.train.epochs | float | | epochs asked for | {USER_CONFIG}
config.train.logging_steps | int | steps | steps between two rows of the log | {USER_CONFIG}
config.train.gradient_checkpointing | bool | | activations are recomputed in the backward pass | {USER_CONFIG}
config.train.group_by_length | bool | | samples of similar length share a batch | {USER_CONFIG}
config.train.resumed | bool | | the run starts from a checkpoint of an earlier run | {USER_CONFIG}
config.train.nan_filter | bool | | HF Trainer replaces a NaN loss in its log (logging_nan_inf_filter) | {USER_CONFIG}
config.train.summed_loss | bool | | the loss is summed, not averaged, over tokens | {USER_CONFIG}
config.lora.enabled | bool | | only adapters are trained | {USER_CONFIG}
config.zero.stage | int | | ZeRO stage | {USER_CONFIG}
config.zero.overlap_comm | bool | | gradient reduction overlaps the backward pass | {USER_CONFIG}
config.zero.reduce_dtype | str | | dtype of the gradient reduction | {USER_CONFIG}
config.fp16.static_loss_scale | float | | static loss scale, absent for a dynamic one | {USER_CONFIG}
config.fp16.initial_scale_power | int | | log2 of the first loss scale | {USER_CONFIG}
config.fp16.hysteresis | int | | overflows tolerated before the scale falls | {USER_CONFIG}
config.fp16.min_loss_scale | float | | smallest loss scale allowed | {USER_CONFIG}
config.fp16.loss_scale_window | int | steps | good steps after which the scale is raised | {USER_CONFIG}
config.compile.enabled | bool | | torch.compile is on | {USER_CONFIG}
config.anomaly.enabled | bool | | autograd anomaly mode is on | {USER_CONFIG}
config.kernels.fused | bool | | fused or patched kernels (Liger, Unsloth, Apex) are in use | {USER_CONFIG}
config.quantized | bool | | the base weights are quantised (4 or 8 bit) | {USER_CONFIG}
config.parallel.context | int | | context- or sequence-parallel size | {USER_CONFIG}
config.parallel.pipeline | int | | pipeline-parallel size | {USER_CONFIG}
config.parallel.virtual_pipeline | int | | interleaved stages on each pipeline rank | {USER_CONFIG}
config.parallel.micro_batches | int | | micro-batches that flow through the pipeline in one step | {USER_CONFIG}
config.train.eval_batch_size | int | samples | samples per device in evaluation | {USER_CONFIG}
config.train.manual_gc | bool | | garbage is collected on all ranks at once | {USER_CONFIG}
config.train.ignore_data_skip | bool | | a resumed run begins the data anew | {USER_CONFIG}
config.parallel.tensor | int | | tensor-parallel size | {USER_CONFIG}
config.versions.deepspeed | float | | DeepSpeed version as major * 1000 + minor + patch / 1000 (0.17.6 is 17.006) | record pip freeze beside the logs
config.versions.transformers | float | | transformers version as major * 1000 + minor + patch / 1000 | record pip freeze beside the logs
config.versions.torch | float | | torch version as major * 1000 + minor + patch / 1000 | record pip freeze beside the logs
config.versions.transformer_engine | float | | Transformer Engine version as major * 1000 + minor + patch / 1000 | record pip freeze beside the logs
config.known_bad.accumulation | str | | a defect of gradient accumulation that this version of the trainer is known for, with its source; empty if none is | record pip freeze beside the logs
config.known_bad.attention | str | | a defect of attention that this version of torch is known for, with its source; empty if none is | record pip freeze beside the logs
config.known_bad.zero | str | | a defect of ZeRO that this version of DeepSpeed is known for, with its source; empty if none is | record pip freeze beside the logs
config.versions.trl | float | | TRL version as major * 1000 + minor + patch / 1000 | record pip freeze beside the logs
"""
