"""Usual mistakes of programs: known by class and message, each with a fix of its own."""

from pathlib import Path

import pytest

import analyzer
from analyzer.detect.failures import exceptions
from analyzer.detect.failures.exceptions import mistake
from analyzer.rules.load import load_rules
from analyzer.vocabulary.expressions import expressions

TRACEBACK = 'Traceback (most recent call last):\n  File "/home/user/proj/train.py", line 40, in main\n    step(batch)\n'
NAMES = list(expressions(Path(exceptions.__file__).with_name("mistakes.yaml")))


@pytest.mark.parametrize(
    ("kind", "message", "name"),
    [
        ("UnboundLocalError", "cannot access local variable 'loss' where it is not associated with a value", "unset_variable"),
        ("NameError", "name 'lossfn' is not defined", "undefined_name"),
        ("AttributeError", "Can't pickle local object 'make.<locals>.<lambda>'", "unpicklable"),
        ("_pickle.PicklingError", "Can't pickle <function f at 0x7f0>: attribute lookup f on __main__ failed", "unpicklable"),
        ("RuntimeError", "An attempt has been made to start a new process before the current process has finished its bootstrapping phase.", "main_unguarded"),
        ("TypeError", "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.", "on_device_to_numpy"),
        ("RuntimeError", "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.", "grad_to_numpy"),
        ("RuntimeError", "expected scalar type Half but found Float", "dtypes_differ"),
        ("RuntimeError", "\"host_softmax\" not implemented for 'Long'", "dtypes_differ"),
        ("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (8x12 and 16x4)", "shapes_differ"),
        ("ValueError", "operands could not be broadcast together with shapes (3,) (4,)", "shapes_differ"),
        ("TypeError", "'NoneType' object is not subscriptable", "is_none"),
        ("AttributeError", "'NoneType' object has no attribute 'shape'", "is_none"),
        ("TypeError", "Net.forward() got an unexpected keyword argument 'mask'", "unknown_argument"),
        ("TypeError", "forward() takes 2 positional arguments but 3 were given", "unknown_argument"),
        ("TypeError", "step() missing 1 required positional argument: 'metric'", "missing_argument"),
        ("AttributeError", "'DataParallel' object has no attribute 'encode'", "missing_attribute"),
        ("KeyError", "'pixel_values'", "missing_key"),
        ("IndexError", "list index out of range", "past_the_end"),
        ("IndexError", "index 12 is out of bounds for axis 0 with size 12", "past_the_end"),
        ("ValueError", "too many values to unpack (expected 2)", "values_unpacked"),
        ("ValueError", "could not convert string to float: 'n/a'", "no_number"),
        ("ZeroDivisionError", "division by zero", "zero_divisor"),
        ("TypeError", "Object of type float32 is not JSON serializable", "not_for_json"),
        ("RuntimeError", "Boolean value of Tensor with more than one value is ambiguous", "truth_of_array"),
        ("TypeError", "string indices must be integers", "wrong_type"),
        ("SyntaxError", "invalid syntax", "not_parsed"),
        ("RecursionError", "maximum recursion depth exceeded", "too_deep"),
        ("NotImplementedError", "", "not_written_yet"),
        ("AssertionError", "len(a) == len(b)", "asserted"),
        ("RuntimeError", "the reader gave up", None),
        ("acme.KeyErrorLike", "'x'", None),
    ],
)  # fmt: skip
def test_a_usual_mistake_is_known(kind, message, name):
    assert mistake(kind, message) == name


def test_each_mistake_has_its_fix_and_each_such_fix_its_mistake():
    rule = load_rules(()).by_id("SW001")

    assert {fix.id.replace("-", "_") for fix in rule.fixes} >= set(NAMES)


@pytest.mark.parametrize(
    ("last", "title"),
    [
        ("ZeroDivisionError: float division by zero\n", "Find why the divisor is 0"),
        ("RuntimeError: the reader gave up\n", "Correct the code at the last frame"),
        ("", "Correct the code at the last frame"),  # its last line is lost
    ],
)
def test_the_first_fix_fits_the_mistake(tmp_path, last, title):
    log = tmp_path / "train.log"
    log.write_text("epoch 1 loss 2.5\n" + TRACEBACK + last)
    (finding,) = [f for f in analyzer.diagnose(log).findings if f.cause.id == "user-code-exception"]

    assert finding.fixes[0].title.startswith(title)
