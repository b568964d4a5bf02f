# SPDX-License-Identifier: Apache-2.0
"""Scaling models. A new model is an entry of model.py and its name here; tests and the choice loop over the table."""

from corescale.conclude.models.choice import Choice, choose
from corescale.conclude.models.fit import Fit, Forecast, fit
from corescale.conclude.models.model import AMDAHL, USL, ScalingModel

MODELS: dict[str, ScalingModel] = {model.name: model for model in (AMDAHL, USL)}

__all__ = ["MODELS", "Choice", "Fit", "Forecast", "ScalingModel", "choose", "fit"]
