"""What the message of an exception that ended a run complains of, in sentences of ours in the words of many libraries."""

from __future__ import annotations

import pytest

from analyzer.detect.failures.exceptions import complaint

COMPLAINTS = {
    "setting": [
        "ValueError: `warmup_share` must be between 0 and 1, got 4.",
        "AssertionError: mean is not a supported optimizer for stage 3",
        "AssertionError: args.split_size % 4 == 0 and cfg.rows > 1",
        "ValueError: Only one of floor_lr or floor_lr_ratio should be set",
        "NotImplementedError: Unknown attention type: sideways",
        "AssertionError: --fuse-ranks is not compatible with --split-optimizer",
        "ValueError: SoftPromptConfig is not supported for reward training.",
        "AssertionError: --sharding-version 2 is not compatible with --use-split-optimizer",
        "KeyError: reward manager is not registered: name='acme'",
        "AssertionError: MODEL.BODY.DEFORM_ON unsupported for the small body",
        "acme.errors.ConfigurationError: invalid 'vocab_from' middle",
        "ValueError: Either provide an `eval_set` or disable `eval_every`.",
        "AssertionError: Invalid parallel dims: dp(2) * tp(3) != WORLD_SIZE(8)",
        "RuntimeError: world_size (2) is less than sequence_parallel_size 4",
        "ValueError: The output folder already exists. Use --overwrite to go on",
        "xgboost.core.XGBoostError: column sample by node is not yet supported by the exact tree_method",
    ],
    "version": [
        "ValueError: this model requires pytorch 2.0 or higher",
        "AssertionError: Requires torch>=1.4",
        "AssertionError: quarter loading requires peft >= 0.4.0",
        "AssertionError: Please upgrade to the version of acme with the new loader",
        "NotImplementedError: Support for `epoch_closed` has been removed in v2.0.0.",
        "ValueError: The device should not be 'ipu', since Acme is not compiled with IPU",
        "RuntimeError: The installed version of accelerate does not support this plan",
    ],
    "package": [
        "RuntimeError: Fused kernels are not installed.",
        "ValueError: You need to install acme-tables to load a pipeline in yaml format",
        "AssertionError: acme needs to be installed to use packed rows",
        "RuntimeError: fused_gate requires Triton.",
        "ValueError: Numbers are not read if scipy is not installed",
    ],
    "checkpoint": [
        "RuntimeError: Checkpoint payload does not contain the key 'body'.",
        "AssertionError: Optimizer state dict missing in the files of rank 0",
        "ValueError: The adapter weights in /runs/a/adapter.bin have missing keys: ['alpha']",
        "AssertionError: /runs/a value from checkpoint (24) is not equal to the argument value (32).",
        "KeyError: 'model_state_dict'",
        "Exception: Cannot load model parameters from checkpoint /runs/a/last.pt; please ensure that the architectures match.",
    ],
    "path": [
        "ValueError: No training images found in directory /data/flowers.",
        "RuntimeError: Found 0 files in subfolders of: /data/flowers",
        "AssertionError: Can't find a checkpoint",
        "ValueError: The root of the class pictures doesn't exists.",
        "AssertionError: os.path.exists(self.index_of_rows)",
        "AssertionError: self.folder.is_dir()",
        "ValueError: Vocab file does not exist: /data/words.txt.",
        "Exception: '/data/flowers' is not a directory.",
        "RuntimeError: Dataset not found. Set download=True to fetch it",
    ],
    "access": [
        "ValueError: API key not found. Set the variable ACME_KEY.",
        "ValueError: No HF token provided. Please provide a token",
        "ValueError: Invalid user token provided!",
        "acme.errors.DatasetNotFoundError: Dataset 'acme/words' is a gated dataset. You must be authenticated to see it.",
    ],
    "download": [
        "ValueError: Failed to download the weights. Status code: 503",
        "ConnectionError: Couldn't reach the Hugging Face Hub for dataset 'acme/words'",
    ],
    "service": [
        "ConnectionError: Failed to connect to Acme. Please check that Acme is downloaded, running and accessible.",
        "RuntimeError: the reward server is not responding",
        "ConnectionError: Error connecting to localhost:7411",
        "requests.exceptions.ConnectionError: HTTPConnectionPool(host='10.0.0.9', port=7411): Max retries exceeded with url: /roll",
    ],
    "tracker": ["ConnectionError: Visdom server not found", "RuntimeError: Connection to the tracking server failed"],
    "device": [
        "AssertionError: No CUDA device found",
        "SystemError: Cannot use fp16 without CUDA.",
        "ValueError: asked for 'hpu', but the HPU device is unavailable.",
        "RuntimeError: fused_moe_kernel requires CUDA, the accelerator is cpu.",
    ],
    "values": ["AssertionError: Images contains NaN values", "ValueError: Input X contains NaN."],
    "label": [
        "ValueError: Class label 16 greater than configured num_classes 8",
        "lightgbm.basic.LightGBMError: Label 7.0 is not less than the number of label mappings (2)",
    ],
    "samples": [
        "ValueError: Image features and image tokens do not match: tokens: 4, features 8",
        "acme.InvalidDatasetError: No valid examples found after filtering out long prompts",
        "AssertionError: input datasets should not be empty",
        "ValueError: Data cardinality is ambiguous: x sizes: 12, y sizes: 9",
        "ValueError: Found input variables with inconsistent numbers of samples: [12, 9]",
        "ValueError: All arrays must be of the same length",
        "ValueError: Length of values (12) does not match length of index (9)",
    ],
    "": [
        "ValueError: Invalid pad token provided: <blank>",
        "ValueError: wrong credentials in row 4 of the labels",
        "ValueError: the truth of this array is ambiguous",
        "ValueError: all tensors must be on the same device",
        "AssertionError: Data buffer should be empty at this moment",
        "AssertionError: not os.path.exists(out_folder)",
        "RuntimeError: node 3 is taken, contact the server administrators",
        "RuntimeError: ensure that you are running the converter first",
        "RuntimeError: tracking could not connect the boxes of row 8",
        "AssertionError: registry.exists(name)",
        "ValueError: Eighth precision needs GPUs with a higher compute capability",
        "CLIError: Invalid label filter 'x'",
        "ValueError: Expected a tensor of shape (8, 16), got (8, 12)",
        "AssertionError: expected len(outputs) == 8, got 2",
        "RuntimeError: The size of tensor a (560) must match the size of tensor b (140)",
        "ValueError: `attention_mask` must have the same length as `input_ids`",
        "NotImplementedError: `forward` must be overridden by the subclass",
        "TypeError: 'NoneType' object is not iterable",
        "ValueError: rows need at least 2 generations to compare",
        "ValueError: norm requires x.ndim >= 1",
        "torch.utils.checkpoint.CheckpointError: A different number of tensors was saved during the forward and recomputation.",
        "mlflow.exceptions.MlflowException: Changing the name of a logged value is not allowed.",
        "OSError: /runs/a is not a directory while creating the writer",
        "RuntimeError: the sum over /data/checkpoint/missing went wrong",
    ],
}  # fmt: skip


@pytest.mark.parametrize("word", COMPLAINTS)
def test_a_message_is_told_by_its_grammar(word):
    wrong = [line for line in COMPLAINTS[word] if (complaint(*line.split(": ", 1)) or "") != word]

    assert wrong == []


CLASSES = {
    "package": ["ModuleNotFoundError"],
    "path": ["FileNotFoundError", "NotADirectoryError"],
    "access": ["huggingface_hub.errors.GatedRepoError", "botocore.exceptions.NoCredentialsError"],
    "download": ["requests.exceptions.ConnectTimeout", "urllib3.exceptions.MaxRetryError", "urllib.error.URLError"],
    "record": ["PIL.UnidentifiedImageError", "json.decoder.JSONDecodeError", "pandas.errors.ParserError", "pyarrow.lib.ArrowInvalid"],
    "stored": ["_pickle.UnpicklingError", "safetensors_rust.SafetensorError", "zipfile.BadZipFile"],
    "tracker": ["wandb.errors.CommError", "mlflow.exceptions.MlflowException"],
    "encoding": ["UnicodeDecodeError"],
    "": ["yaml.parser.ParserError", "KeyError", "acme.errors.AcmeError", "importlib.metadata.PackageNotFoundError"],
}  # fmt: skip


@pytest.mark.parametrize("word", CLASSES)
def test_without_words_the_class_tells_where_it_is_raised_for_one_reason_alone(word):
    assert [kind for kind in CLASSES[word] if (complaint(kind, "") or "") != word] == []


def test_a_folder_may_bear_any_name():
    assert complaint("RuntimeError", "odd row in /data/no/checkpoint/missing/install") is None


def test_only_the_beginning_of_a_long_message_is_read():
    assert complaint("ValueError", "x " * 400 + "acme_mode must be one of 'a', 'b'") is None


def test_the_condition_of_an_assertion_speaks_of_a_setting_only_where_it_holds_one():
    assert complaint("AssertionError", "inputs.shape[1] == hidden_size") is None
    assert complaint("KeyError", "args.rows") is None
    assert complaint("ImportError", "Make sure to install acmeboard first") == "package"
