"""Lines about loss scales, non-finite numbers and data that trains on nothing."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import NUMBER, Pattern

_SCALES = {"attempted": "float", "reducing_to": "float", "hysteresis": "int", "rank": "int", "step": "int"}
# How a hook or a guard names a value that is not finite.
_NONFINITE = r"(?:nan|NaN|NAN|inf|Inf|INF|infinite|non-?finite|Non-?finite)"

_LOSS_SCALE: tuple[Pattern, ...] = (
    # DeepSpeed since 0.3, all optimizers: "... Attempted loss scale: 65536, reducing to 32768"
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("Attempted loss scale: ",),
        rf"(?:Rank (?P<rank>\d{{1,6}}) )?Skipping step\. Attempted loss scale: (?P<attempted>{NUMBER})"
        rf"(?:, reducing to (?P<reducing_to>{NUMBER})|, but hysteresis is (?P<hysteresis>\d{{1,4}}))?",
        _SCALES,
    ),
    # DeepSpeed without a loss scaler (bf16)
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("OVERFLOW! Rank ",),
        r"OVERFLOW! Rank (?P<rank>\d{1,6}) Skipping step\.",
        _SCALES,
        unless="Attempted loss scale",
    ),
    # apex writes "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0"
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("Gradient overflow.",),
        rf"Gradient overflow\. {{1,3}}Skipping step, (?:loss scaler \d{{1,4}} )?reducing loss scale to (?P<reducing_to>{NUMBER})",
        _SCALES,
    ),
    # fairseq and metaseq, also with the prefix "AMP: "
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("gradient overflow detected",),
        rf"gradient overflow detected, ignoring gradient,? setting loss scale to: (?P<reducing_to>{NUMBER})",
        _SCALES,
    ),
    # PaddleNLP writes "optimizer not run, scale_before: 32768.0, scale_after: 16384.0"
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("optimizer not run, scale_before",),
        rf"optimizer not run, scale_before: \[?(?P<attempted>{NUMBER})\]?, scale_after: \[?(?P<reducing_to>{NUMBER})",
        _SCALES,
    ),
    # Home-made loops write "step 3/80 loss 4.1 loss_scale 32768 (overflow, step skipped)"
    Pattern(
        "loss_scale_overflow",
        "symptom",
        (
            "overflow, step skipped",
            "overflow, skipping step",
            "overflow detected, skipping",
            "due to overflow",
        ),
        r"overflow, step skipped|overflow, skipping step|overflow detected, skipping|[Ss]kipp(?:ed|ing) (?:step )?due to overflow",
        _SCALES,
        more=(
            rf"\bloss[_ ]scale[ :=]{{1,3}}(?P<reducing_to>{NUMBER})",
            r"\bstep[ :=]{1,3}(?P<step>\d{1,12})",
        ),
    ),
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("Found overflow. Skip step",),  # Colossal-AI
        r"Found overflow\. Skip step",
    ),
    # MindFormers names the overflow in the row of the step
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("overflow cond: True",),
        rf"overflow cond: True(?:, loss_scale: (?P<reducing_to>{NUMBER}))?",
        _SCALES,
        more=(r"step:\[ {0,12}(?P<step>\d{1,12})/",),
    ),
    Pattern(
        "loss_scale_small",
        "symptom",
        ("Grad scale is small: ",),  # icefall warns below 0.01
        rf"Grad scale is small: (?P<scale>{NUMBER})",
        {"scale": "float"},
    ),
    Pattern(
        "loss_scale_minimum",
        "root_candidate",
        ("grad_scale is too small, exiting",),  # icefall
        rf"grad_scale is too small, exiting: (?P<minimum>{NUMBER})",
        {"minimum": "float"},
    ),
    Pattern(
        "loss_scale_minimum",
        "root_candidate",
        ("Current loss scale already at minimum",),
        r"Current loss scale already at minimum",
    ),
    Pattern(
        "fairseq_min_loss_scale",
        "root_candidate",
        ("Minimum loss scale reached",),
        rf"Minimum loss scale reached(?: \((?P<minimum>{NUMBER})\))?",
        {"minimum": "float"},
    ),
    Pattern(
        "loss_scale_hysteresis",
        "info",
        ("Consecutive hysteresis is enabled",),
        r"Consecutive hysteresis is enabled\. Restoring hysteresis to (?P<hysteresis>\d{1,6})",
        {"hysteresis": "int"},
    ),
    # DeepSpeed's fused optimizer names the iteration before it says what it does
    Pattern(
        "grad_overflow_iteration",
        "info",
        ("Grad overflow on iteration",),
        r"(?<!No )Grad overflow on iteration:? (?P<step>\d{1,12})",
        {"step": "int"},
    ),
    Pattern(
        "loss_scale_changed",
        "info",
        ("dynamic loss scale from ", "setting loss scale from "),
        rf"(?:(?:Reducing|Increasing) dynamic|setting) loss scale from (?P<attempted>{NUMBER}) (?:to|->) (?P<now>{NUMBER})",
        {"attempted": "float", "now": "float"},
    ),
)

_NONFINITE_STOPS: tuple[Pattern, ...] = (
    # DETR, MAE and their heirs: "Loss is nan, stopping training"
    Pattern(
        "nan_stop",
        "root_candidate",
        (", stopping training",),
        rf"[Ll]oss (?:is|:) (?P<value>[^,]{{0,30}}{_NONFINITE}[^,]{{0,60}}), stopping training",
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        ("Aborting training due to ",),  # MaxText
        r"Aborting training due to (?P<value>NaN|Inf) loss",
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        ("Invalid loss, terminating training",),  # Keras
        r"Batch (?P<batch>\d{1,12}): Invalid loss, terminating training",
        {"batch": "int"},
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        ("loss is NAN or INF",),  # MindSpore
        r"In epoch: (?P<epoch>\d{1,9}) step: (?P<step>\d{1,12}), loss is NAN or INF",
        {"epoch": "int", "step": "int"},
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        ("Loss became infinite or NaN at iteration=",),  # detectron2
        r"Loss became infinite or NaN at iteration=(?P<step>\d{1,12})",
        {"step": "int"},
    ),
    # It also prints the parts: one that is still finite, but ten thousand times what such losses are
    Pattern(
        "loss_part_huge",
        "info",
        ("loss_dict = {",),
        r"loss_dict = \{.{0,800}?'(?P<part>loss\w{0,40})': tensor\((?P<value>[1-9]\d{4,20}\.\d{0,8}|\d\.\d{0,8}e\+(?:0[4-9]|[1-3]\d))",
        {"value": "float"},
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        ("The loss returned in `training_step` is",),  # Lightning
        r"The loss returned in `training_step` is (?P<value>[^.]{1,40})",
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        ("found NaN in local ", "found Inf in local "),  # Megatron
        r"found (?P<value>NaN|Inf) in local (?P<where>forward loss calculation|grad norm)",
        more=(r"iteration (?P<step>\d{1,12})", r"Rank (?P<rank>\d{1,6})\b"),
        fields={"step": "int", "rank": "int"},
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        ("is not finite. Previous best value was",),  # Lightning's EarlyStopping
        r"Monitored metric (?P<metric>\S{1,80}) = (?P<value>\S{1,20}) is not finite\. Previous best",
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        ("Loss contains inf or nan values",),  # PaddleNLP, ERNIE
        r"Loss contains inf or nan values(?:, its value is (?P<value>[\w.-]{1,20}))?",
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        (
            "Train loss contains a NaN",  # Composer
            "loss become infinite or NaN",  # mmcv, mmengine
            "Model diverged with loss = NaN",  # TensorFlow
            "NaN loss during training",
            "an loss encountered",  # OLMo, AllenNLP
            "leading to inf or nan losses",  # icefall
            "Tensor had NaN values",  # TensorFlow's check of the loss, object detection
            "Tensor had Inf values",
            "[x] nan loss",  # DDSP-SVC
        ),
        r"Train loss contains a NaN|loss become infinite or NaN|Model diverged with loss = NaN|NaN loss during training|\b[Nn]an loss encountered"
        r"|leading to inf or nan losses|LossTensor is inf or nan\. : Tensor had|\[x\] nan loss",
        unless=r"[\"'](?:Train loss|loss become|Model diverged|NaN loss|[Nn]an loss)",  # the source line
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        ("invalid value (nan) encountered in", "invalid value (inf) encountered in"),  # JAX
        r"invalid value \((?P<value>nan|inf)\) encountered in (?P<where>[\w.()-]{1,80})",
    ),
    Pattern(
        "nonfinite_parameters",
        "symptom",
        ("Detected nan and/or inf values in ",),  # Lightning
        r"Detected nan and/or inf values in `(?P<module>[\w.]{1,200})`",
    ),
    Pattern(
        "nonfinite_gradient_stop",
        "root_candidate",
        ("gradients are Nan/Inf",),  # fairseq
        r"FloatingPointError: gradients are Nan/Inf",
    ),
    Pattern(
        "loss_watchdog",
        "root_candidate",
        ("Loss is too high, stopping training",),  # Axolotl
        r"Loss is too high, stopping training(?: \(loss_watchdog_threshold\))?",
    ),
    Pattern(
        "nonfinite_loss_message",
        "symptom",
        (
            "loss is nan",
            "loss is NaN",
            "Loss is nan",
            "Loss is NaN",
            "NaN loss",
            "nan loss",
            "on-finite loss",
            "on-finite grad",
        ),
        rf"(?:[Ll]oss is|[Dd]etected|[Ee]ncountered|[Ff]ound|[Gg]ot|WARNING:|ERROR:)[ :]{{1,3}}(?:a )?{_NONFINITE}\b"
        r"|\b[Ss]kip(?:ping|ped)?\b.{0,80}?\b[Nn]on-?finite (?:loss|grad)",
        unless="stopping training|Aborting training",
    ),
    Pattern(  # exp(loss), so a loss that is not finite
        "nonfinite_loss_message",
        "symptom",
        ("erplexity: nan", "erplexity: inf", "erplexity is nan", "erplexity = nan", "ppl: nan", "ppl=nan"),
        r"(?:\b[Pp]erplexity|\bppl)(?:: | is | ?= ?|=)(?:nan|inf)\b",
    ),
    Pattern(  # print(loss) of a home-made loop: only a loss prints a scalar with its grad_fn
        "nonfinite_loss_message",
        "symptom",
        ("tensor(nan,", "tensor(inf,"),
        r"tensor\((?:nan|inf), (?:device='[\w:]{1,16}', )?grad_fn=<\w{1,60}>\)",
    ),
    Pattern(
        "gradient_skipped",
        "symptom",
        ("Skipping updating the model", "grad_norm is not finite: "),  # ESPnet, verl
        r"The grad norm is (?P<value>\S{1,20})\. Skipping updating the model|(?:rank (?P<rank>\d{1,6}) )?grad_norm is not finite: (?P<norm>\S{1,20})",
        {"rank": "int"},
    ),
    Pattern(
        "nonfinite_scalar_message",
        "symptom",
        ("NaN or Inf found in input tensor",),  # TensorBoard's writer, of any scalar that is logged
        r"NaN or Inf found in input tensor",
    ),
    Pattern(
        "invalid_distribution_parameter",
        "symptom",
        (" to satisfy the constraint ",),  # torch.distributions: how NaN weights of a policy show
        r"Expected (?:parameter|value argument) \(?(?P<parameter>\w{0,40}).{0,200}? of distribution (?P<distribution>\w{1,60})\(.{0,400}to satisfy the constraint",
    ),
    Pattern(
        "gradient_skipped",
        "symptom",
        (", skipping optimizer step",),  # XTuner
        r"Gradient norm (?P<value>\S{1,40}) (?:is invalid|exceeds the threshold (?P<threshold>\S{1,40})), skipping optimizer step",
    ),
)

_LOCALISERS: tuple[Pattern, ...] = (
    Pattern(
        "autograd_anomaly",
        "root_candidate",
        ("' returned nan values in its ",),
        r"Function '(?P<function>[\w:<>]{1,120})' returned nan values in its (?P<output_index>\d{1,4})(?:st|nd|rd|th) output",
        {"output_index": "int"},
    ),
    Pattern(
        "autograd_anomaly_warning",
        "symptom",
        ("Traceback of forward call that caused the error",),
        r"Error detected in (?P<function>[\w:<>]{1,120})\. Traceback of forward call",
    ),
    Pattern(
        "sampling_nonfinite",
        "symptom",
        ("probability tensor contains either",),
        r"probability tensor contains either `inf`, `nan` or element < 0",
    ),
    # fairseq writes "NaN detected in output of encoder.layers.3, shape: torch.Size([8, 2]), forward input max: ..."
    Pattern(
        "nan_detector",
        "symptom",
        (" detected in output of ",),
        rf"(?P<value>NaN|Inf) detected in output of (?P<module>[\w.]{{1,200}}), shape: (?P<shape>[^)]{{1,80}}\)?), (?P<pass>forward|backward)"
        rf"(?: input max: (?P<input_max>{NUMBER}), input min: (?P<input_min>{NUMBER}))?",
        {"input_max": "float", "input_min": "float"},
    ),
    # Paddle writes "There are NAN or INF (num_nan=1, num_inf=0, num_zero=0) in [device=gpu:0, op=matmul, tensor=x"
    Pattern(
        "nan_detector",
        "symptom",
        ("There are NAN or INF (num_nan=",),
        r"There are NAN or INF \(num_nan=(?P<nans>\d{1,18}), num_inf=(?P<infs>\d{1,18}).{0,80}?\bop=(?P<module>[\w.]{1,120})",
        {"nans": "int", "infs": "int"},
    ),
    Pattern(
        "nan_detector",
        "symptom",
        ("Detected Infinity or NaN in output",),  # TensorFlow with check_numerics
        r"Detected Infinity or NaN in output (?P<output>\d{1,4}) of (?:eagerly-executed |graph )?op \"(?P<module>[\w.]{1,120})\"",
        {"output": "int"},
    ),
    # Hooks that users write; every form needs a module's dotted name and a statement that it is not finite.
    Pattern(
        "nonfinite_hook",
        "symptom",
        (
            "NaN gradient in ",
            "nan gradient in ",
            "NaN in ",
            "nan=True",
            "has_nan",
            "nonfinite=",
            "NaN output in ",
            "inf=True",
        ),
        r"(?:(?:NaN|nan|Inf|inf|[Nn]on-?finite)(?: values?| gradients?| outputs?| activations?)? (?:detected )?in (?P<module>[a-zA-Z_]\w{0,60}(?:\.\w{1,60}){1,16}))",
        more=(r"\b(?P<pass>forward|backward)\b",),
        unless=r" detected in output of |, in \w+$",
    ),
    Pattern(
        "nonfinite_hook",
        "symptom",
        ("nan=True", "inf=True", "has_nan", "nonfinite="),
        r"(?<![\w.])(?P<module>[a-zA-Z_]\w{0,60}(?:\.\w{1,60}){1,16})\b.{0,160}?\b(?:nan=True|inf=True|has_nan[=:] ?True|nonfinite=[1-9])",
        more=(r"\b(?P<pass>forward|backward)\b",),
    ),
    Pattern(  # hooks that print the class of the module, as Unsloth's users do
        "nonfinite_hook",
        "symptom",
        (" gradient detected in ", " gradients detected in "),
        r"(?i:\b(?:NaN|inf|non-?finite)) (?P<pass>gradient)s? detected in (?P<module>[A-Z]\w{1,60})(?:'s| )",
    ),
    Pattern(
        "module_absmax",
        "info",
        ("absmax", "abs_max", "max_abs", "abs().max"),
        rf"(?<![\w.])(?P<module>[a-zA-Z_]\w{{0,60}}(?:\.\w{{1,60}}){{1,16}})\b[^=]{{0,60}}?\b(?:absmax|abs_max|max_abs|abs\(\)\.max\(\))\s{{0,2}}[=:]\s{{0,2}}(?P<value>{NUMBER})",
        {"value": "float"},
    ),
)

_MISUSE: tuple[Pattern, ...] = (
    Pattern(
        "unscale_fp16_gradients",
        "root_candidate",
        ("Attempting to unscale FP16 gradients",),
        r"Attempting to unscale FP16 gradients",
    ),
    Pattern(
        "no_inf_checks", "root_candidate", ("No inf checks were recorded",), r"No inf checks were recorded"
    ),
    Pattern(
        "lr_before_step",
        "symptom",
        ("tried to get lr value before scheduler/optimizer started stepping",),
        r"tried to get lr value before scheduler/optimizer started stepping",
    ),
    Pattern(
        "bf16_unsupported",
        "root_candidate",
        (
            "setup doesn't support bf16",
            "loat16 is only supported on GPUs with compute capability",
            "does not support bfloat16",
            "ype bf16 is not supported",
            "BFloat16 is not supported on this device",
            "bf16 is not supported on this device",
        ),
        r"setup doesn't support bf16(?:/(?P<device>\w{1,20}))?|[Bb]float16 is only supported on GPUs with compute capability"
        r"|does not support bfloat16|[Tt]ype bf16 is not supported|(?:BFloat16|bf16) is not supported on this device",
        more=(
            r"Your (?P<gpu_name>[\w -]{2,60}) GPU has compute capability (?P<compute_capability>\d{1,2}\.\d)",
        ),
        fields={"compute_capability": "float"},
    ),
    Pattern(
        "fp16_unsupported",
        "root_candidate",
        (
            "can only be used on CUDA",
            "not implemented for 'Half'",
            "ype fp16 is not supported",
            "fp16 is not supported on",
        ),
        r"FP16 [^.]{0,200}can only be used on CUDA|not implemented for 'Half'|[Tt]ype fp16 is not supported|fp16 is not supported on",
    ),
)

_DATA: tuple[Pattern, ...] = (
    # FastChat, LLaVA: the sample's loss is masked altogether
    Pattern(
        "tokenization_mismatch",
        "symptom",
        ("WARNING: tokenization mismatch",),
        r"WARNING: tokenization mismatch: (?P<counted>\d{1,9}) vs\. (?P<total>\d{1,9})",
        {"counted": "int", "total": "int"},
    ),
    Pattern(
        "empty_labels",
        "root_candidate",
        (" labels in your dataset are -100",),  # Unsloth
        r"(?P<share>All|Most) labels in your dataset are -100",
    ),
    Pattern(
        "empty_labels",
        "symptom",
        ("This instance will be ignored in loss calculation",),  # TRL
        r"Could not find .{0,4000}?This instance will be ignored in loss calculation",
    ),
    Pattern(
        "special_tokens_added",
        "info",
        ("Special tokens have been added in the vocabulary",),
        r"Special tokens have been added in the vocabulary, make sure the associated word embeddings are fine-tuned",
        once=True,
    ),
    Pattern(
        "sequence_too_long",
        "symptom",
        ("Token indices sequence length is longer than",),
        r"Token indices sequence length is longer than the specified maximum sequence length for this model \((?P<length>\d{1,12}) > (?P<maximum>\d{1,12})\)",
        {"length": "int", "maximum": "int"},
        once=True,
    ),
)

NUMERIC_PATTERNS = _LOSS_SCALE + _NONFINITE_STOPS + _LOCALISERS + _MISUSE + _DATA
