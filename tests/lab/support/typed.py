# SPDX-License-Identifier: Apache-2.0
"""Experiments as they are typed on the command line."""

from typing import Any

from corescale.declare import command_line
from corescale.declare.experiment import Experiment
from corescale.declare.request import ScanRequest, TuneRequest
from corescale.machine import Machine


def scan(machine: Machine, *words: str, **options: Any) -> Experiment:
    return command_line.scan(ScanRequest(**options), words, machine)


def tune(machine: Machine, *words: str, **options: Any) -> Experiment:
    return command_line.tune(TuneRequest(**options), words, machine)
