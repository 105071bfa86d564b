"""Lines about data: records that cannot be read, batches that cannot be built, tokenizers, starting weights."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import NUMBER, Pattern

_NO_LENGTH = (
    r"\((?:640|768|896|960|1152|1280|1408|1536|1664|1792|1920|2304|2560|2816|3072|3584|4608|5120|6144)\) must match"
    r"|\((?:[1-4]?\d?\d|50\d|51[0-2])\) must match the (?:existing size|size of tensor b) \(51[24]\)"
    r"|\((?:\d{1,3}|10[01]\d|102[0-4])\) must match the size of tensor b \(1024\)"
    r"|\((?:\d{1,3}|1\d{3}|20[0-3]\d|204[0-8])\) must match the size of tensor b \(2048\)"
)
"""Widths of layers, two of which only tell that two models differ, and samples that are shorter than the table."""

_DECODING: tuple[Pattern, ...] = (
    Pattern(
        "record_undecodable",
        "root_candidate",
        (
            "cannot identify image file",
            "image file is truncated",
            "broken data stream when reading image",
            "unrecognized data stream contents when reading",
            "broken PNG file",
            "imdecode_",
            "Not a JPEG file: starts with",
            "Input is not a valid JPEG",
            "libpng error: ",
        ),
        r"(?P<what>cannot identify image file|image file is truncated|(?:broken|unrecognized) data stream (?:contents )?when reading image"
        r"|broken PNG file|imdecode_|Not a JPEG file: starts with|Input is not a valid JPEG|libpng error: )",
        more=(r"cannot identify image file '(?P<file>[^']{1,300})'",),
    ),
    # cv2.imread returns nothing where it cannot read, and the next call refuses it:
    # such as: error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'
    Pattern(
        "record_undecodable",
        "root_candidate",
        ("src.empty() in function", "ssize.empty() in function"),
        r"error: \(-215:Assertion failed\) !_?s(?:rc|size)(?P<what>\.empty\(\)) in function",
        words={"what": {".empty()": "OpenCV got no picture"}},
    ),
    Pattern(
        "record_undecodable",
        "root_candidate",
        (
            "UnicodeDecodeError: ",
            "JSONDecodeError: ",
            "JSON parse error: ",
            "CSV parse error: ",
            "Error tokenizing data. C error",
            "Failed to load JSON from file",
        ),
        r"(?P<what>UnicodeDecodeError|JSONDecodeError|JSON parse error|CSV parse error|Error tokenizing data|Failed to load JSON from file)",
        more=(r"JSON from file '(?P<file>[^']{1,300})'", r"in position (?P<position>\d{1,15})"),
        fields={"position": "int"},
    ),
    Pattern(
        "record_undecodable",
        "root_candidate",
        (
            "zlib.error: ",
            "Error -3 while decompressing",
            "BadGzipFile",
            "Compressed file ended before the end-of-stream",
            "tarfile.ReadError",
            "BadZipFile: ",
            "Parquet magic bytes not found",
            "Failed to read file '",
            "ould not open Parquet input source",
            "LZMAError: ",
            "ZstdError: ",
            "Snappy decompression failed",
        ),
        r"(?P<what>zlib\.error|Error -3 while decompressing|BadGzipFile|Compressed file ended before the end-of-stream|tarfile\.ReadError"
        r"|BadZipFile|Parquet magic bytes not found|Failed to read file|ould not open Parquet input source|LZMAError|ZstdError"
        r"|Snappy decompression failed)",
        more=(r"Failed to read file '(?P<file>[^']{1,300})'",),
    ),
    Pattern(
        "record_undecodable",
        "root_candidate",
        (
            "moov atom not found",
            "Invalid data found when processing input",
            "Error opening <_io.",
            "LibsndfileError",
            "DECORDError",
            "Cannot find video stream",
            'Failed to open the input "',
            "EBML header parsing failed",
        ),
        r"(?P<what>moov atom not found|Invalid data found when processing input|LibsndfileError|DECORDError|Cannot find video stream"
        r"|Failed to open the input \"|EBML header parsing failed|Error opening <_io\.)",
    ),
    Pattern(
        "record_undecodable",
        "root_candidate",
        (
            "MDB_CORRUPTED",
            "MDB_PAGE_NOTFOUND",
            "lmdb.CorruptedError",
            "(truncated file: eof",
            "inflate() failed",
            "file signature not found",
            "corrupted record at ",
            "truncated record at ",
            "Corrupted TFRecord",
        ),
        r"(?P<what>MDB_CORRUPTED|MDB_PAGE_NOTFOUND|lmdb\.CorruptedError|truncated file: eof|inflate\(\) failed|file signature not found"
        r"|(?:corrupted|truncated) record at (?P<offset>\d{1,18})|Corrupted TFRecord)",
        {"offset": "int"},
    ),
    # what a decoder says of a file that it can read nevertheless
    Pattern(
        "decoder_warning",
        "info",
        ("Corrupt JPEG data", "Corrupt EXIF data", "libpng warning: ", "Possibly corrupt EXIF data"),
        r"Corrupt JPEG data|orrupt EXIF data|libpng warning: ",
        once=True,
    ),
    Pattern(
        "dataset_generation_failed",
        "symptom",
        ("An error occurred while generating the dataset", "DatasetGenerationError", "DatasetGenerationCastError"),
        r"(?P<what>DatasetGeneration(?:Cast)?Error|An error occurred while generating the dataset)",
    ),
)  # fmt: skip

_BATCHES: tuple[Pattern, ...] = (
    Pattern(
        "batchnorm_single_value",
        "root_candidate",
        ("Expected more than 1 value per channel",),
        r"Expected more than 1 value per channel when training, got input size (?:torch\.Size\()?\[(?P<size>[\d, ]{1,80})\]",
    ),
    Pattern(
        "collate_failed",
        "root_candidate",
        (
            "stack expects each tensor to be equal size",
            "each element in list of batch should be of equal size",
            "batch must contain tensors, numpy arrays",
            "Trying to resize storage that is not resizable",
            "Unable to create tensor, you should probably activate",
            "expected sequence of length ",
            "all input arrays must have the same shape",
        ),
        r"(?P<what>stack expects each tensor to be equal size|each element in list of batch should be of equal size|batch must contain tensors, numpy arrays"
        r"|Trying to resize storage that is not resizable|Unable to create tensor, you should probably activate|expected sequence of length \d{1,9} at dim"
        r"|all input arrays must have the same shape)",
        more=(
            r"but got \[(?P<first_shape>[\d, ]{0,60})\] at entry \d{1,6} and \[(?P<second_shape>[\d, ]{0,60})\] at entry (?P<entry>\d{1,6})",
            r"found <class '(?P<found>[\w.]{1,80})'>",
        ),
        fields={"entry": "int"},
    ),
    Pattern(
        "empty_dataset",
        "root_candidate",
        (
            "but got num_samples=0",
            "not to be a single sample in your epoch_iterator",
            "No images found in ",
            "Dataset is empty",
            "dataset is empty",
            "Found 0 files in subfolders",
            "No data found. Please verify arguments",
        ),
        r"(?P<what>but got num_samples=0|not to be a single sample in your epoch_iterator|No images found in |(?<!not a )\b[Dd]ataset is empty"
        r"|Found 0 files in subfolders|No data found\. Please verify arguments)",
        unless=r"(?i)\bif\b.{0,40}dataset is empty",
    ),
    Pattern(
        "degenerate_sample",
        "root_candidate",
        (
            "Length of all samples has to be greater than 0",
            "non-zero size for reduction operation",
            "Expected reduction dim to be specified for input.numel() == 0",
            "has to be smaller than `sequence_length`",
            "Kernel size can't be greater than actual input size",
            "cannot reshape tensor of 0 elements",
            "Padding size should be less than the corresponding input dimension",
            "to have non-zero size.",
            "zero-size array to reduction operation",
            "array of sample points is empty",
        ),
        r"(?P<what>Length of all samples has to be greater than 0|Expected reduction dim[^.]{0,60}(?:non-zero size|input\.numel\(\) == 0)"
        r"|`?mask_length`? has to be smaller than `sequence_length`|Kernel size can't be greater than actual input size|cannot reshape tensor of 0 elements"
        r"|Padding size should be less than the corresponding input dimension|zero-size array to reduction operation|array of sample points is empty)",
        more=(r"Calculated padded input size per channel: \((?P<input_size>[\d x]{1,40})\)",),
    ),
    # torch: a standard deviation over one value is NaN, and the message is only a warning
    Pattern(
        "degrees_of_freedom",
        "symptom",
        ("degrees of freedom is <= 0", "Degrees of freedom <= 0 for slice"),
        r"degrees of freedom is <= 0|Degrees of freedom <= 0 for slice",
    ),
    Pattern(
        "short_samples_skipped",
        "info",
        (" samples have invalid sizes and will be skipped",),
        r"(?P<count>[\d,]{1,15}) samples have invalid sizes and will be skipped",
        {"count": "int"},
        more=(r"max_positions=(?P<max_positions>\(?[\d, ]{1,40}\)?)",),
    ),
    # scikit-learn: a class that the model never predicts
    Pattern(
        "class_never_predicted",
        "symptom",
        (" in labels with no predicted samples", " due to no predicted samples"),
        r"(?P<score>Precision|F-score)\S{0,20}(?: and F-score are| is) ill-defined and being set to 0\.0 (?:in labels with|due to) no predicted samples",
    ),
    # scikit-learn's report, a row of a class that has samples and is never found: "   1   0.00   0.00   0.00   18"
    Pattern(
        "class_never_found",
        "symptom",
        ("0.00      0.00      0.00 ",),
        r"^\s{1,80}(?P<label>\S[^.]{0,60}?)\s{1,60}0\.00 {6}0\.00 {6}0\.00\s{1,12}(?P<support>[1-9]\d{0,12})\s{0,4}$",
        {"support": "int"},
    ),
    Pattern(
        "images_rescaled_twice",
        "symptom",
        ("trying to rescale already rescaled images",),
        r"trying to rescale already rescaled images",
    ),
    # what a loop prints of the batch that the model receives: "input min 0.0 max 255.0 mean 121.3"
    Pattern(
        "input_range",
        "info",
        ("nput min", "mage min", "atch min", "ixel_values min", "nput range", "ixel range", "x.min()", "nputs min"),
        rf"\b(?:[Ii]nputs?|[Ii]mages?|[Bb]atch|pixel_values|[Pp]ixels?|x)[ ._](?:range|min)(?:\(\))?[ :=\[(]{{1,3}}(?P<low>{NUMBER})[\]) ,;]{{1,3}}"
        rf"(?:(?:x\.)?max(?:\(\))?[ :=\[(]{{1,3}})?(?P<high>{NUMBER})",
        {"low": "float", "high": "float"},
    ),
    # fairseq-preprocess: "[de] train.de: 160239 sents, 4035591 tokens, 62.3% replaced by <unk>"
    Pattern(
        "unknown_tokens",
        "info",
        ("% replaced by",),
        r"(?P<tokens>\d{1,15}) tokens, (?P<percent>\d{1,3}(?:\.\d{1,6})?)% replaced by:? <?unk",
        {"tokens": "int", "percent": "float"},
    ),
    # home-made statistics write "padding ratio 0.83" or "padding tokens: 83.1%"
    Pattern(
        "padding_share",
        "info",
        ("adding ratio", "adding fraction", "adding share", "pad ratio", "pad fraction", "pad_ratio", "padding_ratio", "adding tokens: "),
        r"\b[Pp]ad(?:ding)?[ _](?:tokens? )?(?:ratio|fraction|share|tokens)[ :=]{1,3}(?P<share>\d{1,3}(?:\.\d{1,8})?)(?P<unit>%?)",
        {"share": "float"},
    ),
)  # fmt: skip

_TOKENIZERS: tuple[Pattern, ...] = (
    Pattern(
        "pad_token_missing",
        "root_candidate",
        (
            "Asking to pad but the tokenizer does not have a padding token",
            "if no padding token is defined",
            "Padding is enabled but the tokenizer is not configured with a padding token",
        ),
        r"Asking to pad but the tokenizer does not have a padding token|Cannot handle batch sizes > 1 if no padding token is defined"
        r"|tokenizer is not configured with a padding token",
    ),
    Pattern(
        "pad_token_is_eos",
        "info",
        (
            "because pad token is same as eos token",
            "`pad_token_id` to `eos_token_id`",
            "pad_token_id and eos_token_id are the same",
            "pad_token_id` and `eos_token_id` values of this tokenizer are identical",
        ),
        r"because pad token is same as eos token|`pad_token_id` to `eos_token_id`|pad_token_id`? and `?eos_token_id`?[\w ]{0,40}(?:same|identical)",
        once=True,
    ),
    # "Labels' sequence length 500 cannot exceed the maximum allowed length of 448 tokens", GPT of Karpathy, CLIP
    Pattern(
        "position_limit_exceeded",
        "root_candidate",
        (
            "cannot exceed the maximum allowed length of",
            "annot forward sequence of length ",
            "must be less than max_position_embeddings (got",
            "exceeds max_seq_len",
            "exceeds maximum sequence length",
            "exceeds the maximum sequence length",
            "is longer than the maximum position",
            "since max_positions=",
        ),
        r"sequence length (?P<length>\d{1,9}) cannot exceed the maximum allowed length of (?P<maximum>\d{1,9})"
        r"|annot forward sequence of length (?P<length_gpt>\d{1,9}), block size is only \d{1,9}"
        r"|must be less than max_position_embeddings \(got|exceeds (?:the )?max(?:imum sequence length|_seq_len)|is longer than the maximum position"
        r"|size of sample #\d{1,12} is invalid .{0,80}since max_positions=",
        {"length": "int", "maximum": "int", "length_gpt": "int"},
    ),
    # BERT and its kin add a table of fixed length to the embeddings
    Pattern(
        "position_size_mismatch",
        "root_candidate",
        (
            "must match the size of tensor b (512) at non-singleton dimension 1",
            "must match the existing size (512) at non-singleton dimension 1",
            "must match the existing size (514) at non-singleton dimension 1",
            "must match the size of tensor b (514) at non-singleton dimension 1",
            "must match the size of tensor b (1024) at non-singleton dimension 1",
            "must match the size of tensor b (77) at non-singleton dimension 1",
            "must match the size of tensor b (2048) at non-singleton dimension 1",
            "must match the size of tensor b (448) at non-singleton dimension 1",
        ),
        # 77 is the limit of CLIP, 448 that of Whisper's text
        r"size of (?:the )?tensor a? ?\(?(?P<length>\d{1,9})\) must match the (?:size of tensor b|existing size) \((?P<maximum>\d{2,6})\) at non-singleton dimension 1",
        {"length": "int", "maximum": "int"},
        unless=_NO_LENGTH,
    ),
    Pattern(
        "chat_template_missing",
        "root_candidate",
        (
            "tokenizer.chat_template is not set and no template",
            "o chat template is defined for this tokenizer",
            "does not have a chat template",
        ),
        r"tokenizer\.chat_template is not set and no template|o chat template is defined for this tokenizer|does not have a chat template",
    ),
    Pattern(
        "chat_template_rejects",
        "root_candidate",
        (
            "onversation roles must alternate",
            "TemplateError: ",
            "Only user and assistant roles are supported",
            "ystem role not supported",
        ),
        r"onversation roles must alternate|jinja2\.exceptions\.TemplateError: (?P<message>.{1,120})|Only user and assistant roles are supported|ystem role not supported",
    ),
    Pattern(
        "assistant_mask_missing",
        "symptom",
        (
            "chat template does not contain `{% generation %}`",
            "does not contain `{% generation %}` keyword",
            "at least one example has no assistant tokens",
            "Mismatch between tokenized prompt and the start of tokenized prompt",
        ),
        r"does not contain `\{% generation %\}`|at least one example has no assistant tokens|Mismatch between tokenized prompt and the start of tokenized prompt",
    ),
)

_SOURCES: tuple[Pattern, ...] = (
    Pattern(
        "dataset_changed",
        "root_candidate",
        (
            "NonMatchingSplitsSizesError",
            "NonMatchingChecksumError",
            "ExpectedMoreSplits",
            "UnexpectedSplits",
            "NonMatchingSizesError",
            "Checksums didn't match for dataset source files",
        ),
        r"(?P<what>NonMatchingSplitsSizesError|NonMatchingChecksumError|ExpectedMoreSplits\w{0,10}|UnexpectedSplits\w{0,10}|Checksums didn't match for dataset source files)",
    ),
    Pattern(
        "dataset_from_cache",
        "symptom",
        ("Using the latest cached version of the dataset since", "Using the latest cached version of the module from"),
        r"Using the latest cached version of the (?:dataset since (?P<dataset>\S{1,200}) couldn't be found|module from)",
        once=True,
    ),
    Pattern(
        "dataset_unhashable",
        "info",
        ("couldn't be hashed properly, a random hash was used",),
        r"couldn't be hashed properly, a random hash was used",
        once=True,
    ),
    Pattern(
        "loader_not_resumable",
        "symptom",
        (
            "not resumable. This can cause unreliable results",
            "your dataloader is not resumable",
            "sampler state is not restored",
            "ould not restore the state of the dataloader",
            "ould not restore the sampler",
        ),
        r"not resumable\. This can cause unreliable results|dataloader is not resumable|sampler state is not restored|ould not restore the (?:state of the dataloader|sampler)",
        once=True,
    ),
    # transformers 4: the names stand in one list; transformers 5: one row of a table each, "name | MISSING |"
    Pattern(
        "weights_newly_initialized",
        "info",
        ("and are newly initialized: ", "and are newly initialized because the shapes did not match", "| MISSING "),
        r"and are newly initialized(?: because the shapes did not match)?: ?\[?(?P<names>[^\]]{0,4000})|^\s{0,8}(?P<row>[\w.{},\[\]*-]{1,300}?)\s{1,200}\| MISSING ",
    ),
)  # fmt: skip

_NUMBERS: tuple[Pattern, ...] = (
    # kohya's scripts, and the web UI's NansException
    Pattern(
        "latents_nan",
        "root_candidate",
        ("NaN detected in latents", "all NaNs was produced in VAE"),
        r"NaN detected in latents(?:(?: of|:) (?P<file>\S.{0,300}))?|all NaNs was produced in VAE",
    ),
    # environment of an Ascend NPU, as a shell or a dump prints it
    Pattern(
        "npu_saturation",
        "symptom",
        ("INF_NAN_MODE_ENABLE", "INF_NAN_MODE_FORCE_DISABLE"),
        r"INF_NAN_MODE_ENABLE['\"]?\s?[=:]\s?['\"]?0\b|INF_NAN_MODE_FORCE_DISABLE['\"]?\s?[=:]\s?['\"]?1\b",
        once=True,
    ),
    # TRL's former PPO trainer
    Pattern(
        "negative_kl",
        "symptom",
        ("KL divergence is starting to become negative",),
        rf"KL divergence is starting to become negative: (?P<value>{NUMBER})",
        {"value": "float"},
    ),
)

DATA_PATTERNS = _DECODING + _BATCHES + _TOKENIZERS + _SOURCES + _NUMBERS
