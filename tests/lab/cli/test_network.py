# SPDX-License-Identifier: Apache-2.0
"""Plans of the network of transport, checked by another program, and beside HiGHS's optimum."""

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest

from corescale import native
from support import network

SEEDS = (1, 2)
NETWORK = ("--problem", "network", "--parallel", "corescale")


def ant_colony(*words: object) -> dict[str, Any]:
    argv = [str(native.find("ant_colony")), *NETWORK, *map(str, words)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout)) if done.stdout else {}


def tables(folder: Path, seed: int) -> network.Tables:
    ant_colony("--seed", seed, "--write-data", folder)
    return network.Tables(folder)


@pytest.mark.parametrize("seed", SEEDS)
def test_with_flat_rates_within_3_percent_of_the_optimum_and_never_below(seed: int, tmp_path: Path) -> None:
    found = tables(tmp_path / "data", seed)
    words = ("--data", tmp_path / "data", "--flat", "--seed", seed, "--months", 2, "--iterations", 24)
    said = ant_colony(*words, "--solution", tmp_path / "plan.csv")
    costs = network.check(found, network.rows(tmp_path / "plan.csv"), 2, flat=True)
    for month, (orders, cost) in enumerate(zip(found.months()[:2], costs, strict=True), 1):
        best = network.optimum(found, orders, {"cost": 1})
        print(f"seed {seed}, month {month}: optimum {best:.2f}, found {cost:.2f}, {100 * (cost / best - 1):.2f}% above")
        assert best * (1 - 1e-9) <= cost <= best * 1.03
        assert math.isclose(said[f"month_{month}_cost"], cost, rel_tol=1e-9)
        assert math.isclose(said[f"month_{month}_gap"], cost / best - 1, abs_tol=1e-6), "the bound is the optimum"


@pytest.mark.parametrize("goal", ["cost=1", "cost=1,emissions=0.2,energy=0.1,time=3", "time=1"])
def test_the_goal_that_is_weighed_is_the_oracles(goal: str, tmp_path: Path) -> None:
    found = tables(tmp_path, 3)
    worths = {name: float(worth) for name, worth in (part.split("=") for part in goal.split(","))}
    said = ant_colony("--data", tmp_path, "--flat", "--goal", goal, "--months", 1, "--iterations", 4)
    assert math.isclose(said["bound"], network.optimum(found, found.months()[0], worths), rel_tol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_with_rates_by_weight_every_rule_holds_and_the_gap_is_to_a_true_bound(seed: int, tmp_path: Path) -> None:
    found = tables(tmp_path / "data", seed)
    words = ("--data", tmp_path / "data", "--seed", seed, "--iterations", 2, "--solution", tmp_path / "plan.csv")
    said = ant_colony(*words)
    costs = network.check(found, network.rows(tmp_path / "plan.csv"), 12, flat=False)
    assert math.isclose(said["cost"], sum(costs), rel_tol=1e-9)
    assert all(said[f"month_{m}_gap"] > 0 for m in range(1, 13))
    print(f"seed {seed}: gap to the bound with real bands: {said['gap']:.3f}")


def test_the_checker_can_fail(tmp_path: Path) -> None:
    found = tables(tmp_path / "data", 1)
    ant_colony("--data", tmp_path / "data", "--months", 1, "--iterations", 1, "--solution", tmp_path / "plan.csv")
    plan = network.rows(tmp_path / "plan.csv")
    for change in ({"Plant Code": "PLANT01"}, {"Cost": "1"}, {"Origin Port": "PORT99"}, {"Order ID": "1"}):
        with pytest.raises(AssertionError):
            network.check(found, [*plan[:-1], {**plan[-1], **change}], 1, flat=False)


def test_the_generated_year_has_the_public_sets_sizes(tmp_path: Path) -> None:
    found = tables(tmp_path, 1)
    assert [len(month) for month in found.months()] == [768] * 12
    assert (len(found.capacity), len(found.lanes)) == (19, 76)
    assert sum(len(bands) for bands in found.lanes.values()) == 1540
    assert len({product for _, product in found.products}) == 772
    eligible = {sum(found.may_serve(name, order) for name in found.capacity) for order in found.orders}
    assert eligible <= set(range(4, 9))


PUBLIC = {
    "OrderList": "Order ID,Order Date,Origin Port,Carrier,TPT,Service Level,Ship ahead day count,Ship Late Day count,"
    "Customer,Product ID,Plant Code,Destination Port,Unit quantity,Weight",
    "FreightRates": "Carrier,orig_port_cd,dest_port_cd,minm_wgh_qty,max_wgh_qty,svc_cd,minimum cost,rate,mode_dsc,"
    "tpt_day_cnt,Carrier type",
    "WhCosts": "WH,Cost/unit", "WhCapacities": "Plant ID,Daily Capacity ", "ProductsPerPlant": "Plant Code,Product ID",
    "VmiCustomers": "Plant Code,Customers", "PlantPorts": "Plant Code,Port",
}  # fmt: skip
"""The sheets of the public data set with its columns in its order, of which the program reads some."""


def test_the_public_sets_own_form_is_read(tmp_path: Path) -> None:
    """Further columns, one date for all orders, which are dealt into months, dollars with a sign, blanks at the end."""
    ant_colony("--orders", 1200, "--write-data", tmp_path)
    for sheet, headings in PUBLIC.items():
        lines = []
        for row in network.rows(tmp_path / f"{sheet}.csv"):
            cells = {name.strip(): text for name, text in row.items()}
            cells |= {"Order Date": "5/26/13", "minimum cost": f'"${cells.get("minimum cost")} "'}
            lines.append(",".join(cells.get(name.strip(), "0") for name in headings.split(",")))
        (tmp_path / f"{sheet}.csv").write_text("\r\n".join([headings, *lines, ""]))
    said = ant_colony("--data", tmp_path, "--iterations", 1, "--solution", tmp_path / "plan.csv")
    assert said["months"] == 12 and 0 <= said["gap"] < 1
    plan = network.rows(tmp_path / "plan.csv")
    assert len({row["Order ID"] for row in plan}) == len(plan) == 1200
