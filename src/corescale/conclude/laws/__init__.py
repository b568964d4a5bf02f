# SPDX-License-Identifier: Apache-2.0
"""Scaling laws. A new law is one file and one line here; tests and the choice loop over the table."""

from corescale.conclude.laws.amdahl import AMDAHL
from corescale.conclude.laws.choice import Choice, choose
from corescale.conclude.laws.fit import Fit, Forecast, fit
from corescale.conclude.laws.law import Law
from corescale.conclude.laws.usl import USL

LAWS: dict[str, Law] = {law.name: law for law in (AMDAHL, USL)}

__all__ = ["LAWS", "Choice", "Fit", "Forecast", "Law", "choose", "fit"]
