# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of study files: what it computes, and what it refuses."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corescale.declare.arithmetic import FUNCTIONS, LONGEST, ordered, parse
from corescale.errors import UsageError

GOOD = [
    ("threads * load", {"threads": 4, "load": 16}, 64),
    ("isqrt(100 * threads * load)", {"threads": 4, "load": 1}, 20),
    ("isqrt(10)", {}, 3),
    ("10 * gcd(work, isqrt(work))", {"work": 16}, 40),
    ("10 * gcd(work, isqrt(work))", {"work": 8}, 20),
    ("sqrt(2)", {}, math.sqrt(2)),
    ("7 // 2 - 7 % 2", {}, 2),
    ("-(n + 1) / 2", {"n": 3}, -2.0),
    ("max(1, min(n, 8))", {"n": 99}, 8),
    ("1e3 * 2", {}, 2000.0),
]

BAD = [
    ("2 ** 9", "more than arithmetic"),
    ("__import__('os').system('true')", "more than arithmetic"),
    ("n.real", "more than arithmetic"),
    ("n[0]", "more than arithmetic"),
    ("'a' + 'b'", "more than arithmetic"),
    ("True + 1", "more than arithmetic"),
    ("n if n else 1", "more than arithmetic"),
    ("(lambda: 1)()", "more than arithmetic"),
    ("max(*n)", "more than arithmetic"),
    ("max(1, 2, key=n)", "more than arithmetic"),
    ("eval(n)", "more than arithmetic"),
    ("n < 2", "more than arithmetic"),
    ("n +", "not a formula"),
    ("n = 1", "not a formula"),
    ("(" * 300, "not a formula"),
    ("1+" * LONGEST + "1", "characters"),
    ("n / 0", "divides by zero"),
    ("n % 0.0", "divides by zero"),
]

WORTHLESS = [
    ("1 / n", {"n": 0}, "divides by zero at n = 0"),
    ("1 // (n - 1)", {"n": 1}, "divides by zero"),
    ("sqrt(n)", {"n": -1}, "no value"),
    ("isqrt(n)", {"n": -1}, "no value"),
    ("isqrt(n)", {"n": 1.5}, "wrong arguments"),
    ("n + 1", {"n": "mimalloc"}, "n, which is text"),
    ("n * 3", {"n": "mimalloc"}, "n, which is text"),
    ("max(n, 1)", {"n": "a"}, "n, which is text"),
    ("min(n)", {"n": 1}, "wrong arguments"),
    ("1e308 * n", {"n": 10}, "not a finite number"),
    ("1 / 3 * n", {"n": 10**400}, "no value"),
]


@pytest.mark.parametrize(("text", "values", "expected"), GOOD)
def test_computes(text: str, values: dict[str, int], expected: float) -> None:
    found = parse(text, "here")
    assert found.value(values, "here") == expected
    assert found.names == set(values)


@pytest.mark.parametrize(("text", "says"), BAD)
def test_refuses_what_is_not_arithmetic(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as error:
        parse(text, "derived.x")
    assert error.value.where == "derived.x" and "\n" not in str(error.value)


@pytest.mark.parametrize(("text", "values", "says"), WORTHLESS)
def test_says_where_there_is_no_value(text: str, values: dict[str, int | float | str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse(text, "derived.x").value(values, "derived.x")


def test_every_function_is_one_that_the_table_names() -> None:
    for name in FUNCTIONS:
        assert math.isfinite(parse(f"{name}(9, 4)" if name in ("min", "max") else f"{name}(9)", "x").value({}, "x"))


def test_order_follows_use_and_a_cycle_is_named() -> None:
    def formulas(**texts: str) -> dict[str, object]:
        return {name: parse(text, name) for name, text in texts.items()}

    assert ordered(formulas(a="b + 1", b="c", c="n"), {"n"}, "derived") == ("c", "b", "a")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cycle") as error:
        ordered(formulas(a="b", b="c", c="a", d="n"), {"n"}, "derived")  # type: ignore[arg-type]
    assert all(name in error.value.what for name in "abc") and "d" not in error.value.what.split(":")[0]
    with pytest.raises(UsageError, match=r"derived\.work: unknown name 'thread'.*did you mean threads"):
        ordered(formulas(work="thread * 2"), {"threads"}, "derived")  # type: ignore[arg-type]


@given(st.text(alphabet="abn0123456789+-*/%().,[]{}'\"=<>:_ \n", max_size=60))
def test_any_text_is_computed_or_refused_in_one_line(text: str) -> None:
    try:
        found = parse(text, "x").value({"a": 1, "b": 2, "n": 0}, "x")
    except UsageError as error:
        assert error.exit_code == 2
    except KeyError:
        pass  # a name that `ordered` would have refused
    else:
        assert math.isfinite(found)
