"""Rows of loops whose author names things in another language."""

import pytest
from log_reading import points, read_text

import analyzer
from analyzer.ingest.quote import Quoter, last_lines, lines_around
from analyzer.ingest.text.rows.learned.line_masks import in_english, may_be_foreign
from analyzer.ingest.text.rows.learned.templates import MAX_BARREN, TemplateRows
from analyzer.ingest.text.text_layer import read_blocks


def read(form):
    rows = (
        form.format(e=i, a=f"{2 / i + 0.1:.4f}", b=f"{0.9 / i + 0.2:.3f}", c=f"{0.9 - 0.5 / i:.3f}")
        for i in range(1, 7)
    )
    run = read_text("\n".join(rows) + "\n")
    return {name: points(run, name)[0][1] for name in run.metrics.names}


LOSS = {"loss": 2.1}
BOTH = {"loss": 2.1, "eval_loss": 1.1}
SCORED = {"loss": 2.1, "accuracy": 0.4}
HELD_OUT = {"loss": 2.1, "eval_accuracy": 0.4}


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("Epok {e} | kayip={a} | dogrulama_dogrulugu={c}", HELD_OUT),
        ("Dönem {e}/6 eğitim kaybi {a} doğrulama kaybi {b}", BOTH),
        ("epoca {e}: perdita {a}, accuratezza sul test {c}", HELD_OUT),
        ("Epoca {e}: perdita di addestramento {a}, perdita di convalida {b}", BOTH),
        ("époque {e}, perte d'entraînement = {a}, perte de validation = {b}", BOTH),
        ("epoque {e} | perte : {a} | taux d'apprentissage : {c}", {"loss": 2.1, "learning_rate": 0.4}),
        ("Epoca {e} | perdida entrenamiento: {a} | perdida validacion: {b}", BOTH),
        ("época {e}/6 - perda de treino: {a} - acurácia de teste: {c}", HELD_OUT),
        ("Епоха {e}: втрати {a}, точність {c}", SCORED),
        ("Эпоха {e} | лосс {a} | точность на тесте {c}", HELD_OUT),
        ("Epoka {e}: strata treningowa {a}, strata walidacyjna {b}", BOTH),
        ("Epocha {e}: ztráta {a}, přesnost {c}", SCORED),
        ("Epok {e}: förlust {a}, noggrannhet {c}", SCORED),
        ("Epoke {e}: tab {a}, nøjagtighed {c}", SCORED),
        ("Epookki {e}: tappio {a}, tarkkuus {c}", SCORED),
        ("{e}. korszak: veszteség {a}, pontosság {c}", SCORED),
        ("Epoca {e}: pierdere {a}, acuratețe {c}", SCORED),
        ("Εποχή {e}: απώλεια {a}, ακρίβεια {c}", SCORED),
        ("Epoch {e}: kerugian {a}, akurasi validasi {c}", HELD_OUT),
        ("Vòng lặp {e}: hàm mất mát = {a}, độ chính xác = {c}", SCORED),
        ("รอบที่ {e}: ค่าความสูญเสีย {a}, ความแม่นยำ {c}", SCORED),
        ("العصر {e}: الخسارة {a}، الدقة {c}", SCORED),
        ("עידן {e}: הפסד {a}, דיוק {c}", SCORED),
        ("युग {e}: हानि {a}, सटीकता {c}", SCORED),
        ("第 {e} 個訓練週期: 訓練損失 {a}, 驗證準確率 {c}", HELD_OUT),
        ("第{e}回合 总奖励: {a}", {"reward_mean": 2.1}),
        ("Эпизод {e}: награда {a}", {"reward_mean": 2.1}),
        ("paso {e} coste {a}", LOSS),
        ("krok {e}: koszt {a}", LOSS),
    ],
)
def test_rows_are_read_by_the_words_of_their_language(form, expected):
    read_values = read(form)
    assert {name: read_values.get(name) for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("line", ["the table of 3 taps", "Epoch 3: loss 0.5", "a stable step 3 of the fold"])
def test_words_of_english_are_left(line):
    assert in_english(line) == line


def test_words_that_only_look_foreign_are_no_names():
    assert read("entry {e}: tab {a}, tap {b}") == {}
    assert not may_be_foreign("step 3: tab 0.5")


def test_lines_without_numbers_wear_out_no_learning():
    """Whatever a program says in sentences of another script, its rows are learned from afterwards."""
    rows, sign = TemplateRows(), ord("一")
    for at in range(MAX_BARREN + 1):
        assert not rows.wants(f"加载{chr(sign + at % 97)}完成{chr(sign + at // 97)}")
    assert rows.wants("验证结果:")
    assert rows.wants("第 1 轮, 损失: 0.5")


def test_chinese_of_windows_is_read_as_gbk(tmp_path):
    rows = (
        f"当前批次:{at}/90 | 当前轮次:0/5 | 损失值:{3 - at / 9:.4f} | 准确率:{at / 20:.2%}\n"
        for at in range(1, 12)
    )
    (tmp_path / "train.log").write_bytes("".join(rows).encode("gbk"))
    run = analyzer.load(tmp_path)
    assert len(run.metrics.series("loss")) == 11
    shown = "当前批次:2/90 | 当前轮次:0/5 | 损失值:2.7778 | 准确率:10.00%"
    assert Quoter(run).line(0, 2) == shown
    assert lines_around(tmp_path / "train.log", 2, 0) == [(2, shown)]
    assert last_lines(tmp_path / "train.log", 10)[0] == shown


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("第3轮 损失值: 0.5 准确率: 0.9 训练完成 已保存\n", "utf-8"),
        ("Größe für später überprüft, Prüfmaß ändern: naïve façade, à côté élève déjà\n", "latin-1"),
        ("Эпоха 3: потери 0.5, точность 0.9, обучение завершено\n", "cp1251"),
        ("Эпоха 3: потери 0.5, точность 0.9, обучение завершено\n", "utf-8"),
        ("époque 3 : précision = 0.9, terminée à côté, élève déjà évalué, détaillé\n", "utf-8"),
        ("loss 3µ ± 2°\n", "latin-1"),
    ],
)
def test_other_encodings_are_not_taken_for_gbk(text, encoding):
    data = text.encode(encoding)
    blocks = list(read_blocks([data], lambda _: None))
    assert b"".join(block.data for block in blocks) == data
