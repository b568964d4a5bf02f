# SPDX-License-Identifier: Apache-2.0
"""Findings of shipped studies that have no file of their own here, on machines that are made up: each can hold and
fail. And no finding of any shipped study is without such a test.
"""

import ast
import dataclasses
import functools
import math
import random
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from corescale.conclude.answers.several_machines import Part, together
from corescale.conclude.answers.study import answers
from corescale.conclude.frame import frame
from corescale.declare import studies, study_file
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.outputs import Finding, Overheads
from corescale.machine import Machine
from corescale.records import Configuration, Record
from corescale.topology import Cpu
from support.play import record

pytestmark = pytest.mark.usefixtures("every_allocator")

Truth = Callable[[Configuration, str], float]
"""what a launch has of a metric; of WALL and MEMORY without a metric"""
WALL, MEMORY, BANDWIDTH = "wall", "memory", 1e10
ABSENT = "not on this machine"


def launches(made: Experiment, truth: Truth, cores: int) -> list[Record]:
    """Of twelve blocks with half a percent of noise, or of 18 in a study that spends its error over several looks."""
    draw, blocks = random.Random(1), 18 if made.stop.rule == "decided" else 12
    named = sorted({*made.metrics, *re.findall(r"^metric:(.*)", made.response)})
    true = {c: [truth(c, name) for name in (WALL, MEMORY, *named)] for c in configurations(made)}

    def launch(c: Configuration, block: int) -> Record:
        wall, memory, *metrics = (value * math.exp(0.005 * draw.gauss(0, 1)) for value in true[c])
        return record(c, wall, block=block, oversubscribed=c.layout.p > cores, peak_memory_kind="process",
                      peak_memory=int(1e9 * memory), metrics=dict(zip(named, metrics, strict=True)))  # fmt: skip

    return [launch(c, block) for block in range(blocks) for c in configurations(made)]


@functools.cache
def declared(study: str, cores: int, levels: tuple[str, ...] = ()) -> Experiment:
    """A study on so many cores, one of which reads BANDWIDTH."""
    cpus = tuple(Cpu(k, k, 0, 0, k // max(1, cores // 2)) for k in range(cores))
    here = dataclasses.replace(Machine.here(), cpus=cpus, affinity=tuple(range(cores)), quota_cores=None)
    made = study_file.experiment(studies.find(study), here, levels)
    return made.model_copy(update={"study": made.study.model_copy(update={"bandwidth": {"": BANDWIDTH}})})


def asked(made: Experiment, name: str) -> Finding | Overheads:
    (one,) = (one for one in made.study.outputs if one.name == name and isinstance(one, Finding | Overheads))
    return one


def verdicts(study: str, name: str, truth: Truth, cores: int, levels: tuple[str, ...] = ()) -> set[str]:
    made = declared(study, cores, levels)
    rows = frame(launches(made, truth, cores), made)
    return {str(answer.verdict) for answer in answers(rows, made, asked(made, name))}


def even(c: Configuration, metric: str) -> float:
    return 1e-3


def but(factor: float, truth: Truth = even, /, metric: str = ".*", **at: object) -> Truth:
    """The truth, and `factor` times as much of these metrics at these levels."""

    def here(c: Configuration) -> bool:
        return all(c[name] in (level if isinstance(level, tuple) else (level,)) for name, level in at.items())

    return lambda c, what: truth(c, what) * (factor if re.fullmatch(metric, what) and here(c) else 1)


def best_at(blocks: Mapping[str, int], kind: str, otherwise: int = 32) -> Truth:
    """Loops whose best block is 32, and another one in these cases, by the metric least or mean."""

    def truth(c: Configuration, metric: str) -> float:
        if not re.fullmatch(rf"{kind}_\d+", metric):
            return 1e-3
        off = int(metric.rpartition("_")[2]) / blocks.get(str(c["case"]), otherwise)
        return 1e-3 * (off + 1 / off)

    return truth


def reading(share: float) -> Truth:
    """One core reads D 35 times at this share of the bandwidth."""
    return lambda c, what: 140 * float(c.get("points") or 1) ** 2 / (c.layout.p * share * BANDWIDTH)


def nine_tenths(size: Callable[[Configuration], float]) -> Truth:
    """A product that is 90% efficient from this size on."""

    def truth(c: Configuration, metric: str) -> float:
        lost = (size(c) / float(c["size"])) ** 2 / 9 if c.layout.p > 1 else 0
        return 1e-9 * float(c["size"]) ** 3 * (1 + lost) / c.layout.p

    return truth


def always(size: float, c: Configuration) -> float:
    return size


def product(overhead: Callable[[Configuration], float]) -> Truth:
    return lambda c, what: (
        1e-9 * float(c["size"]) ** 3 / c.layout.p * (1 + (overhead(c) if c.layout.p > 1 else 0))
    )  # fmt: skip


OURS, THEIRS = {"allocator": "corescale"}, {"allocator": "system"}
AUTO, ON_AVERAGE = "least_auto", {"who": "policy"}
PEERS = ("system", "mimalloc", "jemalloc", "tcmalloc", "tbbmalloc", "snmalloc", "scudo", "hoard")
LARGE = ("ants_more", "evolution_more", "newton_more")
HOLDS_AND_FAILS: dict[tuple[str, str], tuple[Truth, Truth, int]] = {
    **{
        (study, f"ahead_of_{peer}"): (but(1.1, allocator=peer), but(0.9, allocator=peer), 2)
        for study in ("allocators", "allocators_stress") for peer in PEERS
    },
    **{
        (study, name): cases
        for study in ("allocators", "allocators_stress") for name, cases in {
            "never_far_behind": (but(1.02, **OURS), but(1.1, **OURS), 2),
            "lean": (but(1.1, metric=MEMORY, **OURS), but(1.2, metric=MEMORY, **OURS), 2),
        }.items()
    },
    ("block_size", "single_iterations_cost_on_average"): (but(1.2, metric="mean_1"), but(0.9, metric="mean_1"), 2),
    ("block_size", "rises_before_the_share_on_average"): (but(1.2, metric="mean_256"), but(0.9, metric="mean_256"), 2),
    ("block_size", "rises_before_the_share"): (but(1.2, metric="least_256"), but(0.9, metric="least_256"), 2),
    ("block_size", "falls_beyond_the_share"): (but(1.2, metric="least_1024"), but(0.9, metric="least_1024"), 2),
    ("block_size", "large_bodies_want_small_blocks"): (
        but(1.1, metric="least_128", case="read_4096"), but(0.9, metric="least_128", case="read_4096"), 2),
    ("block_size", "small_bodies_want_large_blocks"): (
        but(0.9, metric="least_128", case="read_64"), but(1.1, metric="least_128", case="read_64"), 2),
    ("block_size", "small_bodies_want_large_blocks_on_average"): (
        but(0.9, metric="mean_128", case="read_64"), but(1.1, metric="mean_128", case="read_64"), 2),
    ("block_size", "large_bodies_want_small_blocks_on_average"): (
        but(1.1, metric="mean_128", case="read_4096"), but(0.9, metric="mean_128", case="read_4096"), 2),
    **{
        ("block_size", f"more_{what}_wants_smaller_blocks_on_average"): (
            best_at({large: 8}, "mean"), best_at({large: 128}, "mean"), 2)
        for what, large in {"read": "read_4096", "written": "write_4096", "computation": "real_2_14"}.items()
    },
    ("block_size", "auto_beats_the_formula"): (but(0.9, metric=AUTO), but(1.1, metric=AUTO), 2),
    ("block_size", "auto_near_the_best"): (but(0.99, metric=AUTO), but(1.1, metric=AUTO), 2),
    ("block_size", "auto_near_a_block_that_is_known"): (
        but(1.01, metric="mean_auto"), but(1.1, metric="mean_auto"), 2),
    ("block_size_groups", "auto_near_the_best_on_groups"): (but(1.01, metric=AUTO), but(1.1, metric=AUTO), 8),
    ("block_size_simulated", "auto_near_the_best"): (but(1.01, policy="auto"), but(1.1, policy="auto"), 2),
    ("block_size_training", "auto_near_the_best"): (but(1.01, metric=AUTO), but(1.1, metric=AUTO), 2),
    ("block_size_taskflow", "formula_beats_taskflow_on_average"): (
        but(1.3, metric="seconds", who="taskflow"), but(1.1, metric="seconds", who="taskflow"), 8),
    ("block_size_taskflow", "slower_by_little_on_average"): (
        but(1.1, metric="seconds", who="formula"), but(1.4, metric="seconds", who="formula"), 8),
    ("block_size_taskflow", "taskflow_behind_its_policy"): (
        but(1.1, metric="seconds", who="taskflow"), but(0.9, metric="seconds", who="taskflow"), 2),
    ("block_size_taskflow", "threads_that_sleep"): (
        but(1.1, metric="seconds", who="policy_asleep"), but(0.9, metric="seconds", who="policy_asleep"), 2),
    ("block_size_taskflow", "taskflow_behind_threads_that_sleep"): (
        but(1.1, metric="seconds", who="taskflow"), but(1.1, metric="seconds", who="policy_asleep"), 2),
    ("block_size_taskflow", "taskflow_behind_its_policy_behind_a_pause"): (
        but(1.1, who="taskflow", pause=4), but(0.9, who="taskflow", pause=4), 2),
    ("block_size_taskflow", "blocks_alone_by_20_percent"): (but(1.3, who="policy"), but(1.1, who="policy"), 8),
    ("one_server_simulated", "knee_of_figure_3"): (
        but(1.2, cores=24, case="figure_3"), but(0.8, cores=24, case="figure_3"), 2),
    ("one_server_simulated", "knee_of_figure_4"): (
        but(1.2, cores=24, case="figure_4"), but(0.8, cores=24, case="figure_4"), 2),
    ("one_server_simulated", "figure_5_gains_with_threads"): (
        but(0.8, cores=24, case="figure_5"), but(1.1, cores=24, case="figure_5"), 2),
    ("remedies", "allocator_pays"): (but(0.9, command=LARGE, **OURS), but(1.1, command=LARGE, **OURS), 2),
    ("remedies", "allocator_does_nothing"): (but(0.7, command=LARGE, **OURS), but(0.9, **OURS), 2),
    ("remedies", "waiting_pays_where_fine"): (
        but(1.1, OMP_WAIT_POLICY="passive"), but(0.9, OMP_WAIT_POLICY="passive"), 2),
    ("remedies", "placement"): (but(0.9, bind="close:cores"), but(1.1, bind="close:cores"), 2),
    ("threads_and_mpi_bandwidth", "one_core_reads_at_its_bandwidth"): (reading(0.95), reading(0.6), 2),
    ("threads_and_mpi_bandwidth", "shared_memory_helps_the_eigenvector"): (but(1.1, ranks=24), but(0.9, ranks=24), 24),
    ("threads_and_mpi_annealing", "ring_as_allgather"): (even, but(1.3, metric="seconds", exchange="ring"), 4),
    ("threads_and_mpi_matrix", "size_of_nine_tenths_by_system"): (
        nine_tenths(lambda c: 200 if c["threading"] == "ports" else 400),
        nine_tenths(lambda c: 400 if c["threading"] == "ports" else 200), 2),
    ("threads_and_mpi_matrix", "grain_describes_the_product"): (
        product(lambda c: 1e6 * c.layout.p / float(c["size"]) ** 3 / 8),
        product(lambda c: 20 * c.layout.p / float(c["size"])), 2),
}  # fmt: skip
"""a truth at which a finding holds, one at which it does not, and how many cores there are"""
LEVELS = {
    ("threads_and_mpi_annealing", "ring_as_allgather"): ("ranks=1,4",),
    ("threads_and_mpi_bandwidth", "shared_memory_helps_the_eigenvector"): ("threads=1,24", "ranks=1,24"),
}


@pytest.mark.parametrize(("study", "name"), HOLDS_AND_FAILS)
def test_a_finding_holds_where_it_is_true_and_fails_where_it_is_not(study: str, name: str) -> None:
    true, false, cores = HOLDS_AND_FAILS[study, name]
    levels = LEVELS.get((study, name), ())
    assert verdicts(study, name, true, cores, levels) - {ABSENT} == {"holds"}
    assert verdicts(study, name, false, cores, levels) - {ABSENT} == {"does not hold"}


def test_ranks_of_two_cores_do_not_answer_for_a_node() -> None:
    assert verdicts("threads_and_mpi_bandwidth", "shared_memory_helps_the_eigenvector", but(1.1, ranks=2), 2) == {
        ABSENT
    }


@pytest.mark.parametrize(("sizes", "verdict"), [((600, 150), "holds"), ((300, 250), "does not hold")])
def test_two_machines_are_compared_by_the_size_that_each_needs(sizes: tuple[int, int], verdict: str) -> None:
    made = declared("threads_and_mpi_matrix", 4, ("threads=1,4",))
    amd, intel = (launches(made, nine_tenths(functools.partial(always, size)), 4) for size in sizes)
    both, records = together([Part("amd", made, amd), Part("intel", made, intel)])
    one = asked(both, "size_of_nine_tenths_by_machine")
    assert {answer.verdict for answer in answers(frame(records, both), both, one)} - {ABSENT} == {verdict}


def texts(file: Path) -> list[str]:
    """Patterns of the strings of a test, {fields} of which may be anything."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = (re.escape(p.value) if isinstance(p, ast.Constant) and isinstance(p.value, str) else "[a-z0-9_]+"
                     for p in node.values)  # fmt: skip
            found.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(re.escape(node.value))
    return [one for one in found if re.search("[a-z]{3}", one.replace("[a-z0-9_]+", ""))]


TESTS = {file.name: texts(file) for file in sorted(Path(__file__).parent.glob("test_*_findings.py"))}


@pytest.mark.parametrize("study", studies.shipped())
def test_every_finding_of_every_study_is_named_by_a_test_of_planted_truths(study: str) -> None:
    """Beside its study: two studies may have a finding of one name."""
    said = tomllib.loads(studies.find(study).read_text(encoding="utf-8"))
    names = [one["name"] for kind in ("finding", "overheads") for one in said.get(kind, [])]
    files = [found for found in TESTS.values() if any(re.fullmatch(one, study) for one in found)]
    assert [name for name in names if not any(re.fullmatch(one, name) for found in files for one in found)] == []
