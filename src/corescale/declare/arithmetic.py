# SPDX-License-Identifier: Apache-2.0
"""The small arithmetic of study files: numbers, names, + - * / // %, brackets, and the functions of FUNCTIONS.

Parsed to a tree, of which functions are composed once; the text is never executed. Integers stay integers except under
/ and sqrt.
"""

import ast
import functools
import graphlib
import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corescale.errors import UsageError, nearest
from corescale.records import Level

LONGEST = 500
"""most characters of a formula, which also bounds the depth of its tree and the size of its numbers"""

MOST_BITS = 1024
"""most bits of a whole number, so that it fits into a float"""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "isqrt": math.isqrt,
    "gcd": math.gcd,
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
}
"""isqrt: the integer part of the square root; gcd: the largest whole number that divides all"""

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_WRITE = f"write it with + - * / // % and {', '.join(FUNCTIONS)}"


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed formula."""

    text: str
    names: frozenset[str]
    _of: Callable[[Mapping[str, Level]], Any]

    def value(self, values: Mapping[str, Level], where: str) -> int | float:
        """The value for these names; raises UsageError that names `where` for division by zero and the like."""
        try:
            found = self._of(values)
            if isinstance(found, float) and math.isfinite(found):
                return found
            if isinstance(found, int) and found.bit_length() <= MOST_BITS:
                return found
            why = "is not a finite number, or one too large"
        except ZeroDivisionError:
            why = "divides by zero"
        except TypeError:
            text = next((name for name in sorted(self.names) if isinstance(values.get(name), str)), "")
            why = f"calculates with {text}, which is text" if text else "gives a function wrong arguments"
        except (ValueError, OverflowError):
            why = "has no value: a root of a negative or broken number, or one too large"
        given = ", ".join(f"{name} = {values[name]}" for name in sorted(self.names))
        what = f"{self.text!r} {why}" + (f" at {given}" if given else "")
        raise UsageError(what, where=where, remedy="change the formula, or leave those levels out")


@functools.lru_cache(maxsize=512)
def parse(text: str, where: str) -> Expression:
    """Parses a formula; raises UsageError for anything but the arithmetic above."""
    if len(text) > LONGEST:
        raise UsageError(f"formula of more than {LONGEST} characters", where=where, remedy="split it")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"not a formula: {text!r}", where=where, remedy=_WRITE) from None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        _allow(node, text, where)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}
    return Expression(text, frozenset(names), _composed(tree))


def ordered(formulas: Mapping[str, Expression], known: Collection[str], where: str) -> tuple[str, ...]:
    """The formulas' names, each after those that it uses; raises UsageError for an unknown name and a cycle."""
    for name, formula in formulas.items():
        for used in sorted(formula.names - set(known) - set(formulas)):
            candidates = sorted({*known, *formulas} - {name})
            remedy = nearest(used, candidates, f"known here: {', '.join(candidates)}")
            raise UsageError(f"unknown name {used!r} in {formula.text!r}", where=f"{where}.{name}", remedy=remedy)
    graph = {name: formula.names & set(formulas) for name, formula in formulas.items()}
    try:
        return tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise UsageError(f"{circle}: a cycle", where=where, remedy="give one of them a value of its own") from None


def _allow(node: ast.AST, text: str, where: str) -> None:
    allowed = isinstance(node, ast.Name | ast.Load | ast.operator | ast.unaryop)
    if isinstance(node, ast.BinOp):
        allowed = type(node.op) in _BINARY
        divides = isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)
        if divides and isinstance(node.right, ast.Constant) and node.right.value == 0:
            raise UsageError(f"{text!r} divides by zero", where=where, remedy="divide by something else")
    elif isinstance(node, ast.UnaryOp):
        allowed = type(node.op) in _UNARY
    elif isinstance(node, ast.Constant):
        allowed = type(node.value) in (int, float)
    elif isinstance(node, ast.Call):
        allowed = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords
    if not allowed:
        raise UsageError(f"{text!r} is more than arithmetic", where=where, remedy=_WRITE)


def _composed(node: ast.expr) -> Callable[[Mapping[str, Level]], Any]:
    """The value of a tree as a function of the values of its names."""
    if isinstance(node, ast.Constant):
        constant = node.value
        return lambda _: constant
    if isinstance(node, ast.Name):
        return operator.itemgetter(node.id)
    if isinstance(node, ast.UnaryOp):
        return _applied(_UNARY[type(node.op)], [node.operand])
    if isinstance(node, ast.BinOp):
        return _applied(_BINARY[type(node.op)], [node.left, node.right])
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return _applied(FUNCTIONS[node.func.id], node.args)


def _applied(function: Callable[..., Any], nodes: Sequence[ast.expr]) -> Callable[[Mapping[str, Level]], Any]:
    arguments = [_composed(node) for node in nodes]

    def value(values: Mapping[str, Level]) -> Any:
        given = [argument(values) for argument in arguments]
        if str in map(type, given):
            raise TypeError
        return function(*given)

    return value
