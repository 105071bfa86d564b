"""A hundred and more kinds of secrets are masked wherever text is shown; what only looks like one stays."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.masking import _kinds, clean_text, mask, mask_value

MIXED = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d"
HEXED = "0123456789abcdef0123456789abcdef01234567"
PLAIN = "correcthorsebattery"
PEM = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"

# what it is | a line that holds it; the secret is what stands between the two marks
KINDS = {
    "hugging face token": f"using [hf_{MIXED[:34]}] to download",
    "hugging face organisation": f"[api_org_{MIXED[:34]}]",
    "github personal": f"remote: [ghp_{MIXED[:36]}]",
    "github app": f"[ghs_{MIXED[:36]}]",
    "github fine-grained": f"[github_pat_{MIXED}_{MIXED[:20]}]",
    "gitlab personal": f"[glpat-{MIXED[:20]}]",
    "gitlab runner": f"[glrt-{MIXED[:20]}]",
    "openai": f"[sk-proj-{MIXED}]",
    "anthropic": f"[sk-ant-api03-{MIXED}]",
    "slack bot": f"[xoxb-123456789012-{MIXED[:24]}]",
    "slack app": f"[xapp-1-A0123-{MIXED[:24]}]",
    "aws key id": "[AKIAIOSFODNN7ABCDEFG]",
    "aws temporary key id": "[ASIAIOSFODNN7ABCDEFG]",
    "aws secret in a file": f"aws_secret_access_key = [{MIXED}]",
    "aws session": f"AWS_SESSION_TOKEN=[{MIXED}{MIXED}]",
    "google api key": f"[AIza{MIXED[:35]}]",
    "google access token": f"[ya29.{MIXED}]",
    "google client secret": f"[GOCSPX-{MIXED[:28]}]",
    "w&b key of today": f"[wandb_v1_{MIXED}]",
    "w&b key in the environment": f"WANDB_API_KEY=[{HEXED}]",
    "w&b login on the command line": f"wandb login --relogin [{HEXED}]",
    "w&b login at a host": f"wandb login --host=https://w.example.org [{HEXED}]",
    "w&b login in code": f'wandb.login(key="[{HEXED}]")',
    "w&b local key": f"[local-{HEXED}]",
    "nvidia": f"[nvapi-{MIXED}]",
    "npm": f"//registry/:_authToken=[npm_{MIXED[:36]}]",
    "pypi": f"[pypi-AgEIcHlwaS5vcmc{MIXED}]",
    "stripe": f"[sk_live_{MIXED[:24]}]",
    "stripe webhook": f"[whsec_{MIXED[:32]}]",
    "replicate": f"[r8_{MIXED[:37]}]",
    "docker hub": f"[dckr_pat_{MIXED[:27]}]",
    "docker login": f"docker login -u bot -p [{PLAIN}] registry.example.org",
    "docker configuration": f'"registry.example.org": {{"auth": "[{MIXED[:28]}]"}}',
    "digitalocean": f"[dop_v1_{HEXED}{HEXED[:24]}]",
    "sendgrid": f"[SG.{MIXED[:22]}.{MIXED}]",
    "mailgun": f"[key-{HEXED[:32]}]",
    "twilio": f"[SK{HEXED[:32]}]",
    "shopify": f"[shpat_{HEXED[:32]}]",
    "databricks": f"[dapi{HEXED[:32]}]",
    "vault": f"[hvs.{MIXED}]",
    "atlassian": f"[ATATT3{MIXED}]",
    "linear": f"[lin_api_{MIXED}]",
    "alibaba": f"[LTAI{MIXED[:20]}]",
    "doppler": f"[dp.pt.{MIXED}abc]",
    "dynatrace": f"[dt0c01.{HEXED[:24].upper()}.{HEXED.upper()}{HEXED[:24].upper()}]",
    "easypost": f"[EZAK{MIXED}{MIXED[:14]}]",
    "flutterwave": f"[FLWSECK_TEST-{HEXED[:32]}-X]",
    "fly.io": f"[fm2_{MIXED}{MIXED}]",
    "frame.io": f"[fio-u-{MIXED}{MIXED[:24]}]",
    "terraform cloud": f"[{MIXED[:14]}.atlasv1.{MIXED}{MIXED[:27]}]",
    "heroku": f"[HRKU-{MIXED}]",
    "jfrog": f"[AKCp{MIXED}{MIXED[:29]}]",
    "pulumi": f"[pul-{HEXED}]",
    "prefect": f"[pnu_{MIXED[:36]}]",
    "readme": f"[rdme_{HEXED}{HEXED[:30]}]",
    "brevo": f"[xkeysib-{HEXED}{HEXED[:24]}-{MIXED[:16]}]",
    "sourcegraph": f"[sgp_{HEXED}]",
    "sonar": f"[squ_{HEXED}]",
    "openshift": f"oc login --server x [sha256~{MIXED}abc]",
    "typeform": f"[tfp_{MIXED}{MIXED[:19]}]",
    "yandex": f"[AQVN{MIXED[:36]}]",
    "duffel": f"[duffel_live_{MIXED}abc]",
    "clojars": f"[CLOJARS_{HEXED}{HEXED[:20]}]",
    "defined networking": f"[dnkey-{MIXED[:26]}-{MIXED}{MIXED[:12]}]",
    "shippo": f"[shippo_live_{HEXED}]",
    "nuget": f"[oy2{HEXED}abc]",
    "contentful": f"[CFPAT-{MIXED}abc]",
    "langsmith": f"[lsv2_pt_{HEXED[:32]}_{HEXED[:10]}]",
    "runpod": f"[rpa_{MIXED[:32].upper()}abc123]",
    "anyscale": f"[esecret_{HEXED[:26]}]",
    "cerebras": f"[csk-{HEXED}abcd]",
    "jina": f"[jina_{HEXED[:32]}{MIXED[:28]}]",
    "fireworks": f"[fw_{MIXED[:24]}]",
    "azure application": f"[a1b8Q~{MIXED[:34]}]",
    "google refresh": f"[1//0{MIXED}]",
    "maxmind": f"[{MIXED[:6]}_{MIXED[:29]}_mmk]",
    "mailchimp": f"[{HEXED[:32]}-us12]",
    "posthog": f"[phc_{MIXED}abc]",
    "notion, old": f"[secret_{MIXED}abc]",
    "figma": f"[figd_{MIXED}]",
    "notion": f"[ntn_{MIXED}]",
    "grafana": f"[glsa_{MIXED}]",
    "groq": f"[gsk_{MIXED}]",
    "perplexity": f"[pplx-{MIXED}]",
    "together": f"[tgp_v1_{MIXED}]",
    "tailscale": f"[tskey-auth-{MIXED[:24]}]",
    "telegram bot": f"[123456789:AA{MIXED[:33]}]",
    "telegram address": f"https://api.telegram.org/bot[123456789:AA{MIXED[:33]}/sendMessage]",
    "new relic": "[NRAK-ABCDEFGHIJ0123456789ABCDEFG]",
    "json web token": "[eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.abcdefghijk]",
    "base64 of json, as neptune has it": f"NEPTUNE_API_TOKEN: [eyJhcGlfYWRkcmVzcyI6{MIXED}{MIXED}]",
    "pem on its own lines": f"-----BEGIN RSA PRIVATE KEY-----\n[{PEM}]\n[{PEM}]\n-----END RSA PRIVATE KEY-----",
    "pem in a service account": f'"private_key": "-----BEGIN PRIVATE KEY-----\\n[{PEM}]\\n-----END PRIVATE KEY-----\\n"',
    "a line of a pem file": f"[{PEM}]",
    "azure storage": f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=[{MIXED}{MIXED}==];EndpointSuffix=y",
    "azure shared access": f"https://x.blob.core.windows.net/c?sv=2022&sig=[{MIXED}%3D]&se=2026",
    "azure service bus": f"Endpoint=sb://x/;SharedAccessKeyName=root;SharedAccessKey=[{MIXED}=]",
    "signed s3 url": f"s3://b/k?X-Amz-Signature=[{HEXED}]&x=1",
    "signed google url": f"https://storage/x?X-Goog-Signature=[{HEXED}]",
    "token in a url": f"https://api.example.org/v1?access_token=[{MIXED}]",
    "basic auth in a url": f"https://user:[{PLAIN}]@host/path",
    "token alone before a host": f"git clone https://[{MIXED}]@git.example.org/x.git",
    "database": f"postgresql://mlflow:[{PLAIN}]@db:5432/runs",
    "redis without a user": f"redis://:[{PLAIN}]@queue:6379/0",
    "slack webhook": f"https://hooks.slack.com/services/[T0123/B0123/{MIXED[:24]}]",
    "discord webhook": f"https://discord.com/api/webhooks/[123456/{MIXED}]",
    "teams webhook": f"https://x.webhook.office.com/webhookb2/[{HEXED}@x/IncomingWebhook/y]",
    "feishu webhook": f"https://open.feishu.cn/open-apis/bot/v2/hook/[{HEXED}]",
    "cookie": "Cookie: [session=abcdef; csrftoken=ghijkl]",
    "set-cookie": "set-cookie: [sid=abcdef0123456789; Path=/]",
    "bearer": f"Authorization: Bearer [{MIXED}]",
    "authorization by token": f"Authorization: token [{MIXED}]",
    "basic header": f"'Authorization': 'Basic [{MIXED}]'",
    "api key header": f"X-Api-Key: [{PLAIN}]",
    "gitlab header": f"PRIVATE-TOKEN: [{PLAIN}]",
    "netrc in one line": f"machine api.wandb.ai login user password [{HEXED}]",
    "netrc in lines": f"  password [{HEXED}]",
    "password on the command line": f"train.py --password [{PLAIN}] --lr 1",
    "token on the command line": f"train.py --hub_token [{PLAIN}] --lr 1",
    "token after an equals sign": f"train.py --hf-token=[{PLAIN}]",
    "api key on the command line": f"--api-key [{PLAIN}]",
    "arguments as a list": f"['--hub_token', '[{PLAIN}]', '--lr']",
    "any token of the environment": f"COMPANY_DEPLOY_TOKEN=[{PLAIN}]",
    "any key of the environment": f"export SWANLAB_KEY='[{PLAIN}]'",
    "any secret of the environment": f"S3_SECRET=[{PLAIN}]",
    "any password of the environment": f"DB_PASSWORD=[{PLAIN}]",
    "environment of a container": f"ENV HF_TOKEN [{PLAIN}]",
    "kubernetes": f"  MLFLOW_TRACKING_PASSWORD: [{PLAIN}]",
    "password in yaml": f"password: [{PLAIN}]",
    "passphrase": f"my_passphrase: [{PLAIN}]",
    "client secret": f'"client_secret": "[{PLAIN}]"',
    "keyword argument": f"HfApi(token='[{MIXED}]')",
    "kaggle": f'{{"username":"x","key":"[{HEXED[:32]}]"}}',
    "curl": f"curl -s -u admin:[{PLAIN}] https://x",
    "sshpass": f"sshpass -p [{PLAIN}] ssh node1",
    "e-mail": "run by [jane.doe@example.org]",
}


def _split(text):
    """The line without its marks, and the secrets between them."""
    secrets, line, rest = [], "", text
    while "[" in rest:
        before, _, after = rest.partition("[")
        if after.startswith("'--"):  # a list of arguments, not a mark
            line, rest = line + before + "[", after
            continue
        secret, _, rest = after.partition("]")
        secrets.append(secret)
        line += before + secret
    return line + rest, secrets


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_is_masked(kind):
    line, secrets = _split(KINDS[kind])
    shown = clean_text(line)

    assert secrets
    for secret in secrets:
        assert secret not in shown
        assert secret[-8:] not in shown, shown
    assert "***" in shown
    assert mask(shown) == shown


LOOK_ALIKES = [
    f"commit {HEXED}",
    f"sha256:{HEXED}{HEXED[:24]}  model.safetensors",
    f"{HEXED}{HEXED[:24]}",
    "run id 3k2j9x8q, wandb run abc123de: https://wandb.ai/team/project/runs/abc123de",
    "550e8400-e29b-41d4-a716-446655440000",
    "tokens per second: 12345, max_tokens=4096, num_tokens: 12345678901234567890",
    "pad_token = <pad>, eos_token = </s>, bos_token='[BOS]', image_token: <image>",
    "stop_token=END_OF_TURN, mask_token=[MASK], special_tokens_map.json",
    "num_key_value_heads=8, key_padding_mask=None, query_key_norm: True, n_kv_heads 8",
    "KeyError: 'model.layers.0.self_attn.k_proj.weight'",
    "api_key: None, token=False, use_auth_token=True, hub_token: null, password=<redacted>",
    "HF_TOKEN=$HF_TOKEN, WANDB_API_KEY=${WANDB_API_KEY}, token=os.environ['HF_TOKEN']",
    "sort_key: train/loss, primary_key=id, key=loss, cache_key: step_100",
    "--pad_token <pad> --tokenizer_name gpt2 --max_tokens 4096 --token_ids 1 2 3",
    "--password --lr 1",
    "git@github.com:team/repo.git and ssh node1",
    "mAP@0.5 0.25, F1@0.10: 76.3, Recall@20 and AP@0.50:0.95",  # scores at an overlap, no addresses
    "task-generation-with-long-names and risk-assessment-model-v2-final",
    "sk-learn and scikit-learn-contrib",
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05}",
    "https://huggingface.co/team/model/resolve/main/model-00001-of-00002.safetensors",
    "s3://bucket/checkpoints/step-1000/model.pt?versionId=3",
    "/home/user/.cache/huggingface/hub/models--team--model/snapshots/0123456789abcdef",
    "basic training, bearer of news, cookie cutter, authorization failed",
    "RuntimeError: Function 'CompiledFunctionBackward' returned nan values in its 0th output.",
    "nccl_trace_rank_0 hf_transfer hf_hub_download npm_config r8_x local-rank",
    "loss=2.345 lr=1e-4 tok/s=12345 gpu_mem=79.1GiB key_len=128 token_len=4096",
    "tensor([[0.1234, 0.5678]], device='cuda:0', dtype=torch.bfloat16)",
    "MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 NCCL_DEBUG=INFO PWD=/home/user/run",
    "Incorrect password",
    f"--deepspeed_config eyJ0cmFpbl9iYXRjaF9zaXplIjog{MIXED}{MIXED}",
]


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_a_secret_stays(text):
    assert clean_text(text) == text


@pytest.mark.parametrize(
    ("key", "masked"),
    [
        ("hub_token", True),
        ("env.HF_TOKEN", True),
        ("wandb.api-key", True),
        ("storage.account_key", True),
        ("db.password", True),
        ("aws.secret_access_key", True),
        ("headers.Cookie", True),
        ("headers.Authorization", True),
        ("slack.webhook_url", True),
        ("logger.dsn", True),
        ("pad_token", False),
        ("data.image_token", False),
        ("sort_key", False),
        ("tokenizer", False),
        ("num_key_value_heads", False),
    ],
)
def test_a_setting_is_masked_by_its_name(key, masked):
    assert mask_value(key, PLAIN, PLAIN) == (("***", "***") if masked else (PLAIN, PLAIN))


def test_a_password_of_digits_is_masked_too():
    assert mask_value("db.password", 12345678, "12345678") == ("***", "***")
    assert mask_value("use_auth_token", True, "true") == (True, "true")


@given(st.sampled_from(_kinds()), st.data())
def test_the_quick_look_for_secrets_misses_none(kind, data):
    """Whatever an expression finds holds one of the texts by which it is chosen."""
    signs, secret = kind
    text = data.draw(st.from_regex(secret.pattern, alphabet=st.characters(codec="ascii")))

    if secret.search(text):
        assert any(sign in text.lower() for sign in signs)


@pytest.mark.parametrize(
    "unit",
    [
        "key_",
        "token ",
        "a@",
        "://",
        "--token ",
        "eyJ",
        "A_KEY",
        "-----BEGIN PRIVATE KEY-----",
        " ",
        "password ",
        "cookie:",
    ],
)
def test_masking_a_long_line_takes_little_time(unit):
    began = time.process_time()
    clean_text(unit * 1_000_000)

    assert time.process_time() - began < 2
