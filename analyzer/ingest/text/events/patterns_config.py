"""Lines about configuration: rejected arguments, checkpoints of another shape, batch arithmetic, credentials, caches."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

_CHECKPOINT_SHAPES: tuple[Pattern, ...] = (
    # Missing keys stand before unexpected ones and before shapes.
    Pattern(
        "state_dict_mismatch",
        "root_candidate",
        ("size mismatch for ", "Missing key(s) in state_dict", "Unexpected key(s) in state_dict"),
        r"size mismatch for (?P<parameter>\S{1,200}): .{0,80}torch\.Size\(\[(?P<stored>[\d, ]{1,80})\]\) from checkpoint, the shape in current model is torch\.Size\(\[(?P<wanted>[\d, ]{0,80})\]\)"
        r"|Missing key\(s\) in state_dict: \"?(?P<missing>[^\s\",]{0,200})|Unexpected key\(s\) in state_dict: \"?(?P<unexpected>[^\s\",]{0,200})",
        unless=r"torch\.Size\(\[0\]\) from checkpoint",
    ),
    # The same message broken over lines by a box of rich
    Pattern(
        "state_dict_mismatch",
        "root_candidate",
        ("current model is torch.Size([",),
        r"current model is torch\.Size\(\[(?P<wanted>[\d, ]{1,80})\]\)",
        unless=r"size mismatch for \S|from checkpoint, the shape in current model",
    ),
    # Distributed checkpoints of Megatron and of torch
    Pattern(
        "state_dict_mismatch",
        "root_candidate",
        ("Global shape mismatch for loaded (", "Size mismatch between saved torch.Size("),
        r"Global shape mismatch for loaded \(\((?P<stored>[\d, ]{1,80})\)\) and expected \(\((?P<wanted>[\d, ]{1,80})\)\) tensor for key (?P<parameter>\S{1,200})"
        r"|Size mismatch between saved torch\.Size\(\[(?P<saved>[\d, ]{0,80})\]\) and current: torch\.Size\(\[(?P<current>[\d, ]{0,80})\]\)",
    ),
    # The exception itself; the lines above follow it and name the weights.
    Pattern(
        "state_dict_rejected",
        "root_candidate",
        ("Error(s) in loading state_dict for",),
        r"Error\(s\) in loading state_dict for(?: (?P<module>\w{1,120})|\s*$)",
    ),
    # transformers 5 prints one row a weight: "lm_head.weight | MISMATCH | Reinit due to size mismatch - ckpt: torch.Size([100, 32]) vs model:torch.Size([120, 32])"
    Pattern(
        "state_dict_mismatch",
        "root_candidate",
        ("ckpt: torch.Size([",),
        r"(?:^|\s)(?P<parameter>[\w.{},*-]{1,200})\s{1,200}\|\s{0,8}\w{1,20}\s{0,200}\|.{0,80}ckpt: ?torch\.Size\(\[(?P<stored>[\d, ]{0,80})\]\) vs model: ?torch\.Size\(\[(?P<wanted>[\d, ]{0,80})\]\)",
    ),
    Pattern(
        "state_dict_mismatch",
        "root_candidate",
        ("loaded state dict has a different number of parameter groups", "loaded state dict contains a parameter group that doesn't match",
         "You set `ignore_mismatched_sizes` to `False`", "Trying to set a tensor of shape torch.Size", "Failed to match checkpoint state",
         "hanks for playing, but the checkpoint does not match"),
        r"(?P<what>loaded state dict has a different number of parameter groups|loaded state dict contains a parameter group that doesn't match the size of optimizer's group)"
        r"|You set `ignore_mismatched_sizes` to `False`"
        r"|Trying to set a tensor of shape torch\.Size\(\[(?P<stored>[\d, ]{0,80})\]\) in \"(?P<parameter>\w{1,60})\" \(which has shape torch\.Size\(\[(?P<wanted>[\d, ]{1,80})\]\)\)",
        unless=r"a tensor of shape torch\.Size\(\[0\]\)",
    ),
    # ZeRO-3 shards saved without gathering: every tensor of the file has no element
    Pattern(
        "empty_stored_weight",
        "root_candidate",
        ("torch.Size([0]) from checkpoint",),
        r"size mismatch for (?P<parameter>\S{1,200}): .{0,80}torch\.Size\(\[0\]\) from checkpoint",
    ),
)  # fmt: skip

_ARGUMENTS: tuple[Pattern, ...] = (
    # argparse, click, HfArgumentParser, enumerations
    Pattern(
        "argument_rejected",
        "root_candidate",
        (": error: ", "Some keys are not used by the HfArgumentParser", "Some specified arguments are not used by the HfArgumentParser",
         " is not a valid ", "Error: No such option", "Error: Invalid value for", "Error: Missing option"),
        r"^\S{1,200}: error: (?:unrecognized arguments: (?P<unknown>\S{1,120})|argument (?P<argument>\S{1,120}?): (?P<reason>.{1,160})|the following arguments are required: (?P<required>.{1,160})|ambiguous option: (?P<ambiguous>\S{1,120}))"
        r"|Some (?:keys|specified arguments) are not used by the HfArgumentParser: \[(?P<names>[^\]]{1,300})"
        r"|ValueError: '?(?P<value>[\w.-]{1,80})'? is not a valid (?P<kind_of_value>[A-Z]\w{2,60})"
        r"|^Error: (?:No such option|Invalid value for|Missing option):? (?P<option>.{1,120})",
    ),
    # omegaconf, hydra, pydantic, jsonargparse
    Pattern(
        "argument_rejected",
        "root_candidate",
        ("ConfigAttributeError", "ConfigKeyError", "omegaconf.errors.", "hydra.errors.", "Could not override '", "' is not in struct", "Missing mandatory value",
         " validation error for ", " validation errors for ", "error: Parser key ", "MisconfigurationException", "ConfigCompositionException"),
        r"omegaconf\.errors\.(?P<error>\w{1,60})|hydra\.errors\.(?P<hydra>\w{1,60})|^Could not override '(?P<argument>[^']{1,120})'|Key '(?P<key>[^']{1,80})' is not in struct"
        r"|Missing mandatory value: (?P<required>\S{1,120})|\d{1,4} validation errors? for (?P<model>\w{1,80})|error: Parser key \"?(?P<parser_key>[^\":]{1,120})|MisconfigurationException: (?P<reason>.{1,160})",
    ),
    # constructors of configurations: a keyword that this version does not know, a check of values
    Pattern(
        "argument_rejected",
        "root_candidate",
        ("got an unexpected keyword argument '", "--load_best_model_at_end requires", "Please check whether the value of `", " registry'", " registry!",
         "DeepSpeedConfigError", "ConfigError: ", "yaml.scanner.ScannerError", "yaml.parser.ParserError", "TOMLDecodeError"),
        r"\b(?P<model>\w{0,60}(?:Arguments|Config|Args))\.__init__\(\) got an unexpected keyword argument '(?P<unknown>\w{1,80})'"
        r"|(?P<argument>--load_best_model_at_end) requires|'(?P<value>[^']{1,80}?) is not in the (?P<registry>[\w:]{1,60}(?: \w{1,40})?) registry|No object named '(?P<object>[^']{1,80})' found in '(?P<registered_in>[^']{1,60})' registry!"
        r"|(?:DeepSpeedConfigError|ConfigError): (?P<reason>.{1,160})|yaml\.(?:scanner\.ScannerError|parser\.ParserError)|TOMLDecodeError",
    ),
    Pattern(
        "argument_rejected",
        "root_candidate",
        ("Precision '", "No supported gpu backend found", "`Trainer(", "You selected an invalid ", "Unknown accelerator type"),
        r"Precision '(?P<value>[^']{1,40})' is invalid|You selected an invalid (?P<argument>\w{1,40}) name|No supported gpu backend found|You set `(?P<set>[\w=]{1,60})` .{0,60}not supported",
    ),
    # DeepSpeed: train_batch_size = micro batch * accumulation * ranks
    Pattern(
        "deepspeed_batch_mismatch",
        "root_candidate",
        ("Check batch related parameters", "DeepSpeed config values that mismatch TrainingArguments", "has to be greater than 0",
         "set these DeepSpeed config values to 'auto'", "Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided"),
        r"Check batch related parameters|correct the following DeepSpeed config values that mismatch TrainingArguments|set these DeepSpeed config values to 'auto'"
        r"|(?:Train batch size|Micro batch size per gpu|Gradient accumulation steps): (?P<value>-?\d{1,9}|auto|None) has to be greater than 0"
        r"|Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided",
        {"train": "int", "micro": "int", "accumulation": "int", "world": "int"},
        more=(r"world_size ?(?P<train>\d{1,9}) != (?P<micro>\d{1,9}) \* (?P<accumulation>\d{1,9}) \* (?P<world>\d{1,9})",),
    ),
    # HF Trainer's list of the same: "- ds train_micro_batch_size_per_gpu=4 vs hf per_device_train_batch_size=2"
    Pattern(
        "deepspeed_batch_mismatch",
        "root_candidate",
        (" vs hf ",),
        r"^\s{0,8}- ds (?P<key>[\w.]{1,80})=(?P<deepspeed_value>\S{1,40}) vs hf (?P<trainer_key>[\w. ()]{1,80})=(?P<trainer_value>\S{1,40})",
    ),
    # A key that is read by nobody, and the program says so and goes on
    Pattern(
        "config_key_unused",
        "info",
        ("unused key", "Unused key", "unknown key", "Unknown key", "will be ignored", "is not used by", "are not used by", "has no effect",
         "Unrecognized key", "nrecognized config", "Unexpected key in config", "not expected by `", "not recognized and will be ignored"),
        r"(?i)(?:unused|unknown|unrecognized|unexpected) (?:config(?:uration)? )?keys?(?: in (?:the )?config\w{0,10})?[:=] ?\[?['\"`]?(?P<key>[A-Za-z_][\w.-]{1,80})"
        r"|config(?:uration)? (?:attributes|keys|key|option|entry) (?:\{)?['\"`](?P<option>[\w.-]{1,80})['\"`].{0,80}(?:not expected by|will be ignored|is not used|has no effect)"
        r"|(?:argument|parameter|flag|option|setting) ['\"`](?P<argument>[\w.-]{2,80})['\"`] (?:is (?:unknown|deprecated) and )?(?:will be ignored|is ignored|is not used|has no effect)",
        once=True,
    ),
    Pattern(
        "adapter_keys_missing",
        "symptom",
        ("Found missing adapter keys while loading the checkpoint", "not found in the base model. Please check the target modules",
         "No modules were targeted for adaptation"),
        r"Found missing adapter keys while loading the checkpoint|Target modules (?P<modules>.{1,120}?) not found in the base model|No modules were targeted for adaptation",
    ),
    Pattern(
        "tied_weights_warning",
        "info",
        ("tie_word_embeddings=True` and the", "tied_target_modules", "model weights are not tied", "`tie_weights` method before", "ensure_weight_tying"),
        r"tie_word_embeddings=True` and the|model weights are not tied|`tie_weights` method before|ensure_weight_tying",
        once=True,
    ),
)  # fmt: skip

_ACCESS: tuple[Pattern, ...] = (
    Pattern(
        "access_denied",
        "root_candidate",
        ("GatedRepoError", "You are trying to access a gated repo", "Cannot access gated repo", "401 Client Error", "403 Client Error",
         "LocalTokenNotFoundError", "Invalid user token", "Token is required", "Invalid credentials in Authorization header"),
        r"(?P<what>GatedRepoError|You are trying to access a gated repo|Cannot access gated repo|LocalTokenNotFoundError|Invalid user token|Invalid credentials in Authorization header)"
        r"|(?P<status>40[13]) Client Error|Token is required (?:\(|but)",
        {"status": "int"},
        more=(r"huggingface\.co/(?:api/\w{1,12}/|datasets/)?(?P<repository>[\w.-]{1,96}/[\w.-]{1,96})",),
        unless=r"(?i)api\.wandb\.ai|\bretry|\bwarning\b",
    ),
    Pattern(
        "access_denied",
        "root_candidate",
        ("api_key not configured (no-tty)", "API key not configured", "No API key configured", "user is not logged in", "permission denied to log in",
         "AccessDenied) when calling", "InvalidAccessKeyId", "NoCredentialsError", "Unable to locate credentials", "ExpiredToken", "SignatureDoesNotMatch",
         "DefaultCredentialsError"),
        r"(?P<what>api_key not configured \(no-tty\)|No API key configured|API key not configured|AccessDenied\) when calling|InvalidAccessKeyId|NoCredentialsError"
        r"|Unable to locate credentials|ExpiredToken\w{0,10}|SignatureDoesNotMatch|DefaultCredentialsError)|wandb: ERROR .{0,40}(?P<wandb>permission denied to log in|user is not logged in)",
    ),
    Pattern(
        "hub_repository_unknown",
        "root_candidate",
        ("is not a local folder and is not a valid model identifier", "RepositoryNotFoundError", "Repository Not Found for url", "RevisionNotFoundError",
         "doesn't exist on the Hub or cannot be accessed"),
        r"(?P<repository>\S{1,200}) is not a local folder and is not a valid model identifier|RepositoryNotFoundError|Repository Not Found for url|RevisionNotFoundError"
        r"|(?:Dataset|dataset) '(?P<dataset>[^']{1,160})' doesn't exist on the Hub or cannot be accessed",
    ),
    Pattern(
        "offline_cache_miss",
        "root_candidate",
        ("LocalEntryNotFoundError", "OfflineModeIsEnabled", "OfflineModeEnabled", "outgoing traffic has been disabled", "outgoing traffic is disabled",
         "We couldn't connect to 'https://", "couldn't find them in the cached files", "couldn't find it in the cached files", "' on the Hub (", "Couldn't reach http",
         "Cannot reach https://huggingface.co"),
        r"(?P<what>LocalEntryNotFoundError|OfflineMode(?:Is)?Enabled|outgoing traffic (?:has been|is) disabled|We couldn't connect to 'https?://|couldn't find (?:them|it) in the cached files"
        r"|Couldn't reach (?:http|'[^']{1,160}' on the Hub)|Cannot reach https://huggingface\.co)",
        more=(r"Couldn't reach '(?P<repository>[^']{1,160})'",),
    ),
    Pattern(
        "hub_unreachable",
        "root_candidate",
        ("HTTPSConnectionPool(host='huggingface.co'", "HTTPSConnectionPool(host='cdn-lfs", "HTTPSConnectionPool(host='hf-mirror", "HTTPSConnectionPool(host='pypi.org'",
         "HTTPSConnectionPool(host='download.pytorch.org'", "HTTPSConnectionPool(host='www.modelscope", "resolve 'huggingface.co'", "MaxRetryError('HTTPSConnectionPool(host='",
         "URLError: <urlopen error", "ProxyError("),
        r"HTTPSConnectionPool\(host='(?P<host>(?:huggingface\.co|cdn-lfs[\w.-]{0,60}|hf-mirror[\w.-]{0,20}|pypi\.org|download\.pytorch\.org|www\.modelscope[\w.]{0,8}))'.{0,300}?(?P<what>Read timed out|Max retries exceeded|NewConnectionError|NameResolutionError|ProxyError|ConnectTimeoutError)"
        r"|resolve 'huggingface\.co'|URLError: <urlopen error (?P<reason>[^>]{1,120})|(?:requests\.exceptions|urllib3\.exceptions|httpx)\.ProxyError",
        unless=r"(?i)\bretry(?:ing)?\b|^\S{0,40}warning",
    ),
)  # fmt: skip

CONFIG_PATTERNS = _CHECKPOINT_SHAPES + _ARGUMENTS + _ACCESS
