# SPDX-License-Identifier: Apache-2.0
"""Values over a statistic of the launches that a declaration names as 1."""

from dataclasses import replace

import pandas as pd

from corescale.errors import UsageError
from corescale.show.charts.declared.asked import Asked, present


def normalised(asked: Asked) -> Asked:
    """Each value over the statistic of the launches that the declaration names as 1."""
    wanted, rows, where = asked.chart.normalise, asked.rows, f"chart {asked.chart.name}"
    assert wanted is not None
    base = pd.Series(True, index=rows.index)
    for name, level in wanted.to.items():
        present(name, rows, asked.chart.name)
        exact = {"min": rows[name].min, "max": rows[name].max}.get(str(level), lambda level=level: level)()
        if not (chosen := rows[name] == exact).any():
            known = ", ".join(str(one) for one in asked.levels(name))
            raise UsageError(
                f"no launch with {name} = {level!r} to normalise by", where=where, remedy=f"it has {known}"
            )
        base &= chosen
    for name in wanted.within:
        present(name, rows, asked.chart.name)
    keys = list(dict.fromkeys(("machine", *wanted.within)))
    panels = set(asked.chart.facet) & set(wanted.to)
    means = rows[base].groupby(keys)[asked.value].agg(asked.chart.statistic).rename("_base")
    scaled = rows.join(means, on=keys)
    scaled = scaled.assign(**{asked.value: scaled[asked.value] / scaled["_base"]}).dropna(subset=[asked.value])
    if panels and not scaled[~base.reindex(scaled.index)].empty:
        scaled = scaled[~base.reindex(scaled.index)]  # their panel would show nothing but 1
    if scaled.empty:
        raise UsageError("nothing was measured to normalise by", where=where, remedy="change `to` or `within`")
    return replace(asked, rows=scaled)
