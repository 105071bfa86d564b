"""The condition language of rules: a closed, three-valued subset of Python's boolean syntax."""

from analyzer.expr.evaluate import Verdict, decided_by, evaluate
from analyzer.expr.parse import Condition, compile_condition

__all__ = ["Condition", "Verdict", "compile_condition", "decided_by", "evaluate"]
