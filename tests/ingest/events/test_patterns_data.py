"""Lines about data, tokenizers and starting weights, in the words of the libraries that print them."""

import pytest
from log_reading import read_text

LINES = [
    ("record_undecodable", {"what": "cannot identify image file"}, "PIL.UnidentifiedImageError: cannot identify image file <_io.BytesIO object at 0x7f00>"),
    ("record_undecodable", {"file": "/data/a.jpg"}, "PIL.UnidentifiedImageError: cannot identify image file '/data/a.jpg'"),
    ("record_undecodable", {}, "EOFError: No data left in file"),
    ("record_undecodable", {}, " No data left in file"),
    ("nan_stop", {}, "InvalidArgumentError: Infinity in summary histogram for: tower/beta_1"),
    ("cuda_oom", {}, "     Allocation type: HLO temp"),
    ("pod_restarting", {"container": "trainer"}, "waiting message: back-off 20s restarting failed container=trainer pod=acme-0"),
    ("record_undecodable", {}, "OSError: image file is truncated (8 bytes not processed)"),
    ("record_undecodable", {"position": 17}, "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 17: invalid start byte"),
    ("record_undecodable", {}, "json.decoder.JSONDecodeError: Expecting ',' delimiter: line 1 column 21 (char 20)"),
    ("record_undecodable", {}, "pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file."),
    ("record_undecodable", {"what": "tarfile.ReadError"}, "tarfile.ReadError: unexpected end of data"),
    ("record_undecodable", {}, "zlib.error: Error -3 while decompressing data: invalid block type"),
    ("record_undecodable", {}, "lmdb.CorruptedError: mdb_get: MDB_CORRUPTED: Located page was wrong type"),
    ("record_undecodable", {}, "OSError: Unable to synchronously open file (truncated file: eof = 96, sblock->base_addr = 0, stored_eof = 2048)"),
    ("record_undecodable", {"offset": 7412}, "tensorflow.errors_impl.DataLossError: corrupted record at 7412"),
    ("decoder_warning", {}, "Corrupt JPEG data: 12 extraneous bytes before marker 0xd9"),
    ("batchnorm_single_value", {"size": "1, 512, 1, 1"},
     "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 512, 1, 1])"),
    ("batchnorm_single_value", {"size": "1, 256"}, "ValueError: Expected more than 1 value per channel when training, got input size [1, 256]"),
    ("collate_failed", {"first_shape": "3, 480", "second_shape": "3, 481", "entry": 2},
     "RuntimeError: stack expects each tensor to be equal size, but got [3, 480] at entry 0 and [3, 481] at entry 2"),
    ("collate_failed", {"found": "NoneType"},
     "TypeError: default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'NoneType'>"),
    ("empty_dataset", {}, "ValueError: num_samples should be a positive integer value, but got num_samples=0"),
    ("empty_dataset", {}, "There seems not to be a single sample in your epoch_iterator, stopping training at step 0!"),
    ("degenerate_sample", {}, "RuntimeError: Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"),
    ("degenerate_sample", {"input_size": "1"},
     "RuntimeError: Calculated padded input size per channel: (1). Kernel size: (10). Kernel size can't be greater than actual input size"),
    ("degrees_of_freedom", {}, "UserWarning: std(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor"),
    ("short_samples_skipped", {"samples": 1234}, "WARNING | 1,234 samples have invalid sizes and will be skipped, max_positions=(1024, 1024), first few sample ids=[1]"),
    ("class_never_predicted", {"score": "Precision"},
     "UndefinedMetricWarning: Precision is ill-defined and being set to 0.0 in labels with no predicted samples. Use `zero_division` parameter"),
    ("class_never_found", {"label": "1", "support": 18}, "           1       0.00      0.00      0.00        18"),
    ("images_rescaled_twice", {}, "It looks like you are trying to rescale already rescaled images. If the input images have pixel values between 0 and 1"),
    ("input_range", {"low": 0.0, "high": 255.0}, "batch min 0.0 max 255.0 mean 121.3"),
    ("unknown_tokens", {"percent": 62.3}, "[de] train.de: 160239 sents, 4035591 tokens, 62.3% replaced by <unk>"),
    ("padding_share", {"share": 83.1, "unit": "%"}, "padding fraction: 83.1%"),
    ("pad_token_missing", {}, "ValueError: Asking to pad but the tokenizer does not have a padding token. Please select a token to use"),
    ("pad_token_missing", {}, "ValueError: Cannot handle batch sizes > 1 if no padding token is defined."),
    ("pad_token_is_eos", {}, "Setting `pad_token_id` to `eos_token_id`:50256 for open-end generation."),
    ("position_size_mismatch", {"length": 716, "maximum": 512}, "RuntimeError: The size of tensor a (716) must match the size of tensor b (512) at non-singleton dimension 1"),
    ("position_size_mismatch", {"length": 700, "maximum": 512},
     "RuntimeError: The expanded size of the tensor (700) must match the existing size (512) at non-singleton dimension 1.  Target sizes: [1, 700]."),
    ("position_limit_exceeded", {"length": 500, "maximum": 448}, "ValueError: Labels' sequence length 500 cannot exceed the maximum allowed length of 448 tokens."),
    ("position_limit_exceeded", {}, "AssertionError: Cannot forward sequence of length 2048, block size is only 1024"),
    ("chat_template_missing", {}, "ValueError: Cannot use chat template functions because tokenizer.chat_template is not set and no template argument was passed!"),
    ("chat_template_rejects", {}, "jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/..."),
    ("dataset_changed", {}, "datasets.exceptions.NonMatchingSplitsSizesError: [{'expected': SplitInfo(name='train')}]"),
    ("dataset_from_cache", {"dataset": "squad"}, "Using the latest cached version of the dataset since squad couldn't be found on the Hugging Face Hub"),
    ("loader_not_resumable", {}, "your dataloader is not resumable. This can cause unreliable results if further training is done."),
    ("weights_newly_initialized", {"row": "bert.encoder.layer.1.output.dense.bias"}, "bert.encoder.layer.1.output.dense.bias                 | MISSING | "),
    ("latents_nan", {"file": "/data/img/a b.png"}, "RuntimeError: NaN detected in latents: /data/img/a b.png"),
    ("npu_saturation", {}, "export INF_NAN_MODE_ENABLE=0"),
    ("negative_kl", {"value": -5.27}, "UserWarning: KL divergence is starting to become negative: -5.27 - this might be a precursor for failed training."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fields", "line"), LINES, ids=[f"{kind}-{i}" for i, (kind, _, _) in enumerate(LINES)]
)
def test_a_line_is_recognised_with_its_fields(kind, fields, line):
    run = read_text(line + "\n")

    found = [event for event in run.events if event.kind == kind]
    assert found, [event.kind for event in run.events]
    assert {name: found[0].fields.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    "line",
    [
        "export INF_NAN_MODE_ENABLE=1",
        "if the dataset is empty, training stops at once",
        "Total length of `DataLoader` across ranks is zero. Please make sure this was your intention.",
        "The size of tensor a (716) must match the size of tensor b (300) at non-singleton dimension 1",
        "saving 3 samples, 0 tokens, 12% done",
        "           2       0.00      0.00      0.00         9",  # so few may all be missed by chance
    ],
)
def test_lines_that_only_resemble_them_are_left_alone(line):
    kinds = {event.kind for event in read_text(line + "\n").events}

    assert not kinds & {kind for kind, _, _ in LINES}


def test_a_program_that_prints_its_own_source_raises_nothing():
    line = "    raise FileNotFoundError(f'nothing matches {pattern}')\n"
    listing = f"import glob\n\ndef find(pattern):\n{line}    return glob.glob(pattern)\nstep 1 loss 2.5\n"

    assert "missing_path" not in {event.kind for event in read_text(listing).events}
    assert "missing_path" in {event.kind for event in read_text(f"starting\n{line.strip()}\n").events}
