# SPDX-License-Identifier: Apache-2.0
"""Models trained on loops of one's own: columns from records, and a model that finds the truth that made them."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest

from corescale.conclude.block_size import recorded, scoring
from corescale.errors import UsageError
from corescale.records import Configuration, Layout, Record

BLOCKS = (1, 4, 16, 64, 256, 1024)
AUTO = 0


def seconds(threads: int, read: int, write: int, operations: int, n: int, block: int) -> float:
    """Claims of 60 ns, iterations of known cost, and half a block's wait at the end."""
    w = 20 + 0.4 * read + 0.2 * write + 0.3 * operations
    best = math.sqrt(2 * n * 60 / (threads * w))
    b = min(block if block else max(best, 1), n / threads)
    return (n * w / threads + n / (threads * b) * 60 + b * w / 2) * 1e-9


def record(names: dict[str, int], times: Mapping[int, float], replicate: int = 0) -> Record:
    configuration = Configuration(tuple(names.items()), Layout(threads_per_rank=names["threads"]))
    metrics = {f"least_{block or 'auto'}": value for block, value in times.items()} | {"mean_16": 1e-9, "n": 1.0}
    return Record("plan", configuration, "measure", replicate, 0, 0, 0, 0.0, 1.0, "ok", 0, metrics=metrics)


def launched(noise: float) -> list[Record]:
    draw = np.random.default_rng(1)
    grid = itertools.product((2, 8), (64, 4096), (64, 1024), (1024, 16384), (1024, 4096))
    found = []
    for values in grid:
        names = dict(zip(("threads", "read", "write", "operations", "n"), values, strict=True))
        times = {block: seconds(*values, block) * math.exp(noise * draw.normal()) for block in (AUTO, *BLOCKS)}
        found.append(record(names, times))
    return found


def test_every_loop_is_a_column_with_the_blocks_that_were_launched() -> None:
    found = scoring.trained(launched(0), groups=1)
    assert len(found.columns) == len(found.policies["auto"]) == 32
    assert all(column.blocks == BLOCKS for column in found.columns)
    case = found.columns[0].case
    assert (case.threads, case.read, case.write, case.iterations) == (2, 64, 64, 1024)
    assert case.computation == pytest.approx(1)


def test_the_least_of_the_replicates_counts() -> None:
    names = {"threads": 2, "read": 1, "write": 1, "operations": 1, "n": 64}
    found = scoring.trained([record(names, {1: 1, 2: 5}), record(names, {1: 3, 2: 4}, 1)], groups=1)
    assert found.columns[0].times == (1.0, 4.0)
    assert found.policies["auto"] == (None,) and not found.by_launches()


def test_the_noise_floor_is_what_another_launchs_best_block_loses() -> None:
    """One launch has its best at 1 and the other at 4: each loses what the other's choice costs it."""
    names = {"threads": 2, "read": 1, "write": 1, "operations": 1, "n": 64}
    records = [record(names, {1: 1.0, 4: 1.2, 16: 2.0}), record(names, {1: 1.5, 4: 1.25, 16: 3.0}, 1)]
    noise = scoring.trained(records, groups=1).noise()
    assert noise is not None and noise.mean == pytest.approx(0.2)
    assert scoring.trained(records[:1], groups=1).noise() is None


def recorded_text(loops: Mapping[tuple[str, int, int], float], cpus: str = "2 x a CPU") -> str:
    """A file of loops with these nanoseconds of an iteration, whose claims take 60 ns; two runs, the second slower."""
    found = ""
    for slower in (1.0, 1.5):
        found += f"{recorded.BEGINS}{cpus}\n# site,n,threads,iteration_ns,block,calls,least_ns\n"
        for (site, n, threads), w in loops.items():
            for block in (1, 4, 16, 64, 256):
                took = n * w / threads + n / (threads * block) * 60 + min(block, n / threads) * w / 2
                found += f'"{site}",{n},{threads},{w * slower},{block},1,{took * slower}\n'
    return found


LOOPS = {("a.cpp:3", 1000, 2): 20.0, ("a.cpp:3", 4000, 2): 20.0, ("b.cpp:9", 1000, 2): 900.0}


def test_recorded_loops_are_columns_by_the_least_of_all_runs() -> None:
    found = recorded.recorded(recorded_text(LOOPS), "loops.csv", "2 x a CPU", 1)
    assert [(one.platform, one.case.iterations) for one in found.columns] == [(site, n) for site, n, _ in LOOPS]
    assert [one.case.iteration_ns for one in found.columns] == [20, 20, 900]
    assert found.columns[0].blocks == (1, 4, 16, 64, 256)
    assert found.columns[0].times[0] == pytest.approx((1000 * 20 / 2 + 500 * 60 + 10) * 1e-9)


def test_models_are_fitted_to_recorded_loops_without_the_formula_that_wants_their_bytes() -> None:
    found = scoring.scores(recorded.recorded(recorded_text(LOOPS), "loops.csv", "2 x a CPU", 1))
    assert "published" not in found.held_out and found.held_out["constant 16"].mean > found.held_out["line travel"].mean
    assert set(found.weights) == {"trained_near", "trained_spread"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no recorded loops"),
        (recorded_text(LOOPS, "4 x another"), "is of 4 x another and not of 2 x a CPU"),
        (recorded_text({}) + "1,2\n", "is no loop"),
        (recorded_text({}) + '"a",1000,2,nan,16,3,100\n', "is no loop"),
        (recorded_text({}) + '"a",1000,2,20,16,1,100\n"a",1000,2,20,4,1,100\n', "called often enough"),
    ],
)
def test_a_file_that_tells_nothing_of_loops_here_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        recorded.recorded(text, "loops.csv", "2 x a CPU", 1)


@functools.cache
def scored() -> scoring.Scores:
    return scoring.scores(scoring.trained(launched(0.01), groups=1))


def test_the_model_that_made_the_times_loses_little_held_out() -> None:
    found = scored()
    assert found.cases == 32
    assert found.held_out["line travel"].mean < 0.03
    assert found.held_out["line travel"].mean < found.held_out["published"].mean
    assert found.launched["auto"].mean < 0.03


def test_the_fitted_constants_are_those_that_made_the_times() -> None:
    found = scored().fitted
    assert "line_far" not in found and "claim_own" not in found, "nothing here has two groups, or one thread"
    assert found["line_near"] == pytest.approx(60, rel=0.5)
    assert found["iteration_read"] == pytest.approx(0.4, rel=0.1)
    assert found["iteration_write"] == pytest.approx(0.2, rel=0.1)
    assert found["iteration_operation"] == pytest.approx(0.3, rel=0.1)


def test_the_weights_of_the_policy_are_those_that_made_the_times() -> None:
    """Claims of 60 ns and half a block's wait: iterations of any length count as what they take."""
    found = scored().weights
    assert "trained_far" not in found, "nothing here has two groups"
    for w in (300.0, 1000.0, 5000.0):
        claim_over_wait = found["trained_near"] / (1000 * (w / 1000) ** found["trained_spread"])
        assert 0.5 < claim_over_wait / (60 / w) < 2, "a block follows its square root"


def test_a_policy_is_judged_by_its_own_launches() -> None:
    names = {"threads": 2, "read": 1, "write": 1, "operations": 1, "n": 64}
    one = record(names, {1: 2.0, 16: 1.0})
    with_both = dataclasses.replace(one, metrics={**one.metrics, "least_auto": 1.1, "least_trained": 1.3})
    found = scoring.trained([with_both], groups=1).by_launches()
    assert {name: score.mean for name, score in found.items()} == pytest.approx({"auto": 0.1, "trained": 0.3})


def test_static_is_a_block_of_a_threads_share() -> None:
    one = record({"threads": 2, "read": 1, "write": 1, "operations": 1, "n": 64}, {1: 3.0, 16: 2.0})
    shared = dataclasses.replace(one, metrics={**one.metrics, "least_static": 1.5})
    (column,) = scoring.trained([shared], groups=1).columns
    assert (column.blocks, column.times) == ((1, 16, 32), (3.0, 2.0, 1.5))


def test_records_of_another_study_are_refused() -> None:
    names = {"threads": 2, "read": 1, "write": 1, "operations": 1}
    with pytest.raises(UsageError, match="no factor 'n'"):
        scoring.trained([record(names, {1: 1})], groups=1)
    with pytest.raises(UsageError, match="at two blocks"):
        scoring.trained([], groups=1)
    with pytest.raises(UsageError, match="leaves none to fit to"):
        scoring.scores(scoring.trained([record(names | {"n": 64}, {1: 1, 4: 2})], groups=1))
