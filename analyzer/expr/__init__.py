"""The condition language of rules: a closed, three-valued subset of Python's boolean syntax."""

from analyzer.expr.conditions import Condition, Verdict, compile_condition, decided_by, evaluate, is_number

__all__ = ["Condition", "Verdict", "compile_condition", "decided_by", "evaluate", "is_number"]
