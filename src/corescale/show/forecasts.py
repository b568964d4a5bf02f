# SPDX-License-Identifier: Apache-2.0
"""Forecasts and how they have fared, a line each."""

from collections.abc import Sequence
from statistics import median

from corescale.conclude.forecast import Prediction, Scored
from corescale.conclude.models.fit import FEWEST_LEVELS
from corescale.show import text


def line(one: Prediction | Scored, response: str = "wall") -> str:
    """A forecast with its model and its reach; one that was scored with what was measured."""
    write = text.quantity(response)
    label = f"{text.clean(one.label)}: " if one.label else ""
    if isinstance(one, Scored):
        verdict = {True: "covered", False: "missed", None: "no interval"}[one.covered]
        told = text.join(write(one.forecast))
        made = f"{one.p} cores from up to {one.largest:g}, {one.made}"
        more = " (oversubscribed: not counted)" if one.oversubscribed else ""
        return f"{label}{made}: {told}; measured {text.value(one.measured, response)}: {verdict}{more}"
    few = "" if one.seconds.low is not None or one.beyond <= 1 else ", too few levels or blocks for an interval"
    reach = "" if one.beyond <= 1 else f", extrapolated {one.beyond:.3g} times beyond the {one.measured[1]:g} measured"
    warning = f"; warning: {one.warning}" if one.warning else ""
    there = "" if one.there is None else f"; measured {text.join(write(one.there))}"
    said = f"{label}{one.p} cores: {text.join(write(one.seconds))}{there}{reach}{few}"
    return f"{said} (model {one.model}: {one.reason}{warning})"


def coverage(scored: Sequence[Scored]) -> str:
    """How many forecasts came out, those at more threads than cores left out."""
    scored = [one for one in scored if one.counts]
    told = [one.covered is True for one in scored]
    if not told:
        return f"no forecast to score: a run needs {FEWEST_LEVELS} levels of p in its smaller half, and 6 blocks"
    sealed = [one.covered is True for one in scored if one.made == "sealed"]
    of_them = f", {sum(sealed)} of {len(sealed)} sealed ones" if 0 < len(sealed) < len(told) else ""
    kind = "sealed forecasts" if len(sealed) == len(told) else "forecasts"
    wide = median(one.forecast.high / one.forecast.low for one in scored if one.forecast.low and one.forecast.high)
    return (
        f"{sum(told)} of {len(told)} {kind} covered what was measured{of_them}; half of them span {wide:.3g}x or more"
    )
