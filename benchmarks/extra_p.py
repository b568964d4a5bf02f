# SPDX-License-Identifier: Apache-2.0
"""Our normal form beside Extra-P itself, on the same files: scripts/bench extra_p [RUN...].

Extra-P (Calotoiu et al. 2013) is installed from PyPI into a scratch environment below build/, without its window, and
is no dependency of anything. Both get the same JSON lines: generated times whose model is known, with 2% noise, and the
curves of run folders that are named. Its strong-scaling option (negative exponents) is on. A row says which form each
found, and how far each forecast at twice and eight times the largest p is from the truth, where that is known.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from corescale.conclude.answers.scaling import scan
from corescale.conclude.models.normal_form import normal_form
from corescale.conclude.response import table
from corescale.conclude.stats import Floats
from corescale.observe import store

VERSION = "4.2.5"
NEEDS = ("numpy<3", "marshmallow<4", "packaging", "pycubexr", "tqdm", "scikit-learn", "matplotlib")
"""what its models import; its window (PySide6) is left out"""
THEIRS = """
import json, sys
from extrap.fileio.file_reader.jsonlines_file_reader import read_jsonlines_file
from extrap.modelers.model_generator import ModelGenerator
from extrap.modelers.single_parameter.basic import SingleParameterModeler
modeler = SingleParameterModeler()
modeler.allow_negative_exponents = True
generator = ModelGenerator(read_jsonlines_file(sys.argv[1]), modeler)
generator.model_all()
(model,) = generator.models.values()
function = model.hypothesis.function
print(json.dumps({"form": str(function), "at": [float(function.evaluate(float(p))) for p in sys.argv[2:]]}))
"""
P = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
TRUTHS: dict[str, Callable[[Floats], Floats]] = {
    "1 + 0.5 p": lambda p: 1 + 0.5 * p,
    "0.2 + 3 / p": lambda p: 0.2 + 3 / p,
    "2 + 0.3 log2 p": lambda p: 2 + 0.3 * np.log2(p),
    "1 + 0.1 p^1.5": lambda p: 1 + 0.1 * p**1.5,
    "0.1 + 4 / p + 0.02 p (no single term)": lambda p: 0.1 + 4 / p + 0.02 * p,
}
BEYOND = (2, 8)
"""multiples of the largest p at which forecasts are compared"""


def environment() -> Path:
    """The Python of the scratch environment, made where it is not there."""
    folder = Path("build") / f"extra-p-{VERSION}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        for words in ([*NEEDS], ["--no-deps", f"extrap=={VERSION}"]):
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *words], check=True)
        (folder / "ready").touch()
    return python


def theirs(python: Path, p: Floats, times: Floats, at: Sequence[float]) -> tuple[str, Sequence[float]]:
    """Extra-P's model, and its times at other p."""
    lines = [
        json.dumps({"params": {"p": level}, "callpath": "main", "metric": "time", "value": value})
        for level, column in zip(p.tolist(), times.T, strict=True)
        for value in column[np.isfinite(column)].tolist()
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "measured.jsonl"
        file.write_text("\n".join(lines) + "\n")
        command = [str(python), "-W", "ignore", "-c", THEIRS, str(file), *map(str, at)]
        said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    return str(said["form"]), said["at"]


def ours(p: Floats, times: Floats, at: Sequence[float]) -> tuple[str, Sequence[float]]:
    """Our form with its terms, and its times at other p."""
    model, fit = normal_form(p, np.log(times))
    terms = ", ".join(f"{name} = {value.estimate:.3g}" for name, value in fit.parameters.items())
    return f"{model.formula} ({terms})", fit.time(np.array(at)).tolist()


def row(python: Path, name: str, p: Floats, times: Floats, truth: Callable[[Floats], Floats] | None) -> str:
    """Both forms, and the errors of both forecasts."""
    at = [float(p.max()) * k for k in BEYOND]
    cells = []
    for form, found in (ours(p, times, at), theirs(python, p, times, at)):
        cells.append(form)
        cells += [_off(t, truth(np.array([x]))[0] if truth else math.nan) for t, x in zip(found, at, strict=True)]
    return f"| {name} | {' | '.join(cells)} |"


def _off(found: float, truth: float) -> str:
    return f"{found:.3g} s" if math.isnan(truth) else f"{found / truth - 1:+.1%}"


def measured(runs: Sequence[Path]) -> Mapping[str, tuple[Floats, Floats]]:
    """The curves of run folders with at least five levels of p, which Extra-P asks for."""
    found = {}
    for run in map(store.load, runs):
        times = table(run.records, run.experiment.response)
        for curve in scan(run.records, run.experiment, models=False).curves:
            rows = [one for one in curve.rows if one.time.estimate > 0]
            if len(rows) >= 5:
                columns = np.column_stack([times.column(one.configuration) for one in rows])
                found[f"{run.folder} {curve.label}"] = np.array([float(one.p) for one in rows]), columns
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--noise", type=float, default=0.02)
    parser.add_argument("--blocks", type=int, default=8)
    given = parser.parse_args()
    made, random = environment(), np.random.default_rng(1)
    heads = [f"{who}{what}" for who in ("ours", "Extra-P") for what in ("", *(f", at {k} P" for k in BEYOND))]
    print(f"| times | {' | '.join(heads)} |\n|{'---|' * (1 + len(heads))}")
    for name, truth in TRUTHS.items():
        noisy = truth(P) * np.exp(given.noise * random.standard_normal((given.blocks, P.size)))
        print(row(made, f"generated: {name}", P, noisy, truth), flush=True)
    for name, (levels, times) in measured(given.runs).items():
        print(row(made, name, levels, times, None), flush=True)
