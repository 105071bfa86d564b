"""Make text of a log, a configuration or a command line safe to show: no control characters, no secrets, bounded length."""

from __future__ import annotations

import re
from functools import lru_cache

from analyzer.lazy_regex import LazyRegex, compiled
from analyzer.model.config import ConfigScalar

MAX_TEXT = 2048
"""Characters kept of one event's text; enough for every message of the survey."""

# ESC sequences (CSI, OSC, two-byte) and the orphan form "[31m" whose ESC was lost on the way.
ANSI = LazyRegex(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|\[(?:\d{1,3};?){1,4}m"
)
_CONTROL = LazyRegex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

_HALF = LazyRegex(r"[\ud800-\udfff]")


def safe_name(name: str) -> str:
    r"""The name of a file as it may be shown and stored: what is no visible character stands as its number.

    >>> safe_name("rank_0.log"), safe_name("a\nb\x1b[31m\udce4.log")
    ('rank_0.log', 'a\\nb\\x1b[31m\\xe4.log')
    """
    if name.isascii() and name.isprintable():
        return name
    return "".join(map(_visible, name))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python keeps it in names
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


@lru_cache(maxsize=1024)  # a run says the same again and again: of its texts four in five were seen before
def clean_text(text: str, limit: int = MAX_TEXT) -> str:
    r"""Text without escape sequences, control characters and secrets, at most ``limit`` characters.

    >>> clean_text("\x1b[31mloss\x1b[0m nan\x07 api_key=abcdef123456")
    'loss nan api_key=***'
    """
    text = text[: limit * 4]  # bound the work on a line of megabytes before any pattern runs
    text = _CONTROL.sub("", ANSI.sub("", text).replace("\r", " "))
    if (
        not text.isascii()
    ):  # half a character, as a name in another encoding holds it, cannot be written anywhere
        text = _HALF.sub("\ufffd", text)
    text = mask(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


_SECRET_KEY = LazyRegex(
    r"(?i)((?:api|wandb|access|account|shared|signing|encryption|master|private|auth|client)[_-]?key|secret|passw|passphrase"
    r"|token$|[_-]token\b|credential|cookie|authorization|webhook|(?:^|_)dsn$|connection[_-]?string)"
)
_NOT_SECRET = LazyRegex(
    r"(?i)^(?:\w{0,40}_)?(?:pad|eos|bos|unk|sep|cls|mask|image|video|audio|stop|start|end|special|prompt|vision|boi|eoi|boa|eoa"
    r"|decoder_start|forced_bos|forced_eos|use_auth|next|new|first|last|per|by)_token$"
)
"""Keys that hold the text of a token, not a key to anything."""

_SURELY_SECRET = LazyRegex(r"(?i)passw|secret|api[_-]?key|access[_-]?key|private[_-]?key")
"""Keys of which even a number is a secret."""


def mask_value(key: str, value: ConfigScalar, raw: str) -> tuple[ConfigScalar, str]:
    """Replace the value of a key that names a secret; token texts such as ``pad_token`` are no secrets."""
    tail = key.rpartition(".")[2]
    if value is None or isinstance(value, bool) or not _SECRET_KEY.search(tail) or _NOT_SECRET.search(tail):
        return value, raw
    return ("***", "***") if isinstance(value, str) or _SURELY_SECRET.search(tail) else (value, raw)


# What no secret is: absent, a truth value, a placeholder, a reference to a variable, already masked. Also a plain
# number, where the name alone does not prove it.
_NOTHING = r"(?!(?:none|null|true|false|yes|no|auto|\*{3}|xxx+|\.\.\.)(?![\w])|[<$\[{(]|os\.environ)"
_DIGITS_IN_IT = r"(?=[^\s\"',;}]{0,200}\d)(?=[^\s\"',;}]{0,200}[A-Za-z])[\w\-.~+=]{20,}"

_SURE_NAME = (
    r"(?:api[_-]?key|wandb[_-]?key|(?:access|account|shared[_-]?access|signing|encryption|master|private|auth|client|secret)"
    r"[_-]?key(?:[_-]?id)?|secret|passw(?:or)?d|passphrase|credential|connection[_-]?string"
    r"|(?:auth|access|hub|hf|api|bot|refresh|session|bearer|personal|security|push|wandb|slack|github|gitlab|npm|pypi)[_-]?token)"
)
_ORDINARY = (
    r"(?:pad|eos|bos|unk|sep|cls|mask|image|video|audio|stop|start|end|special|prompt|vision|num|max|min)"
)

# Beginnings of tokens, in lower case.
_OF_LIBRARIES = """
    hf_ api_org_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glptt- gldt- glrt- glcbt- glsoat- glft- glimt- glagent- gloas-
    glffct- glsa_ glc_ gr1348941 xox xapp- akia asia aiza ya29. gocspx-
    wandb_v1_ local- eyj nvapi- npm_ pypi- _live_ _test_ whsec_ r8_ dckr_ dop_v1_ doo_v1_ dor_v1_ sg. key- shp
    dapi hvs. hvb. hvr. atatt3 atctt3 lin_api_ figd_ ntn_ gsk_ pplx- xai- tgp_v1_ age-secret-key- pmak-
    rubygems_ sq0 tskey- :aa sk- pscale_ sntry nrak- sk0 sk1 sk2 sk3 sk4 sk5 sk6 sk7 sk8 sk9 ska skb skc skd ske
    skf
"""
_OF_PLATFORMS = """
    ltai dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. dt0c01. ezak eztk flwsec fo1_ fm1 fm2_ fio-u- .atlasv1.
    hrku- akcp pul- pnu_ pnb_ rdme_ xkeysib- sgp_ squ_ sqp_ sha256~ tfp_ t1.9eu aqvn duffel_ clojars_ dnkey- sl.
    shippo_ oy2 cfpat- lsv2_ rpa_ esecret_ csk- ops_ey jina_ fw_ q~ 1//0 _mmk -us1 -us2 -us3 -us4 -us5 -us6 -us7
    -us8 -us9 phc_ phx_ secret_ sqa_
"""

# (texts of which one stands, in lower case, wherever the expression matches; expression; what stays before the mask)
_KINDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("private key",),
        r"(?P<keep>-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)(?:(?!-----END)[\s\S]){0,9000}(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    (
        tuple(_OF_LIBRARIES.split()),
        (
            r"(?<![A-Za-z0-9_])(?:(?:hf_|api_org_)[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
            r"|gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent|oas|ffct)-[\w.-]{16,}|GR1348941[\w-]{16,}|gl(?:sa|c)_[\w+/=]{20,}"
            r"|xox[abeoprs]-[\w.-]{10,}|xapp-[\w-]{10,}|A(?:KIA|SIA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}"
            r"|wandb_v1_[\w-]{16,}|local-[0-9a-f]{40}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}|nvapi-[\w-]{20,}"
            r"|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}"
            r"|r8_[A-Za-z0-9]{30,}|dckr_[po]at_[\w-]{20,}|do[opr]_v1_[0-9a-f]{40,}|SG\.[\w-]{16,}\.[\w-]{16,}|key-[0-9a-f]{32}"
            r"|SK[0-9a-f]{32}|shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}|dapi[0-9a-f]{32}|hv[sbr]\.[\w-]{20,}|AT[AC]TT3[\w=-]{20,}"
            r"|lin_api_[A-Za-z0-9]{30,}|figd_[\w-]{20,}|ntn_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}"
            r"|xai-[A-Za-z0-9]{30,}|tgp_v1_[\w-]{20,}|AGE-SECRET-KEY-1[0-9A-Z]{20,}|PMAK-[0-9a-f-]{30,}|rubygems_[0-9a-f]{40,}"
            r"|sq0(?:atp|csp)-[\w-]{20,}|tskey-[a-z]{2,12}-[\w-]{16,}|\d{8,10}:AA[\w-]{32,34}|pscale_(?:tkn|pw|oauth)_[\w.-]{30,}"
            r"|sntry[su]_[\w+/=]{30,}|NRAK-[A-Z0-9]{27}|sk-(?:proj|ant|or|svcacct|admin)-[\w-]{12,}|sk-(?=[\w-]{0,80}\d)[\w-]{16,})"
        ),
    ),
    (
        tuple(_OF_PLATFORMS.split()),
        (
            r"(?<![A-Za-z0-9_])(?:LTAI[A-Za-z0-9]{16,24}|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9]{30,}|dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{40,}"
            r"|EZ[AT]K[A-Za-z0-9]{40,}|FLWSECK?(?:_TEST)?-[0-9a-zA-Z-]{12,}|(?:fo1_|fm1[ar]_|fm2_)[\w+/=-]{40,}|fio-u-[\w-]{40,}"
            r"|[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}|HRKU-[\w-]{36,}|AKCp[A-Za-z0-9]{60,}|pul-[0-9a-f]{40}|pn[ub]_[A-Za-z0-9]{36}"
            r"|rdme_[a-z0-9]{60,}|xkeysib-[0-9a-f]{64}-\w{16}|sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}|sq[upa]_[0-9a-f]{40}"
            r"|sha256~[\w-]{43}|tfp_[\w.=-]{59}|t1\.9eu[\w.-]{60,}|AQVN[\w-]{35,38}|duffel_(?:test|live)_[\w=-]{43}|CLOJARS_[a-zA-Z0-9]{60}"
            r"|dnkey-[\w=-]{26}-[\w=-]{52}|sl\.[\w=-]{120,}|shippo_(?:live|test)_[0-9a-f]{40}|oy2[a-z0-9]{43}|CFPAT-[\w-]{43}"
            r"|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|rpa_[A-Z0-9]{30,}[a-z0-9]{0,16}|esecret_[a-z0-9]{24,}|csk-[a-z0-9]{40,}"
            r"|ops_eyJ[\w+/=]{200,}|jina_[0-9a-f]{32}[\w-]{28}|fw_[A-Za-z0-9]{22,24}\b|[\w~.-]{3}[78]Q~[\w~.-]{31,34}|1//0[\w-]{30,}"
            r"|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk|[0-9a-f]{32}-us[1-9]\d?\b"
            r"|ph[cx]_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)"
        ),
    ),
    (("://",), r"(?P<keep>://[^/\s:@]{0,128}:)[^/\s@]{1,256}(?=@)|(?P<keep2>https?://)(?=[\w.~%+=-]{0,200}\d)[\w.~%+=-]{16,256}(?=@)"),
    (
        ("signature=", "sig=", "token=", "key=", "credential=", "secret=", "auth=", "jwt=", "password="),
        (
            r"(?P<keep>[?&;](?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|Signature|sig|token|apiKey|api_key|access_token"
            r"|access_key|key|auth|jwt|secret|client_secret|password)=)[^&\s\"'#]+"
        ),
    ),
    (
        ("hooks.", "webhook", "/hook", "api.telegram"),
        (
            r"(?P<keep>hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/"
            r"|\.webhook\.office\.com/webhookb2/|/open-apis/bot/v2/hook/|hooks\.zapier\.com/hooks/catch/|api\.telegram\.org/bot)[^\s\"'<>]{8,}"
        ),
    ),
    (("cookie",), r"(?P<keep>(?i:\b(?:set-)?cookie[\"']?\s{0,2}:\s{0,2}[\"']?))(?![\s*])[^\n\"']{4,}"),
    (
        ("authorization", "api-key", "auth-token", "private-token", "access-token"),
        (
            r"(?P<keep>(?i:\b(?:proxy-)?authorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:(?:bearer|basic|token|digest|negotiate)\s{1,4})?+"
            r"|\b(?:x-)?(?:api-key|auth-token|access-token|private-token)[\"']?\s{0,2}[:=]\s{0,2}[\"']?))(?!\*)[^\s\"',]{6,}"
        ),
    ),
    (("bearer", "basic"), r"(?P<keep>(?i:\b(?:bearer|basic)\s{1,4}))[A-Za-z0-9._~+/=-]{12,}"),
    (
        ("key", "secret", "passw", "passphrase", "credential", "token", "connection"),
        rf"(?P<keep>(?i:\b\w{{0,40}}{_SURE_NAME}\w{{0,20}}[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?))(?i:{_NOTHING})[^\s\"',;}}&]{{4,}}",
    ),
    (
        ("token", "key", "secret", "pass", "pwd_", "auth", "dsn"),
        (
            r"(?P<keep>\b(?!PAD_|EOS_|BOS_|UNK_|SEP_|CLS_|MASK_)(?:[A-Z][A-Z0-9_]{0,60}_)?(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASS|PWD_|AUTH|DSN)"
            rf"(?:_[A-Z0-9]{{1,20}})?(?:\s{{0,2}}[:=]\s{{0,2}}[\"']?|(?<=\b)(?<=TOKEN|ECRET|SWORD)\s(?=\S{{8,}}\s*$)))(?i:{_NOTHING})[^\s\"',;}}&]{{4,}}"
        ),
    ),
    (
        ("token", "key"),
        rf"(?P<keep>(?i:(?<![\w-])(?!{_ORDINARY})[\w-]{{0,40}}(?:token|[_-]key|\"key|'key|\bkey)[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?)){_DIGITS_IN_IT}",
    ),
    (
        ("passw", "passphrase", "secret", "token", "api", "-key", "_key", "credential", "sshpass", "docker"),
        (
            rf"(?P<keep>(?i:(?<![\w-])--?(?!{_ORDINARY})[\w-]{{0,40}}(?:password|passwd|passphrase|secret|token|api[-_]?key"
            rf"|access[-_]key|secret[-_]key|private[-_]key|auth[-_]key|credentials?)[\"']?(?:,?\s{{1,4}}|=)[\"']?))(?!-)(?i:{_NOTHING})(?!\d{{1,12}}(?!\S))[^\s\"',;}}]{{4,}}"
            r"|(?P<keep2>(?i:\b(?:sshpass|docker\s{1,4}login[^\n]{0,80}?)\s{1,4}-p\s{0,4}))[^\s\"']{4,}"
        ),
    ),
    (("curl", "wget"), r"(?P<keep>\bcurl\b[^\n]{0,200}?\s-{1,2}u(?:ser)?[ =][\"']?[^\s:\"']{1,64}:)[^\s\"']{1,}"),
    (
        ("login",),
        (
            r"(?P<keep>(?i:\bwandb\s{1,4}login\s{1,4}(?:--\w[\w-]{0,30}(?:[ =](?=https?:)\S{1,200})?\s{1,4}){0,4}))[\w-]{16,}"
            r"|(?P<keep2>(?i:login\(\s{0,4}(?:(?:key|token|password)\s{0,2}=\s{0,2})?[\"']))[^\s\"']{8,}"
        ),
    ),
    (
        ("password",),
        (
            r"(?P<keep>(?:(?m:^)|(?<=[\"']))\s{0,8}password\s{1,4}|\bmachine\s{1,4}\S{1,200}\s{1,4}login\s{1,4}\S{1,200}\s{1,4}password\s{1,4})[^\s\"']{4,}(?=\s*$|[\"'])"
            r"|(?P<keep2>(?<=[\s:|\]])password\s{1,4})(?=\S{0,80}\d)\S{8,}(?=\s*$)"
        ),
    ),
    (("auth",), r"(?P<keep>\"auth\"\s{0,4}:\s{0,4}\")[A-Za-z0-9+/=]{12,}"),
    (("@",), r"(?<![\w.+-])(?!git@)[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}\b"),
)  # fmt: skip

_SIGNS = [(sign, kind) for kind, (signs, _) in enumerate(_KINDS) for sign in signs]

# A line of a PEM block that stands alone, in quotes or behind a prefix: base64 of its usual width, in both cases and with digits; a hash has one case.
_BASE64_LINE = r"(?m)(?:^|(?<=[\"'\s]))(?P<keep>\s{0,8})(?=\S{0,76}[A-Z])(?=\S{0,76}[a-z])(?=\S{0,76}\d)(?:[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{76}|[A-Za-z0-9+/]{70})(?=\s*$|[\"'])"


_compiled = lru_cache(maxsize=64)(compiled)


def _mask(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return f"{groups.get('keep') or groups.get('keep2') or ''}***"


_ESCAPED_QUOTE = LazyRegex(r"\\{1,8}([\"'])")


def mask(text: str) -> str:
    r"""Text with three asterisks in the place of every secret; what names the secret stays.

    Text within text, such as a command in a JSON file, is looked at without its backslashes as well.

    >>> mask(r'"run": "login(key=\"correcthorsebattery\")"')
    '"run": "login(key="***")"'
    """
    text = _without_secrets(text)
    if "\\" in text:
        plain = _ESCAPED_QUOTE.sub(r"\1", text)
        shown = _without_secrets(plain)
        return text if shown == plain else shown
    return text


def _without_secrets(text: str) -> str:
    lower = text.lower()
    plain = text.isascii()  # a letter such as the long s is found by an expression, whatever its case
    for kind in sorted({kind for sign, kind in _SIGNS if not plain or sign in lower}):
        text = _compiled(_KINDS[kind][1]).sub(_mask, text)
    if len(text) >= 64:
        text = _compiled(_BASE64_LINE).sub(_mask, text)
    return text
