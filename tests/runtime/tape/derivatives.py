# SPDX-License-Identifier: Apache-2.0
"""Writes derivatives.inc: functions, points, and what 50 digits of mpmath say of values and derivatives there.

python3 tests/runtime/tape/derivatives.py > tests/runtime/tape/derivatives.inc (needs mpmath; the tests do not).
"""

from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 50
ORDER = 4
UNARY: dict[str, tuple[Callable[[mp.mpf], mp.mpf], tuple[float, ...]]] = {
    "negate": (lambda x: -x, (-1.5, 0.0, 2.0)),
    "sqrt": (mp.sqrt, (0.04, 1.0, 700.0)),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), (-8.5, 0.001, 2.0)),
    "exp": (mp.exp, (-30.0, 0.0, 5.5)),
    "exp2": (lambda x: mp.mpf(2) ** x, (-10.0, 0.5, 7.0)),
    "expm1": (mp.expm1, (-40.0, 1e-10, 3.0)),
    "log": (mp.log, (1e-8, 1.5, 1e6)),
    "log2": (lambda x: mp.log(x) / mp.log(2), (1e-8, 1.5, 1e6)),
    "log10": (mp.log10, (1e-8, 1.5, 1e6)),
    "log1p": (mp.log1p, (-0.75, 1e-10, 30.0)),
    "sin": (mp.sin, (-4.0, 0.0, 100.0)),
    "cos": (mp.cos, (-4.0, 0.5, 100.0)),
    "tan": (mp.tan, (-1.25, 0.0, 1.5)),
    "asin": (mp.asin, (-0.99, 0.125, 0.75)),
    "acos": (mp.acos, (-0.99, 0.125, 0.75)),
    "atan": (mp.atan, (-20.0, 0.0, 0.75)),
    "sinh": (mp.sinh, (-3.0, 0.0, 20.0)),
    "cosh": (mp.cosh, (-3.0, 0.0, 20.0)),
    "tanh": (mp.tanh, (-3.0, 0.0, 9.0)),
    "asinh": (mp.asinh, (-30.0, 0.0, 0.75)),
    "acosh": (mp.acosh, (1.0625, 2.0, 50.0)),
    "atanh": (mp.atanh, (-0.99, 0.0, 0.5)),
    "erf": (mp.erf, (-2.0, 0.0, 0.75)),
    "erfc": (mp.erfc, (-2.0, 0.5, 5.0)),
    "tgamma": (mp.gamma, (-2.5, 0.25, 6.5)),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), (-2.5, 0.25, 40.0)),
    "abs": (abs, (-2.0, 3.0)),
    "sign": (mp.sign, (-2.0, 3.0)),
    "floor": (mp.floor, (-2.5, 3.25)),
    "ceil": (mp.ceil, (-2.5, 3.25)),
    "trunc": (lambda x: mp.sign(x) * mp.floor(abs(x)), (-2.5, 3.25)),
    "round": (lambda x: mp.sign(x) * mp.floor(abs(x) + 0.5), (-2.25, 3.75)),
    "rint": (mp.nint, (-2.25, 3.75)),
}
BINARY: dict[str, tuple[Callable[[mp.mpf, mp.mpf], mp.mpf], tuple[tuple[float, float], ...]]] = {
    "add": (lambda x, y: x + y, ((1.5, -2.0),)),
    "subtract": (lambda x, y: x - y, ((1.5, -2.0),)),
    "multiply": (lambda x, y: x * y, ((1.5, -2.0), (0.0, 3.0))),
    "divide": (lambda x, y: x / y, ((1.5, -2.0), (0.0, 3.0))),
    "pow": (lambda x, y: x**y, ((1.5, -2.0), (3.0, 0.5), (0.25, 4.0))),
    "hypot": (lambda x, y: mp.sqrt(x * x + y * y), ((3.0, -4.0), (0.5, 0.125))),
    "atan2": (mp.atan2, ((1.5, -2.0), (-0.5, 3.0), (-1.0, -1.0))),
    "fmin": (min, ((1.5, -2.0), (1.0, 3.0))),
    "fmax": (max, ((1.5, -2.0), (1.0, 3.0))),
    "fdim": (lambda x, y: max(x - y, mp.mpf(0)), ((1.5, -2.0), (1.0, 3.0))),
    "copysign": (lambda x, y: abs(x) * mp.sign(y), ((1.5, -2.0), (-1.0, -3.0), (-1.0, 2.0))),
    "fmod": (lambda x, y: x - y * mp.sign(x / y) * mp.floor(abs(x / y)), ((7.5, 2.0), (-7.5, 3.0))),
    "remainder": (lambda x, y: x - y * mp.nint(x / y), ((7.5, 2.0), (-7.0, 3.0))),
}


def number(value: mp.mpf) -> str:
    """A literal that reads back as the nearest double."""
    return repr(float(value))


def main() -> None:
    """Prints both tables."""
    print("// Written by derivatives.py: name, x, f, f', f'', ... or name, x, y, f, fx, fy, fxx, fxy, fyy.")
    for name, (f, points) in UNARY.items():
        for x in points:
            values = [f(mp.mpf(x))] + [mp.diff(f, mp.mpf(x), k) for k in range(1, ORDER + 1)]
            print(f"UNARY({name}, {number(x)}, {', '.join(map(number, values))})")
    orders = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    for name, (g, pairs) in BINARY.items():
        for x, y in pairs:
            at = (mp.mpf(x), mp.mpf(y))
            values = [g(*at) if k == (0, 0) else mp.diff(g, at, k) for k in orders]
            print(f"BINARY({name}, {number(x)}, {number(y)}, {', '.join(map(number, values))})")


if __name__ == "__main__":
    main()
