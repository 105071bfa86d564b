"""Text of a log is safe to show: no escape sequences, no secrets, bounded."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.masking import MAX_TEXT, clean_text


@pytest.mark.parametrize(
    "secret",
    [
        "hf_abcdefghijklmnopqrstuvwx",
        "ghp_abcdefghijklmnopqrstuvwxyz0123",
        "sk-proj-abcdefghijklmnopqrstuv",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abcdefgh",
    ],
)
def test_tokens_are_masked_wherever_they_stand(secret):
    assert secret not in clean_text(f"downloading with {secret} now")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("WANDB_API_KEY=0123456789abcdef", "WANDB_API_KEY="),
        ('{"hub_token": "secretvalue"}', "hub_token"),
        ("https://user:passw0rd@host/path", "https://user:***@host/path"),
        ("s3://b/k?X-Amz-Signature=deadbeef&x=1", "X-Amz-Signature=***&x=1"),
        ("Authorization: Bearer abcdefghijklmnop", "Bearer ***"),
        ("run by jane.doe@example.org", "run by ***"),
        ("by jane@mail.uni-x.edu on jane@10.0.0.3", "by *** on ***"),
        ("wandb login --relogin 0123456789abcdef0123456789abcdef01234567", "wandb login --relogin ***"),
        ("my_passphrase: secretvalue", "my_passphrase: ***"),
        ("wandb_key: 0123456789abcdef", "wandb_key: ***"),
    ],
)
def test_keys_passwords_signatures_and_addresses_are_masked(text, kept):
    cleaned = clean_text(text)

    assert kept in cleaned
    assert "***" in cleaned
    for word in ("0123456789abcdef", "secretvalue", "passw0rd", "deadbeef", "abcdefghijklmnop", "jane.doe"):
        assert word not in cleaned


@pytest.mark.parametrize(
    "text",
    [
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05}",
        "pad_token = <pad>, eos_token = </s>",
        "api_key: None",
        "tokens per second: 12345",
        "RuntimeError: Function 'CompiledFunctionBackward' returned nan values in its 0th output.",
    ],
)
def test_ordinary_lines_are_left_alone(text):
    assert clean_text(text) == text


@given(st.text(max_size=300))
def test_no_control_character_survives(text):
    cleaned = clean_text(text)

    assert not any(
        (ord(c) < 32 and c not in "\t\n") or ord(c) == 127 or 0x80 <= ord(c) < 0xA0 for c in cleaned
    )
    assert len(cleaned) <= MAX_TEXT


def test_a_line_of_megabytes_is_cut_quickly():
    started = time.process_time()
    cleaned = clean_text("key_" * 2_000_000)

    assert len(cleaned) == MAX_TEXT
    assert time.process_time() - started < 5
