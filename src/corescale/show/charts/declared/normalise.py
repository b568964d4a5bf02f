# SPDX-License-Identifier: Apache-2.0
"""The launches that a declaration draws at 0, and values over a statistic of those that it names as 1."""

from dataclasses import replace

import pandas as pd

from corescale.conclude.frame import selected
from corescale.declare import outputs
from corescale.errors import UsageError
from corescale.show.charts.declared.asked import Asked, present


def at_zero(chart: outputs.Chart, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, those of `at_zero` at x = 0 beside every other level of its columns; all as they are where none is."""
    if not chart.at_zero:
        return rows
    chosen, columns = selected(rows, chart.at_zero), list(chart.at_zero)
    beside = rows.loc[~chosen, columns].drop_duplicates()
    moved = rows[chosen].drop(columns=columns).merge(beside, how="cross").assign(**{chart.x: 0})
    return pd.concat([rows[~chosen], moved], ignore_index=True)


def normalised(asked: Asked) -> Asked:
    """Each value over the statistic of the launches that the declaration names as 1: of those that it draws, if any."""
    wanted, rows, where = asked.chart.normalise, asked.rows, f"chart {asked.chart.name}"
    assert wanted is not None
    base = pd.Series(True, index=rows.index)
    for name, level in wanted.to.items():
        present(name, rows, asked.chart.name)
        exact = {"min": rows[name].min, "max": rows[name].max}.get(str(level), lambda level=level: level)()
        if not (chosen := rows[name] == exact).any():
            known = ", ".join(str(one) for one in asked.levels(name))
            raise UsageError(
                f"is relative to {name}={level}, and no launch has that",
                where=where,
                remedy=f"measure it too: --levels {name}={level},... (here: {known})",
            )
        base &= chosen
    if (drawn := base & rows["_wanted"].astype(bool)).any():
        base = drawn
    for name in wanted.within:
        present(name, rows, asked.chart.name)
    keys = list(dict.fromkeys(("machine", *wanted.within)))
    panels = set(asked.chart.facet) & set(wanted.to)
    means = rows[base].groupby(keys)[asked.value].agg(asked.chart.statistic).rename("_base")
    scaled = rows.join(means, on=keys)
    ratio = scaled[asked.value] / scaled["_base"]
    scaled = scaled.assign(**{asked.value: 1 / ratio if wanted.inverse else ratio}).dropna(subset=[asked.value])
    if panels and not scaled[~base.reindex(scaled.index)].empty:
        scaled = scaled[~base.reindex(scaled.index)]  # their panel would show nothing but 1
    if scaled.empty:
        raise UsageError("nothing was measured to normalise by", where=where, remedy="change `to` or `within`")
    return replace(asked, rows=scaled)
