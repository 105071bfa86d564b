r"""A line of a log with its numbers masked: what stays is the wording that all rows of one kind share.

    "Epoch [2/10], loss: 0.5" -> parts ("Epoch [", "/", "], loss: ", ""), numbers ("2", "10", "0.5")

The mask keeps of each number only what sort it is: ``INT`` a whole number, ``FLOAT`` any other (nan and inf too),
``TIME`` a date or a time of day, which measures nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import NamedTuple

from analyzer.ingest.text.rows.learned.line_spellings import plain_spelling
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.lazy_regex import LazyRegex

INT, FLOAT, TIME = "\x01", "\x02", "\x03"

_NUMBERS = LazyRegex(
    r"(?<![A-Za-z0-9_.@])(?<![tT]op-)("
    r"\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)?|\d{1,3}:\d\d(?::\d\d)?(?:\.\d{1,6})?(?![\d:])(?: ?[AP]M\b)?"
    r"|[-+]?(?:(?!(?<=\[)\d{1,3},\d{3}\])[1-9]\d{0,2}(?:,\d{3}){1,5}(?!\d|,\d)(?:\.\d{1,6})?"
    r"|(?:\d{1,320}(?:\.\d{1,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,4})?(?!\.#)|1\.#(?:IND|QNAN|INF)"
    r"|(?:[nN][aA][nN]|[iI]nfinity|INFINITY|[iI][nN][fF])(?:\(ind\)|x{1,3})?(?![A-Za-z0-9_]))"
    r")"
)
_SPACES = LazyRegex(r"[ \u00a0\u3000]{2,}")
_BARS = LazyRegex(
    r"\d{1,3}%\|[^|\r\n]{0,400}\||\[[=>.#-]{3,120}\]|[\u2501\u2500\u2578\u257a\u254d\u2588\u2589\u258a\u258b\u258c\u258d\u258e\u258f\u2591-\u2593\u25a0\u25a1]{3,400}"
)
# Words of other languages that stand for what the vocabulary of names holds; a number may stand inside ("第 3 轮").
# Where the phase stands behind the noun ("loss on validation") the two are taken together.
_FOREIGN = (
    (r"(?:потер[ия]|ошибка) на (?:валидац|тест)\w{0,6}|(?:perte|p[ée]rdida) (?:de|en) (?:la )?valida[ct]i[oó]n", "val loss"),
    (r"(?:потер[ия]|ошибка) на обучени\w{0,2}|(?:perte|p[ée]rdida) d(?:e |')(?:entra[iî]nement|entrenamiento)|train(?:ings?)?-?verlust", "train loss"),
    (r"val(?:idierungs?)?-?verlust", "val loss"),
    (r"точность на (?:валидац|тест)\w{0,6}|(?:exactitude|exactitud) (?:de|en) (?:la )?valida[ct]i[oó]n", "val accuracy"),
    (r"第 ?([\x01]) ?(?:轮|个?周期|世代)(?:训练)?|([\x01])(?:번째)? ?(?:エポック目?|에포크|에폭)의?", "epoch"),
    (r"第 ?([\x01]) ?(?:步|次迭代|批)|([\x01])(?:번째)? ?(?:ステップ目?|스텝)의?", "step"),
    (r"训练轮[次数]|迭代周期|轮[次数]|エポック|에포크|에폭|эпоха|epoche|[ée]poque|época|эпохи|(?<![a-z])epoca|(?<![a-z])epoka", "epoch"),
    (r"(?:迭代|训练)次数|迭代|步[数骤]|ステップ|反復|스텝|단계|반복|шаг|итерация|schritt|étape|itération|iteración|paso", "step"),
    (r"批次|バッチ|배치|батч|пакет|lote", "batch"),
    (r"损失值?|損失|손실|потер[ия]|ошибка|verlust|perte|pérdida|perdida|perdita|(?<![a-z])perda|(?<![a-z])strata|kay\u0131p|loss值", "loss"),
    (r"上?的?准确[率度]|上?的?正确率|精度|正解率|정확도|точность|genauigkeit|exactitud|exactitude|accuratezza|acur[áa]cia|dokładność|doğruluk", "accuracy"),
    (r"验证集?|驗證|検証|검증|валидац\w{0,4}|validierungs?|валид", "val"),
    (r"测试集?|測試|テスト|테스트|тест\w{0,5}", "test"),
    (r"训练集?|訓練|学習(?!率)|훈련|학습(?!률)|обучени\w|trainings?(?=verlust|genau)|entraînement|entrenamiento", "train"),
    (r"学习率|學習率|学習率|학습률|скорость обучения|lernrate|taux d'apprentissage|tasa de aprendizaje", "learning rate"),
    (r"平均|整体|总体|средн\w{0,3}|durchschnitt\w{0,6}|moyenne|promedio", "avg"),
    (r"时间|時間|耗时|用时|시간|время|tiempo|dauer", "time"),
    (r"困惑度|パープレキシティ|перплексия", "perplexity"),
    (r"奖励|報酬|보상|награда|belohnung|récompense|recompensa", "reward"),
)  # fmt: skip
_FOREIGN_IN_ASCII = (
    "perdida", "perte", "verlust", "validierung", "exactitud", "epoche", "schritt", "paso", "lote", "genau", "entrenamiento",
    "tiempo", "dauer", "perdita", "perda", "strata", "accuratezza", "acuracia", "epoca", "epoka", "lernrate", "apprentissage", "aprendizaje", "durchschnitt", "moyenne", "promedio", "belohnung", "recompensa",
)  # fmt: skip
"""One of these stands in every such word that has no letter beyond ASCII: nearly all logs hold none, and need no expression."""

# of text in small letters: alternatives that begin with a known letter are passed over fast, in any case of letters slowly
_FOREIGN_ANY = LazyRegex("|".join(words for words, _ in _FOREIGN))
_FULL_WIDTH = str.maketrans("：，；＝（）［］｜％、", ":,;=()[]|%,")  # noqa: RUF001


def _in_place_of(english: str, match: re.Match[str]) -> str:
    return f" {english} {next(filter(None, match.groups()), '')} "


_GLUED = LazyRegex(r"(?<=it/s|s/it)\](?=[^\W\d_])")
"""The end of a bar to which the row of the program is glued, because the bar ends no line."""

_BAR_BEFORE = LazyRegex(
    r"\A[^\r\n]{0,300}?(?:it/s|s/it)\]\s{0,3}(?=\[?(?:(?:global_?)?(?:[Ss]tep|[Ii]ter)\w{0,8}\s?[=:\[]|[Ee]poch[=: ]{1,4})\s{0,6}\d)"
)
"""A bar before a row that counts its own steps or epochs: the row stands where it says, and not where the bar stood."""


@lru_cache(maxsize=1)
def _foreign_words() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(words, re.IGNORECASE), english) for words, english in _FOREIGN)


class Masked(NamedTuple):
    """A line in parts.

    Attributes:
        key: What rows of one kind share: the parts between the numbers.
        numbers: The numbers as printed.
    """

    key: str
    numbers: list[str]


def mask(text: str) -> Masked:
    r"""Split a line into its wording and its numbers.

    >>> mask("step 3  loss nan")
    Masked(key='step \x01  loss \x01', numbers=['3', 'nan'])
    """
    text = plain_spelling(text)
    if "%|" in text or "[=" in text or "[." in text or not text.isascii():
        text = _BAR_BEFORE.sub("", _BARS.sub("|", text), count=1)
        text = _GLUED.sub("] ", text)
    if "  " in text:
        text = _SPACES.sub("  ", text)
    parts = _NUMBERS.split(text)
    return Masked(INT.join(parts[::2]), parts[1::2])


def sorts(masked: Masked) -> str:
    """The wording with a mask for the sort of each number in the place of the number."""
    parts = masked.key.split(INT)
    text = parts[0]
    for number, part in zip(masked.numbers, parts[1:], strict=True):
        text += _sort(number) + part
    return text


def counted(number: str) -> str:
    """A whole number without the commas between its thousands; empty for any other number."""
    plain = number.replace(",", "")
    return plain if plain.isdecimal() else ""


def _sort(number: str) -> str:
    if counted(number):
        return INT
    return FLOAT if parse_number(number.rstrip("x")) is not None else TIME


def in_english(text: str) -> str:
    r"""Masked text with words of other languages turned into those of the vocabulary of names.

    >>> in_english("训练损失:\x02"), in_english("Epoche \x01: Verlust \x02")
    ('train loss :\x02', 'epoch \x01: loss \x02')
    """
    lowered = text.lower()
    if text.isascii() and not any(word in lowered for word in _FOREIGN_IN_ASCII):
        return text
    text = text.translate(_FULL_WIDTH)
    if _FOREIGN_ANY.search(text.lower()) is None:
        return text
    for words, english in _foreign_words():
        text = words.sub(partial(_in_place_of, english), text)
    return _SPACES.sub(" ", text).strip()
