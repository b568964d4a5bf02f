# SPDX-License-Identifier: Apache-2.0
"""The command that answers the next question."""

import math
import shlex

from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.declare.catalogue import space
from corescale.declare.experiment import Command
from corescale.declare.plan import BASELINE_EVERY
from corescale.show import text
from corescale.show.result import Result
from corescale.show.statements import alone


def suggestion(result: Result) -> str:
    """The text behind `next:`; empty where there is nothing to suggest."""
    found = result.conclusion
    if isinstance(found, tuple) and alone(found) is not None:
        return ""
    if isinstance(found, Recommendation):
        return _after_tune(result, found)
    if isinstance(found, Study):
        return _after_study(result)
    if isinstance(found, Scan) and found.weak:
        return ""
    if isinstance(found, Scan):
        return _after_scan(result)
    seen = [one.decision for one in found if math.isfinite(one.ratio.estimate)]
    narrow = {"no difference shown", "too few blocks"}.intersection(seen)
    return "more blocks (--runs) narrow the interval" if narrow else ""


def _after_study(result: Result) -> str:
    if len(result.runs) != 1:
        return ""
    (run,) = result.runs.values()
    return text.clean(f"corescale study publish {shlex.quote(str(run))} FOLDER")


def _after_scan(result: Result) -> str:
    """The same command, with the levels that its other placeholders need."""
    named = [f for f in result.experiment.factors if "threads" not in f.how.makes and not f.how.preloads]
    levels = [word for f in named for word in ("-f", f"{f.name}={f.how.separator.join(map(str, f.levels))}")]
    command = result.experiment.commands[0]
    preloads = [] if "simulated" in result.origins or _no_preload(result, command) else ["--allocators", "auto"]
    line = shlex.join(["corescale", "tune", *result.launching, *preloads, *levels, "--", *command.argv])
    return text.clean(line) if line.isprintable() else ""  # else it could not be pasted


def _no_preload(result: Result, command: Command) -> bool:
    """Whether no allocator can be preloaded, as was found when one was tried or as the program's file shows."""
    return bool(result.experiment.no_preload) or (not command.shell and space.no_preload(command.argv) != "")


def _after_tune(result: Result, found: Recommendation) -> str:
    if not found.others:
        return "name what to vary, such as -f NAME=a,b; where nothing is named, threads and allocators are tried"
    if not found.compared:
        at_first = min(BASELINE_EVERY - 1, found.others + 1)
        first = f"the first block alone launches up to {at_first} configurations"
        return f"the same command with a larger --budget goes on: {first}"
    if found.winner != found.baseline and found.keep_baseline:
        most = result.experiment.stop.confirm_pairs
        more = "--confirm" if most is not None and result.confirmations >= most else "--budget"
        return f"the same command with a larger {more} goes on, and narrows the interval"
    tried = len(result.experiment.factors) > 1 or result.experiment.no_preload
    return "" if tried else "--allocators auto tries memory allocators as well"
