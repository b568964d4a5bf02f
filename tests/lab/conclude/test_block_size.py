# SPDX-License-Identifier: Apache-2.0
"""Block-size models: the published figures again, a model that gives back what generated its data, and bad tables."""

import csv
import itertools
import math
import runpy
import subprocess
from pathlib import Path

import numpy as np
import pytest

from corescale import native
from corescale.conclude.block_size import published as form
from corescale.conclude.block_size.columns import Case, Column, scored
from corescale.conclude.block_size.line_travel import Iteration, LineTravel, block
from corescale.conclude.stats import Floats
from corescale.errors import UsageError

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
DATA = BENCHMARKS.parent / "data" / "faa"
READ = runpy.run_path(str(BENCHMARKS / "_block_size_models.py"))
MODELS, columns, examples, floor, train = (READ[name] for name in ("MODELS", "columns", "examples", "floor", "train"))


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def table() -> tuple[Column, ...]:
    found: tuple[Column, ...] = columns(rows("tables.csv"))
    return found


def test_the_published_tables_have_45_columns_of_11_blocks(table: tuple[Column, ...]) -> None:
    assert len(table) == 45
    assert all(column.blocks == tuple(2**k for k in range(11)) for column in table)


def test_a_suspect_time_gives_way_to_its_neighbours(table: tuple[Column, ...]) -> None:
    [odd] = [c for c in table if (c.platform, c.case.threads, c.case.computation) == ("W-3225R", 8, 3)]
    assert odd.times[2] == pytest.approx(math.sqrt(419200 * 416200))


def test_the_printed_formula_loses_what_others_computed_it_to_lose(table: tuple[Column, ...]) -> None:
    found = scored(MODELS["published"], table)
    assert found.mean == pytest.approx(0.071, abs=0.0005)
    assert found.worst == pytest.approx(0.509, abs=0.0005), "0.490 where the quotient is not truncated"
    assert scored(MODELS["constant 16"], table).mean == pytest.approx(0.083, abs=0.0005)


def test_the_formula_for_the_latency_says_that_the_largest_block_is_the_best(table: tuple[Column, ...]) -> None:
    """Scored on the tables that refute it, and on times that it made."""
    cost = MODELS["N / B L + O(N) / T"]
    found = scored(cost, table)
    assert found.mean > 2 * scored(MODELS["constant 16"], table).mean
    case = Case(threads=8, groups=1, read=64, write=64, computation=1)
    blocks = tuple(2**k for k in range(10))
    made = Column("made", case, blocks, tuple(4096 / block * 30 + 9000 for block in blocks))
    assert scored(cost, [made]).mean == pytest.approx(0)


def test_the_printed_weights_give_the_printed_answers() -> None:
    known = examples(rows("training_examples.csv"))
    assert len(known) == 27
    assert sum((one.inferred - one.label) ** 2 for one in known) == 7001
    got = form.raw(form.WEIGHTS, np.array([one.inputs for one in known]))
    assert np.max(np.abs(got - [one.inferred for one in known])) <= 1.03


def test_training_again_is_better_than_the_printed_weights_at_the_papers_own_loss() -> None:
    known = examples(rows("training_examples.csv"))
    scaled, labels = np.array([one.inputs for one in known]), np.array([one.label for one in known])
    weights = train(scaled, labels)
    assert np.sum((form.raw(weights, scaled) - labels) ** 2) < 0.7 * np.sum(
        (form.raw(form.WEIGHTS, scaled) - labels) ** 2
    )


def test_where_the_formula_is_negative_it_is_clamped() -> None:
    case = Case(threads=8, groups=1, read=64, write=64, computation=1)
    assert form.raw(form.WEIGHTS, np.array([form.inputs(case)]))[0] == pytest.approx(-27, abs=1)
    assert form.block(form.WEIGHTS, case) == 512, "a thread's share of 4096 iterations"


def test_the_library_has_the_same_formula() -> None:
    """Its policy published_cost_model, as the claim simulator plans with it: truncated, clamped and scaled alike."""
    sizes = (1, 64, 1024, 65536)
    cases = [
        (g, t, r, w, c)
        for g, t in ((1, 2), (1, 8), (1, 24), (2, 36), (8, 64))
        for r, w, c in itertools.product(sizes, sizes, (1, 256, 1024, 2**40, 2**50))
    ]
    names = "policy,l3-domains,threads,read,write,operations"
    lines = [f"published_cost_model,{','.join(map(str, one))}" for one in cases]
    done = subprocess.run(
        [str(native.find("claim_simulator")), "--cases", "-"],
        input="\n".join([names, *lines]), capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs = [int(row["block"]) for row in csv.DictReader(done.stdout.splitlines())]
    ours = [form.chosen(form.WEIGHTS, Case(t, g, r, w, math.log(c, 1024))) for g, t, r, w, c in cases]
    assert [one for one in zip(cases, theirs, ours, strict=True) if abs(one[1] - one[2]) > 0] == []
    assert len(set(theirs)) > 20


def test_the_library_s_policy_trained_has_the_same_model() -> None:
    """At the weights that it has untrained: 80 and 120 ns a claim, and a wait that grows as an iteration does."""
    machines = ((1, 2), (1, 24), (4, 24))
    cases = [(*one, n, w) for one in machines for n, w in itertools.product((64, 4096, 10**6), (5, 1000, 30000))]
    lines = ["policy,l3-domains,threads,n,iteration-ns", *(f"trained,{','.join(map(str, one))}" for one in cases)]
    done = subprocess.run(
        [str(native.find("claim_simulator")), "--cases", "-"],
        input="\n".join(lines), capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs = [int(row["block"]) for row in csv.DictReader(done.stdout.splitlines())]
    ours = []
    for groups, threads, n, w in cases:
        case = Case(threads, groups, 0, 0, 0, n)
        said = block(np.log([80.0, 120.0, math.e]), Iteration(float(w), 0, 0), case)
        share = n / threads
        ours.append(math.ceil(share / max(1, round(share / said))))
    assert theirs == ours, "as many blocks for each thread as are nearest to the model's"
    assert len(set(theirs)) > 10


def test_a_robust_loss_bends_less_to_labels_that_contradict() -> None:
    known = examples(rows("training_examples.csv"))
    scaled, labels = np.array([one.inputs for one in known]), np.array([one.label for one in known])

    def median(weights: Floats) -> float:
        return float(np.median(np.abs(form.raw(weights, scaled) - labels)))

    assert median(train(scaled, labels, robust=True)) <= median(train(scaled, labels)) * 1.001


def test_our_model_beats_the_constants_on_a_platform_it_has_not_seen(table: tuple[Column, ...]) -> None:
    held_out = scored(MODELS["line travel"], table, lambda column: column.platform)
    assert held_out.mean < min(scored(MODELS[name], table).mean for name in ("constant 16", "constant 32"))
    assert held_out.mean <= 0.08


def test_replicates_bound_what_can_be_learnt(table: tuple[Column, ...]) -> None:
    found = floor(table)
    assert len(found.lost) == 24
    assert found.mean == pytest.approx(0.066, abs=0.001)


def generated(noise: float) -> tuple[Column, ...]:
    """Columns whose times follow the model with near = 300, far = 900 clocks and a plain tail."""
    rng, iteration, found = np.random.default_rng(7), Iteration(200, 0.6, 0.4), []
    for threads, groups, read, write in itertools.product((4, 8, 16), (1, 2, 4), (64, 1024, 8192), (64, 4096)):
        case = Case(threads, groups, read, write, 1)
        w, claim = iteration.clocks(case), 300 + 900 * (groups - 1)
        blocks = tuple(2**k for k in range(9))
        times = [case.iterations / threads * (w + claim / b) + b * w / 2 for b in blocks]
        found.append(Column("made", case, blocks, tuple(t * math.exp(noise * rng.standard_normal()) for t in times)))
    return tuple(found)


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_the_model_gives_back_the_blocks_of_the_truth_that_made_the_times(noise: float) -> None:
    made = generated(noise)
    choose = LineTravel().fit(made)
    truth = [block(np.log([300.0, 900.0, math.e]), Iteration(200, 0.6, 0.4), c.case) for c in made]
    ratios = np.abs(np.log2([choose(c.case) / t for c, t in zip(made, truth, strict=True)]))
    assert np.median(ratios) < 0.35
    assert np.max(ratios) < 1


def test_a_choice_is_never_below_one_nor_above_a_threads_share() -> None:
    cases = [Case(t, g, r, r, 1, n) for t in (1, 64) for g in (1, 8) for r in (1, 10**9) for n in (1, 4096)]
    chosen = [block(np.log([500.0, 500.0, math.e]), Iteration(300, 0.5, 0.5), case) for case in cases]
    assert all(1 <= b <= max(1, c.iterations / c.threads) for b, c in zip(chosen, cases, strict=True))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"clocks": "0"}, "row 2: clocks is 0"),
        ({"block_size": ""}, "row 2 has no number in 'block_size'"),
        ({"block_size": "0"}, "row 2: block_size is 0, it must be above 0"),
        ({"clocks": "nan"}, "clocks is nan"),
    ],
)
def test_a_bad_row_is_named(change: dict[str, str], said: str) -> None:
    bad = rows("tables.csv")[:2]
    bad[0] |= change
    with pytest.raises(UsageError, match=said):
        columns(bad)


def test_a_missing_column_and_a_repeated_block_are_refused() -> None:
    good = rows("tables.csv")
    with pytest.raises(UsageError, match="'clocks'"):
        columns([{k: v for k, v in row.items() if k != "clocks"} for row in good[:2]])
    with pytest.raises(UsageError, match="each once"):
        columns([good[0], good[0]])
