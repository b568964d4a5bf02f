# SPDX-License-Identifier: Apache-2.0
"""The study's own tables (data/faa) as a machine: what the findings say of a machine that obeys the paper."""

import csv
import dataclasses
import random
from collections.abc import Callable

import pytest

from corescale.conclude.answers.findings import answers
from corescale.conclude.frame import frame
from corescale.declare import programs, studies, study_file
from corescale.declare.grid import configurations
from corescale.declare.outputs import Finding
from corescale.machine import Machine
from corescale.records import Configuration
from corescale.topology import Cpu
from support.play import record

Column = dict[int, float]
"""clocks of a loop, by its block"""


def rows(name: str) -> list[dict[str, str]]:
    with (programs.data_folder() / "faa" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def case(row: dict[str, str], power: int) -> str:
    """The name that the studies have for a row's body."""
    read, write = row["unit_read"], row["unit_write"]
    if (read, write) == ("1024", "1024"):
        return f"c_{power}"
    return f"read_{read}" if write == "1024" else f"write_{write}"


def tables() -> dict[tuple[str, int], dict[str, Column]]:
    """Columns by platform and threads, and by body; a doubtful cell is that of the block before it."""
    found: dict[tuple[str, int], dict[str, Column]] = {}
    for row in rows("tables.csv"):
        bodies = found.setdefault((row["platform"], int(row["threads"])), {})
        column = bodies.setdefault(case(row, int(row["unit_comp_log1024"])), {})
        block = int(row["block_size"])
        column[block] = column[block // 2] if row["suspect"] else float(row["clocks"])
    return found


TABLES = tables()


def said(study: str, name: str, cores: int, metrics: Callable[[Configuration], dict[str, float]]) -> dict[str, str]:
    """The verdict of each body, or of "" alone."""
    cpus = tuple(Cpu(k, k, 0, 0, 0) for k in range(cores))
    here = dataclasses.replace(Machine.here(), cpus=cpus, affinity=tuple(range(cores)), quota_cores=None)
    made, draw = study_file.experiment(studies.find(study), here), random.Random(1)
    records = [
        record(c, 1.0, block=block,
               metrics={key: value * draw.uniform(0.999, 1.001) for key, value in metrics(c).items()})
        for block in range(12) for c in configurations(made)
    ]  # fmt: skip
    finding = next(one for one in made.study.outputs if isinstance(one, Finding) and one.name == name)
    return {str(one.at.get("case", "")): one.verdict for one in answers(frame(records, made), made, finding)}


def of_a_column(name: str, platform: str, threads: int) -> dict[str, str]:
    """What block_size says of the bodies that these tables have. Its c_6 is any column of the printed loop."""
    bodies = TABLES[platform, threads]
    other = dict.fromkeys(next(iter(bodies.values())), 1.0)
    found: dict[str, str] = {}
    for printed in [body for body in bodies if body.startswith("c_")]:

        def metrics(c: Configuration, printed: str = printed) -> dict[str, float]:
            column = bodies.get(printed if c["case"] == "c_6" else str(c["case"]), other)
            return {f"{kind}_{block}": 1e-9 * clocks for block, clocks in column.items() for kind in ("least", "mean")}

        verdicts = said("block_size", name, threads, metrics)
        found |= {printed if at == "c_6" else at: one for at, one in verdicts.items()}
    return {at: verdict for at, verdict in found.items() if at in bodies or not at}


@pytest.mark.parametrize(("platform", "threads"), TABLES)
def test_single_iterations_are_slower_in_every_column_of_these_bodies(platform: str, threads: int) -> None:
    assert set(of_a_column("single_iterations_cost", platform, threads).values()) <= {"holds"}


def test_elsewhere_the_tables_say_the_opposite_too() -> None:
    assert of_a_column("single_iterations_cost_elsewhere", "AMD-3970X", 32)["write_65536"] == "does not hold"
    assert of_a_column("single_iterations_cost_elsewhere", "Gold-5225R", 4)["read_4096"] == "does not hold"


@pytest.mark.parametrize("platform", ["W-3225R", "Gold-5225R", "AMD-3970X"])
@pytest.mark.parametrize("name", ["rises_before_the_share", "falls_beyond_the_share"])
def test_latency_rises_before_a_share_and_beyond_it(platform: str, name: str) -> None:
    """On 8 threads the paper's N, 4096, is the study's."""
    found = of_a_column(name, platform, 8)
    assert found and set(found.values()) == {"holds"}


@pytest.mark.parametrize("threads", [4, 16, 24])
def test_more_read_has_smaller_best_blocks_in_the_tables(threads: int) -> None:
    for name in ("more_read_wants_smaller_blocks", "large_bodies_want_small_blocks"):
        assert of_a_column(name, "Gold-5225R", threads) == {"": "holds"}


COMPARED = {"W-3225R": 8, "Gold-5225R": 24, "AMD-3970X": 64}
"""threads of the comparison with Taskflow"""


def taskflow(name: str, platform: str) -> str:
    printed: dict[str, tuple[float, float]] = {}
    for row in rows("taskflow_and_cost_model.csv"):
        if row["platform"].startswith(platform[:4]):
            body = case(row, round(len(bin(int(row["unit_comp"]))[3:]) / 10))
            printed[body] = (float(row["taskflow_clocks"]), float(row["costmodel_clocks"]))
    assert len(printed) == 16

    def metrics(c: Configuration) -> dict[str, float]:
        theirs, formula = printed[str(c["case"])]
        seconds = 1e-9 * (theirs if c["who"] == "taskflow" else formula)
        return {"least_seconds": seconds, "seconds": seconds, "ticks_per_second": 1e9, "at_once": 16.0}

    return said("block_size_taskflow", name, COMPARED[platform], metrics)[""]


@pytest.mark.parametrize("platform", COMPARED)
def test_the_comparison_with_taskflow_holds_by_the_papers_rows(platform: str) -> None:
    assert taskflow("formula_beats_taskflow_in_general", platform) == "holds"
    assert taskflow("slower_by_little", platform) == "holds"
    several = "holds" if platform == "AMD-3970X" else "does not hold"
    assert taskflow("fifth_of_taskflow", platform) == several, "the paper's three such rows are of two machines"
