from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_reading import read_every_prefix, read_files

from analyzer.detect import run_detectors
from analyzer.facts.build import build_facts
from analyzer.ingest.base import Match
from analyzer.ingest.formats.config.script_statements import statements
from analyzer.ingest.formats.config.training_script import TrainingScript
from analyzer.ingest.walk import make_candidate

SCRIPT = TrainingScript()
KERAS = """\
from keras.layers import Conv2D, Dense, Flatten
model = Sequential()
model.add(Conv2D(8, 3, activation="relu"))
model.add(Flatten())
model.add(Dense({units}{activation}))
model.compile(loss={loss}, optimizer={optimizer}, metrics=["accuracy"])
model.fit(x, y, epochs=3, validation_split=0.2)
"""
TORCH = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 4)

    def forward(self, x):
        x = self.fc(x)
        return {end}

model = Net()
rate = 0.3
optimizer = torch.optim.SGD(model.parameters(), lr=rate)
criterion = nn.CrossEntropyLoss()
train_loader = DataLoader(data, batch_size=16{shuffle})
total = 0
for epoch in range(3):
    for x, y in train_loader:
{clear}        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss{item}
"""


def keras(
    units=10, activation=', activation="softmax"', loss='"categorical_crossentropy"', optimizer='"adam"'
):
    return KERAS.format(units=units, activation=activation, loss=loss, optimizer=optimizer)


def torch(end="x", shuffle=", shuffle=True", clear="        optimizer.zero_grad()\n", item=".item()"):
    return TORCH.format(end=end, shuffle=shuffle, clear=clear, item=item)


def said(text, name="train.py"):
    run = read_files({name: text}, SCRIPT)
    return {entry.key_in_source: entry.value for entry in run.config.entries}


def facts(*scripts):
    run = read_files({f"part{i}.py": text for i, text in enumerate(scripts)}, SCRIPT)
    found = build_facts(run_detectors(run))
    prefix = "config.script."
    return {
        name.removeprefix(prefix): value for name, value in found.plain.items() if name.startswith(prefix)
    }


def test_a_keras_script_tells_head_loss_and_optimizer():
    got = said(keras(optimizer="Adam(lr=0.003)"))

    assert got["script.last_units"] == 10
    assert got["script.last_activation"] == "softmax"
    assert got["script.loss"] == "categorical_crossentropy"
    assert got["optimizer"] == "adam"
    assert got["learning_rate"] == 0.003
    assert facts(keras())["mismatch"] == ""


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (keras(units=1), "softmax over one output"),
        (keras(units=1, activation=', activation="sigmoid"'), "over one output"),
        (keras(activation=""), "expects probabilities"),
        (keras(activation=', activation="relu"', loss='"binary_crossentropy"'), "expects probabilities"),
        (keras(loss="losses.SparseCategoricalCrossentropy(from_logits=True)"), "expect logits"),
        (torch(end="torch.softmax(x, dim=1)"), "applies it again"),
    ],
)
def test_a_head_that_fits_no_data_is_told_in_words(script, words):
    assert words in facts(script)["mismatch"]


@pytest.mark.parametrize(
    "script",
    [
        keras(units=1, activation=', activation="sigmoid"', loss='"binary_crossentropy"'),
        keras(units=2, activation="", loss="losses.SparseCategoricalCrossentropy(from_logits=True)"),
        keras(units=1, activation="", loss='"mse"'),
        torch(end="torch.log_softmax(x, dim=1)"),
    ],
)
def test_a_head_that_fits_is_not_blamed(script):
    assert facts(script).get("mismatch", "") == ""


def test_the_loop_of_a_script_is_read():
    good, bad = facts(torch()), facts(torch(shuffle="", clear="", item=""))

    assert (good["keeps_gradients"], good["keeps_order"]) == (False, False)
    assert "keeps_graph" not in good
    assert (bad["keeps_gradients"], bad["keeps_order"], bad["keeps_graph"]) == (True, True, True)
    assert said(torch())["learning_rate"] == 0.3


def test_a_sum_of_losses_that_is_itself_differentiated_keeps_nothing():
    script = torch(item="").replace("        loss.backward()\n", "        total.backward()\n")
    assert "keeps_graph" not in facts(script)


def test_gradients_cleared_by_hand_are_cleared():
    script = torch(clear="        for p in model.parameters():\n            p.grad = None\n")
    assert facts(script)["keeps_gradients"] is False


def test_scripts_that_contradict_one_another_say_nothing():
    assert "mismatch" not in facts(keras(units=1), keras(units=10))
    assert "learning_rate" not in said(torch() + "other = torch.optim.SGD(model.parameters(), lr=0.1)\n")


def test_fewer_outputs_than_classes():
    loads = "(a, b), (c, d) = keras.datasets.cifar100.load_data()\n"
    assert facts(loads + keras())["too_few_outputs"] is True
    assert facts(loads + keras(units=100))["too_few_outputs"] is False
    assert "too_few_outputs" not in facts(keras())


def test_whether_inputs_are_scaled_is_told_where_the_script_loads_them():
    loads = "x = image_dataset_from_directory('pictures')\n"
    assert facts(loads + keras())["unscaled_inputs"] is True
    assert facts(loads + "x = x / 255.0\n" + keras())["unscaled_inputs"] is False
    assert "unscaled_inputs" not in facts(keras())


def test_validation_split_takes_the_end():
    assert facts(keras())["validation_is_the_end"] is True
    assert facts("x, y = shuffle(x, y)\n" + keras())["validation_is_the_end"] is False


def test_a_piece_of_a_script_is_read_where_it_parses():
    piece = """\
    Flatten(),
    Dense(3, activation='softmax')
])

# then
!pip install keras
model.compile(loss='categorical_crossentropy', optimizer='sgd')
print 'done'
"""
    got = said(piece)

    assert got["script.last_units"] == 3
    assert got["optimizer"] == "sgd"


def test_a_library_and_a_script_without_training_are_left_alone(tmp_path):
    for name, text, match in (
        ("train.py", keras(), Match.MAYBE),
        ("notes.txt", keras(), Match.NO),
        ("trainer.py", "class MyTrainer:\n    def go(self):\n        loss.backward()\n", Match.NO),
        ("data.py", "import re\npattern = re.compile('x')\n", Match.NO),
    ):
        (tmp_path / name).write_text(text)
        assert SCRIPT.sniff(make_candidate(tmp_path / name, name)) is match


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_taken(text):
    list(statements(text))


def test_every_prefix_of_a_script_is_read():
    read_every_prefix("train.py", torch().encode(), SCRIPT, step=7)


def test_deep_and_long_texts_are_bounded():
    for text in ("(" * 5000, "x = " + "+".join("1" for _ in range(20_000)), "if a:\n" * 3, "a\n" * 50_000):
        list(statements(text))


@pytest.mark.parametrize(
    "number",
    ["9" * 400, "-" + "9" * 400, "0x" + "f" * 5000, "1e999", "-1e999", "1j", "-" * 900 + "1", "-True"],
)
def test_a_number_that_nobody_set_is_no_setting(number):
    found = said(
        f"{KERAS.format(units=number, activation='', loss=repr('mse'), optimizer=f'SGD(lr={number})')}"
    )
    assert "learning_rate" not in found
    assert "script.last_units" not in found


def test_many_loops_and_models_cost_no_more_than_their_number():
    loops = "for a in b:\n    loss.backward()\n    o.step()\n" * 3000
    models = (
        "class M:\n    def forward(s, x):\n        return a(x)\n"
        + "    y = 1\n" * 5000
        + "model = M()\n" * 5000
    )
    began_s = process_time()
    assert said(f"import torch\n{loops}{models}")["script.clears_gradients"] is False
    assert process_time() - began_s < 8  # each against all would be minutes
