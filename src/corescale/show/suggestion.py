# SPDX-License-Identifier: Apache-2.0
"""The command that answers the next question."""

import math
import shlex

from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.declare import template
from corescale.declare.catalogue import space
from corescale.show import text
from corescale.show.result import Result


def suggestion(result: Result) -> str:
    """The text after `next:`; empty if there is nothing to suggest."""
    found = result.conclusion
    if result.changed:
        return ""
    if isinstance(found, Recommendation):
        return _after_tune(result, found)
    if isinstance(found, Study):
        runs = [shlex.quote(str(run)) for run in result.runs.values()]
        return text.clean(f"corescale study publish {runs[0]} FOLDER") if len(runs) == 1 else ""
    if isinstance(found, Scan):
        worked = any(row.failures < row.launches for row in found.rows)
        return "" if found.weak or not worked else _after_scan(result)
    asked = (one for one in found if one.alone is None and not one.ineffective)
    seen = [one.decision for one in asked if math.isfinite(one.ratio.estimate)]
    narrow = {"no difference shown", "too few blocks"}.intersection(seen)
    more = (
        "a larger --budget narrows" if result.stop and result.stop.reason == "budget" else "more blocks (--runs) narrow"
    )
    return f"{more} the interval" if narrow else ""


def _after_scan(result: Result) -> str:
    """The same command as a tune: with its input and hooks, allocators if they can be preloaded, and the levels at
    which a launch succeeded. A level at which none did is not the baseline either; -i if one of the others failed.
    --oversubscribe if ranks had more threads than cores."""
    asked, launched = result.experiment, [r for r in result.timed if not result.experiment.is_serial(r.configuration)]
    tried, worked = ({pair for record in some for pair in record.configuration.levels}
                     for some in (launched, [record for record in launched if record.ok]))  # fmt: skip
    flaky = any(not record.ok and worked.issuperset(record.configuration.levels) for record in launched)
    varied = [f for f in asked.factors if not f.how.preloads]
    kept = {f.name: [level for level in f.levels if (f.name, level) not in tried - worked] for f in varied}
    lost = [f for f in varied if len(kept[f.name]) < len(f.levels)]
    now = ",".join(f"{f.name}={f.how.baseline(kept[f.name])}" for f in lost)
    named = [f for f in varied if f.kind != "threads" or f in lost]
    levels = [word for f in named for word in ("-f", f"{f.name}={f.how.joined(kept[f.name])}")]
    hooks = {f"--{name}": text for name, text in asked.hooks.model_dump().items()}
    texts = {"--input": asked.input, **hooks, "--baseline": now}
    options = [word for name, text in texts.items() if text for word in (name, text)]
    command, preloads = asked.commands[0], ["--allocators", "auto"] * _may_preload(result)
    shell = ["--shell"] if command.shell else ["-N"] if template.operator(command.argv) else []
    over = any(f.kind == "ranks" for f in varied) and any(record.oversubscribed for record in launched)
    given = [*["-i"] * flaky, *["--oversubscribe"] * over, *preloads]
    options = [*result.launching, *shell, *given, *options, *levels]
    line = shlex.join(["corescale", "tune", *options, "--", *command.argv])
    return text.clean(line) if line.isprintable() else ""  # a line that is not printable could not be pasted


def _may_preload(result: Result) -> bool:
    """Whether allocators can be preloaded into the program, as far as is known."""
    command = result.experiment.commands[0]
    refused = result.experiment.no_preload or (not command.shell and space.no_preload(command.argv))
    return not refused and "simulated" not in result.origins


def _after_tune(result: Result, found: Recommendation) -> str:
    if not found.others:
        also = ["--allocators auto"] * _may_preload(result)
        return f"name what to vary: {' or '.join([*also, '-f NAME=a,b with {NAME} in the command'])}"
    if not found.compared:
        return "the same command with a larger --budget goes on"
    if not found.answered:
        return ""
    if not found.decided:
        return _undecided(result, found)
    if found.not_shown and result.confirmations:  # four times the pairs
        return f"the same command with --confirm {4 * result.confirmations} halves the interval of the constraint"
    tried = len(result.experiment.factors) > 1 or result.experiment.no_preload
    return "" if tried else "--allocators auto tries memory allocators as well"


def _undecided(result: Result, found: Recommendation) -> str:
    """What decides a race that is not decided."""
    if all(one.excluded is not None for one in found.candidates):
        return "make the program work, or add -i: launches may fail then"
    if found.step:
        return f"let the program report {text.amount_of(found.response)} in smaller steps"
    most = result.experiment.stop.confirm_pairs
    if most == 0:
        return "the same command without --confirm 0 measures anew, and confirms the answer"
    more = "--confirm" if most is not None and result.confirmations >= most else "--budget"
    return f"the same command with a larger {more} goes on, and narrows the interval"
