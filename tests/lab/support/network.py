# SPDX-License-Identifier: Apache-2.0
"""A network's CSV tables and a plan for it, judged anew: nothing here is the workload's code.

The rules are those of docs/ant_colony.md, read by another program in another language: eligible warehouses, ports,
lanes with weight bands, capacities for a day, and what each order costs. The oracle is HiGHS.
"""

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

Row = Mapping[str, str]
LaneKey = tuple[str, str, str, str, str, float]
"""carrier, origin, destination, service, mode, days"""
KILOMETRES = {"AIR": 3000.0, "GROUND": 600.0}
KILOGRAMS = {"AIR": 0.6, "GROUND": 0.1}
KILOWATT_HOURS = {"AIR": 2.3, "GROUND": 0.35}


def rows(file: Path) -> list[Row]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


@dataclass(frozen=True)
class Band:
    most: float
    minimum: float
    rate: float


class Tables:
    """The seven tables, indexed as a person would."""

    def __init__(self, folder: Path) -> None:
        self.orders = rows(folder / "OrderList.csv")
        self.storage = {row["WH"]: float(row["Cost/unit"]) for row in rows(folder / "WhCosts.csv")}
        self.capacity = {row["Plant ID"]: int(row["Daily Capacity"]) for row in rows(folder / "WhCapacities.csv")}
        self.products = {(row["Plant Code"], row["Product ID"]) for row in rows(folder / "ProductsPerPlant.csv")}
        self.customers: dict[str, set[str]] = defaultdict(set)
        for row in rows(folder / "VmiCustomers.csv"):
            self.customers[row["Plant Code"]].add(row["Customers"])
        self.ports: dict[str, list[str]] = defaultdict(list)
        for row in rows(folder / "PlantPorts.csv"):
            self.ports[row["Plant Code"]].append(row["Port"])
        self.lanes: dict[LaneKey, list[Band]] = defaultdict(list)
        for row in rows(folder / "FreightRates.csv"):
            key = (row["Carrier"], row["orig_port_cd"], row["dest_port_cd"], row["svc_cd"], row["mode_dsc"])
            band = Band(float(row["max_wgh_qty"]), float(row["minimum cost"]), float(row["rate"]))
            self.lanes[(*key, float(row["tpt_day_cnt"]))].append(band)
        for bands in self.lanes.values():
            bands.sort(key=lambda band: band.most)

    def months(self) -> list[list[Row]]:
        found: dict[str, list[Row]] = defaultdict(list)
        for order in self.orders:
            found[order["Order Date"][:7]].append(order)
        return [found[name] for name in sorted(found)]

    def may_serve(self, warehouse: str, order: Row) -> bool:
        tied = self.customers.get(warehouse)
        return (warehouse, order["Product ID"]) in self.products and (not tied or order["Customer"] in tied)

    def freight(self, key: LaneKey, weight: float, load: float) -> float:
        bands = self.lanes[key]
        band = next((one for one in bands if load <= one.most), bands[-1])
        return max(band.minimum, band.rate * weight) if key[4] == "AIR" else band.rate * weight / load

    def load_for_rate(self, key: LaneKey, load: float, flat: bool) -> float:
        return 0.1 * self.lanes[key][-1].most if flat else load


def check(tables: Tables, plan: Sequence[Row], months: int, flat: bool) -> list[float]:
    """Asserts every rule; returns the dollars of each month, counted anew."""
    by_month: dict[int, list[Row]] = defaultdict(list)
    for row in plan:
        by_month[int(row["Month"])].append(row)
    assert sorted(by_month) == list(range(1, months + 1))
    return [_check_month(tables, orders, by_month[m], flat) for m, orders in enumerate(tables.months()[:months], 1)]


def _check_month(tables: Tables, orders: Sequence[Row], plan: Sequence[Row], flat: bool) -> float:
    assert [row["Order ID"] for row in plan] == [order["Order ID"] for order in orders]
    used = Counter(row["Plant Code"] for row in plan)
    assert all(count <= tables.capacity[name] for name, count in used.items())
    load: dict[LaneKey, float] = defaultdict(float)
    for order, row in zip(orders, plan, strict=True):
        if row["Mode"] != "CRF":
            load[_lane(row)] += float(order["Weight"])
    sum_ = 0.0
    for order, row in zip(orders, plan, strict=True):
        assert tables.may_serve(row["Plant Code"], order)
        assert row["Origin Port"] in tables.ports[row["Plant Code"]]
        assert (row["Mode"] == "CRF") == (order["Service Level"] == "CRF")
        cost = float(order["Unit quantity"]) * tables.storage[row["Plant Code"]]
        if row["Mode"] != "CRF":
            cost += _check_way(tables, order, row, load[_lane(row)], flat)
        assert math.isclose(float(row["Cost"]), cost, rel_tol=1e-9)
        sum_ += cost
    return sum_


def _check_way(tables: Tables, order: Row, row: Row, load: float, flat: bool) -> float:
    key, weight = _lane(row), float(order["Weight"])
    assert key in tables.lanes
    assert (key[1], key[2]) == (row["Origin Port"], order["Destination Port"])
    assert math.isclose(float(row["Lane load"]), load, rel_tol=1e-9)
    assert flat or load <= tables.lanes[key][-1].most * (1 + 1e-12)
    way = weight / 1000 * KILOMETRES[key[4]] * max(key[5], 1)
    assert math.isclose(float(row["Emissions"]), way * KILOGRAMS[key[4]], rel_tol=1e-9)
    assert math.isclose(float(row["Energy"]), way * KILOWATT_HOURS[key[4]], rel_tol=1e-9)
    return tables.freight(key, weight, tables.load_for_rate(key, load, flat))


def _lane(row: Row) -> LaneKey:
    where = (row["Carrier"], row["Origin Port"], row["Destination Port"], row["Service"], row["Mode"])
    return (*where, float(row["Days"]))


def optimum(tables: Tables, orders: Sequence[Row], goal: Mapping[str, float]) -> float:
    """The least worth of a month with flat rates: a transportation problem, which HiGHS solves."""
    costs, of_order, of_warehouse, names = [], [], [], sorted(tables.capacity)
    for k, order in enumerate(orders):
        for w, name in enumerate(names):
            ways = _worths(tables, order, name, goal)
            if tables.may_serve(name, order) and ways:
                costs.append(min(ways))
                of_order.append(k)
                of_warehouse.append(w)
    ones, columns = np.ones(len(costs)), np.arange(len(costs))
    by_order = coo_matrix((ones, (np.array(of_order), columns)))
    by_warehouse = coo_matrix((ones, (np.array(of_warehouse), columns)), shape=(len(names), len(costs)))
    solved = linprog(
        costs,
        A_eq=by_order.toarray(),
        b_eq=np.ones(len(orders)),
        A_ub=by_warehouse.toarray(),
        b_ub=[tables.capacity[name] for name in names],
        method="highs",
    )
    assert solved.status == 0
    assert solved.x is not None
    assert solved.fun is not None
    assert np.abs(solved.x - np.round(solved.x)).max() < 1e-6, "a vertex of a transportation problem is whole"
    return float(solved.fun)


def _worths(tables: Tables, order: Row, warehouse: str, goal: Mapping[str, float]) -> list[float]:
    storage = float(order["Unit quantity"]) * tables.storage[warehouse] * goal.get("cost", 0)
    if order["Service Level"] == "CRF":
        return [storage] if tables.ports[warehouse] else []
    weight, found = float(order["Weight"]), []
    for key, bands in tables.lanes.items():
        if key[1] in tables.ports[warehouse] and key[2] == order["Destination Port"]:
            way = weight / 1000 * KILOMETRES[key[4]] * max(key[5], 1)
            beside = way * (
                KILOGRAMS[key[4]] * goal.get("emissions", 0) + KILOWATT_HOURS[key[4]] * goal.get("energy", 0)
            )
            freight = tables.freight(key, weight, 0.1 * bands[-1].most)
            found.append(storage + freight * goal.get("cost", 0) + beside + key[5] * goal.get("time", 0))
    return found
