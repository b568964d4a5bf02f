# SPDX-License-Identifier: Apache-2.0
"""Numbers, names and brackets beyond all measure: an answer or one line, never a defect of corescale."""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from corescale import native
from corescale.conclude import overhead_forecast
from corescale.conclude.models.bootstrap import Resamples
from corescale.conclude.models.fit import _parameter
from corescale.conclude.models.model import AMDAHL, USL
from corescale.declare import arithmetic, study_file
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.declare.plan import Block, invocations
from corescale.errors import CorescaleError, ProgramError, StoreError, UnavailableError, UsageError
from corescale.observe import environment
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.landscape import Landscape
from corescale.observe.sources.result import parse_results
from corescale.observe.store.durable import read_lines
from corescale.observe.store.lines import History
from corescale.observe.store.run import read_object
from corescale.records import Noise
from corescale.show import files
from support.play import record

DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    ["base = inf", "base = nan", "between = inf", "drift = -inf", "[metrics.m]\nbase = nan", "x = " + "[" * DEEP,
     "seed = " + "9" * 5000, "[noise]\nsize = inf"],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_a_landscape_of_no_numbers_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "l.toml").write_text(text)
    with pytest.raises(UsageError):
        Landscape.read(tmp_path / "l.toml")


@pytest.mark.parametrize("values", [{"base": 1e308}, {"drift": 1e9}, {"drift": -1e9}, {"first_in_block": 1e5}])
def test_a_landscape_in_which_no_launch_ends_is_refused(experiment: object, values: dict[str, float]) -> None:
    e: Experiment = experiment()  # type: ignore[operator]
    fake = Fake(e, Landscape.model_validate({"between": 3600.0, **values}))
    with pytest.raises(UsageError, match=r"landscape: a launch of .* would take .* s; give it smaller numbers"):
        for _ in range(3):
            list(fake.launch(invocations(Block("measure", (baseline(e),)), 0, 0, baseline(e), 1)))


@pytest.mark.parametrize("text", ["n = " + "[" * DEEP, "n = " + "9" * 5000])
def test_a_study_of_brackets_or_digits_without_end(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(UsageError, match="not TOML"):
        study_file.read(tmp_path / "s.toml")


def test_a_formula_whose_value_has_thousands_of_digits() -> None:
    formula = arithmetic.parse("*".join(["n"] * 60), "derived.m")
    assert formula.value({"n": 10}, "derived.m") == 10**60
    with pytest.raises(UsageError, match="too large at n = 1000000000000"):
        formula.value({"n": 10**12}, "derived.m")


@pytest.mark.parametrize("text", ["-" * 20_000 + "1", "9" * 5000, "(" * 400])
def test_an_overhead_of_no_formula(text: str) -> None:
    with pytest.raises(UsageError, match="--overhead: "):
        overhead_forecast.split(text)


def test_files_of_a_run_with_brackets_without_end(tmp_path: Path) -> None:
    for text in ("[" * DEEP, '{"a":' * DEEP, "9" * 5000):
        (tmp_path / "plan.json").write_text(text)
        with pytest.raises(StoreError):
            read_object(tmp_path / "plan.json")
        (tmp_path / "records.jsonl").write_text(f"{text}\n{{}}\n")
        with pytest.raises(StoreError):
            read_lines(tmp_path / "records.jsonl")


@pytest.mark.parametrize(
    ("written", "kept"), [("1e308", {}), ("1e-300", {}), ("0", {"m": 0.0}), ("1e149", {"m": 1e149})]
)
def test_a_metric_that_nobody_can_calculate_with_is_none(written: str, kept: dict[str, float], tmp_path: Path) -> None:
    assert parse_results(tmp_path, json.dumps({"n": 1}).replace("}", f', "m": {written}}}')).metrics == {
        "n": 1.0,
        **kept,
    }


def test_an_end_of_an_interval_beyond_all_numbers_is_infinite() -> None:
    """Of launches so noisy that the logarithm of T(1) may be anything."""
    terms, wild = np.array([1e-3, 1e-3]), np.abs(np.random.default_rng(1).normal(1e-3, 1e-3, (500, 2)))
    drawn = Resamples(terms, 1e6 * np.eye(2), wild, np.broadcast_to(1e-9 * np.eye(2), (500, 2, 2)))
    found = _parameter(AMDAHL.parameters[0], terms, drawn, 0.95, 6)
    assert found.high == math.inf and found.low == 0.0
    assert USL.parameters[0].shown(1e4) == math.inf


def test_a_program_of_a_name_that_no_file_has() -> None:
    for name in ("x" * 300, "y" * 5000):
        with pytest.raises(UnavailableError):
            native.find(name)
        with pytest.raises(ProgramError, match="no such program"):
            environment.locate(name)


@pytest.mark.parametrize("name", ["x" * 300, "a/" + "y" * 300, "a" * 5000])
def test_an_export_of_a_name_that_no_file_has(name: str) -> None:
    with pytest.raises(CorescaleError, match="cannot be written: "):
        files.must_be_writable(name)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({"peak_memory": -5}, "peak_memory = -5 .* 0 "),
        ({"peak_memory": 10**400}, "peak_memory = 1000.* 0 "),
        ({"threads_asked": 0}, "threads_asked = 0 .* 1 "),
        ({"noise": Noise(steal=-7.0)}, "steal = -7.0 .* 0 "),
        ({"noise": Noise(throttled=math.nan)}, "throttled = nan .* 0 "),
        ({"noise": Noise(cpus=0)}, "cpus = 0 .* 1 "),
    ],
)
def test_a_launch_has_no_less_than_nothing(
    experiment: Callable[..., Experiment], edit: dict[str, object], says: str
) -> None:
    made = record(baseline(experiment()), 1.0)
    History().add_record(made)
    with pytest.raises(StoreError, match=says):
        History().add_record(dataclasses.replace(made, **edit))  # type: ignore[arg-type]


@pytest.mark.parametrize("cpus", [100_001, 10**300], ids=["a few", "far"])
def test_a_launch_has_no_more_cpus_than_any_machine(experiment: Callable[..., Experiment], cpus: int) -> None:
    made = record(baseline(experiment()), 1.0, noise=Noise(foreign=0.0, cpus=cpus))
    with pytest.raises(StoreError, match="cpus is more than any machine has"):
        History().add_record(made)
