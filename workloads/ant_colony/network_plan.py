# SPDX-License-Identifier: Apache-2.0
"""A month of a plan on its network, from the CSV files that `ant_colony --problem network` reads and writes."""

import csv
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


class PlanError(Exception):
    """Input that cannot be used, in one line."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A carrier's way from a port to a port."""

    carrier: str
    origin: str
    destination: str
    service: str
    mode: str
    days: float

    @property
    def words(self) -> str:
        """`V444_6 DTD, 2 days by air`."""
        days = f"{self.days:g} day{'' if self.days == 1 else 's'}"
        return f"{self.carrier} {self.service}, {days} {'by air' if self.mode == 'AIR' else 'on the ground'}"


@dataclass(frozen=True, slots=True)
class Route:
    """All orders that a month sends one way; no lane: their customers fetch them at the port."""

    warehouse: str
    port: str
    lane: Lane | None
    orders: int
    weight: float
    """kg"""
    cost: float
    """dollars"""


@dataclass(frozen=True)
class Month:
    """The network, and what one month sends over it."""

    number: int
    capacity: Mapping[str, int]
    """orders a day of each warehouse"""
    linked: tuple[tuple[str, str], ...]
    """warehouses with the ports that they are linked to"""
    lanes: tuple[Lane, ...]
    routes: tuple[Route, ...]

    @property
    def loads(self) -> dict[Lane, float]:
        """kg on each lane that carries anything."""
        found: dict[Lane, float] = defaultdict(float)
        for route in self.routes:
            if route.lane:
                found[route.lane] += route.weight
        return dict(found)

    @property
    def links(self) -> dict[tuple[str, str], float]:
        """kg from each warehouse to each port."""
        found: dict[tuple[str, str], float] = defaultdict(float)
        for route in self.routes:
            found[route.warehouse, route.port] += route.weight
        return dict(found)

    @property
    def title(self) -> str:
        """What the picture shows."""
        return f"Month {self.number}: the best routes found, by weight"

    @property
    def words(self) -> str:
        """The picture in a sentence."""
        loads, orders = self.loads, sum(route.orders for route in self.routes)
        said = f"{orders} orders of {sum(route.weight for route in self.routes):,.0f} kg, from "
        said += f"{len({route.warehouse for route in self.routes})} of {len(self.capacity)} warehouses over "
        said += f"{len({route.port for route in self.routes})} ports, on {len(loads)} of {len(self.lanes)} lanes"
        if loads:
            heaviest = max(loads, key=lambda lane: loads[lane])
            said += f"; the heaviest carries {loads[heaviest]:,.0f} kg: {heaviest.words} from {heaviest.origin}"
            said += f" to {heaviest.destination}"
        return said + "."


def read_month(tables: Path, plan: Path, number: int) -> Month:
    """Month `number` of a plan, which must be one for these tables; raises PlanError."""
    weights = {row["Order ID"]: _number(row["Weight"])
               for row in _rows(tables / "OrderList.csv", "Order ID", "Weight")}  # fmt: skip
    warehouse = ("Plant ID", "Plant Code", "WH", "Warehouse ID")
    capacity = {row["Plant ID"]: int(_number(row["Daily Capacity"]))
                for row in _rows(tables / "WhCapacities.csv", warehouse, "Daily Capacity")}  # fmt: skip
    linked = tuple((row["Plant Code"], row["Port"])
                   for row in _rows(tables / "PlantPorts.csv", ("Plant Code", *warehouse), "Port"))  # fmt: skip
    rates = _rows(
        tables / "FreightRates.csv", "Carrier", "orig_port_cd", "dest_port_cd", "svc_cd", "mode_dsc", "tpt_day_cnt"
    )
    lanes = tuple(dict.fromkeys(Lane(*list(row.values())[:5], _number(row["tpt_day_cnt"])) for row in rates))
    routes = tuple(_routes(plan, number, weights))
    _must_belong(plan, tables, routes, set(capacity), set(lanes))
    return Month(number, capacity, linked, lanes, routes)


def _routes(plan: Path, number: int, weights: Mapping[str, float]) -> Iterator[Route]:
    """The month's orders, those of one way together."""
    lane = ("Carrier", "Origin Port", "Destination Port", "Service", "Mode", "Days")
    ways: dict[tuple[str, str, Lane | None], list[tuple[float, float]]] = defaultdict(list)
    known = set()
    for row in _rows(plan, "Month", "Order ID", "Plant Code", "Cost", *lane):
        known.add(row["Month"])
        if row["Month"] != str(number):
            continue
        if row["Order ID"] not in weights:
            raise PlanError(f"{plan}: order {row['Order ID']} is in no table; give the tables that the plan is for")
        way = None if row["Mode"] == "CRF" else Lane(*(row[name] for name in lane[:-1]), _number(row["Days"]))
        order = weights[row["Order ID"]], _number(row["Cost"])
        ways[row["Plant Code"], row["Origin Port"], way].append(order)
    if not ways:
        raise PlanError(f"{plan}: no month {number}; it has {', '.join(sorted(known, key=_number)) or 'none'}")
    for (warehouse, port, lane), orders in ways.items():
        weight, cost = (sum(column) for column in zip(*orders, strict=True))
        yield Route(warehouse, port, lane, len(orders), weight, cost)


def _must_belong(plan: Path, tables: Path, routes: tuple[Route, ...], warehouses: set[str], lanes: set[Lane]) -> None:
    for route in routes:
        if route.warehouse not in warehouses or (route.lane and route.lane not in lanes):
            way = route.lane.words if route.lane else route.warehouse
            raise PlanError(f"{plan}: {way} is not in {tables}; give the tables that the plan is for")


def _rows(file: Path, *columns: str | tuple[str, ...]) -> list[dict[str, str]]:
    """The named columns, in this order; of a tuple one that is there, under the first name. Raises PlanError."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as text:
            found = [line for line in csv.reader(text) if any(cell.strip() for cell in line)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PlanError(
            f"{file}: {getattr(error, 'strerror', None) or 'is no CSV file'}; give a readable CSV file"
        ) from None
    heads = [_plain(cell) for cell in found[0]] if found else []
    places = {}
    for column in columns:
        names = (column,) if isinstance(column, str) else column
        place = next((heads.index(_plain(name)) for name in names if _plain(name) in heads), None)
        if place is None:
            raise PlanError(f"{file}:1: no column '{names[0]}'; name it in the first line")
        places[names[0]] = place
    return [
        {name: line[place].strip() if place < len(line) else "" for name, place in places.items()} for line in found[1:]
    ]


def _plain(heading: str) -> str:
    return "".join(filter(str.isalnum, heading)).lower()


def _number(text: str) -> float:
    try:
        value = float(text.replace(",", "").replace("$", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise PlanError(f"'{text}' is not a number; run ant_colony on the tables, which says where")
    return value
