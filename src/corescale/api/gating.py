# SPDX-License-Identifier: Apache-2.0
"""`--gate auto`: the blocks and the threshold of a gate, by the noise passport of this machine."""

import math
from collections.abc import Sequence
from typing import cast

from corescale import passport
from corescale.api.measuring import Declare
from corescale.conclude import detectable
from corescale.conclude.answers.verdict import Gates
from corescale.declare import quantities
from corescale.declare.experiment import Experiment
from corescale.declare.request import CompareRequest
from corescale.declare.stop import Stop
from corescale.errors import PreloadError, UsageError
from corescale.machine import Machine
from corescale.show import text

AUTO = "auto"


def gated(
    declare: Declare, request: CompareRequest, words: Sequence[str], machine: Machine
) -> tuple[Declare, Gates, str]:
    """The experiment, its gates, and a sentence on the blocks and time they take; no sentence if the gate was typed.

    `auto=3%` asks for a difference of 3%. `auto` asks for the smallest one that the largest number of blocks can show.
    Raises UsageError if there is no passport, or if this machine cannot show the difference.
    """
    asked = [one for one in request.gate if one == AUTO or one.startswith(f"{AUTO}=")]
    if not asked:
        return declare, cast("Gates", quantities.gates(request.gate, request.response)), ""
    own, fixed = CompareRequest(), (request.runs, request.min_runs, request.confidence)
    if len(request.gate) > 1 or len(words) != 2 or fixed != (own.runs, own.min_runs, own.confidence):
        remedy = "give two commands, and drop -r, -m, --confidence and other gates"
        raise UsageError("chooses the blocks itself, for two commands", where="--gate auto", remedy=remedy)
    whose, pairs = passport.of_machine(machine.fingerprint()).of(words[0])
    if asked[0] == AUTO:
        blocks: int | None = request.max_runs
        difference = detectable.smallest(pairs.log_ratios, request.max_runs)
        if not math.isfinite(difference):
            what = "too few blocks for --gate auto"
            raise UsageError(what, where=f"-M {request.max_runs}", remedy="write -M 8 or more")
    else:
        difference = quantities.share(asked[0].removeprefix(f"{AUTO}="), "--gate auto")
        blocks = detectable.needed(pairs.log_ratios, difference)
    if blocks is None:
        least = detectable.smallest(pairs.log_ratios, detectable.MOST_BLOCKS)
        what = f"{text.percent(difference)} cannot be shown here in {detectable.MOST_BLOCKS} blocks"
        raise UsageError(what, where="--gate auto", remedy=f"ask for {text.at_most(least)} or more")
    seconds = blocks * pairs.seconds
    lasts, most = (text.duration(repeats * seconds) for repeats in (pairs.repeats, passport.MOST_REPEATS))
    said = text.count(blocks, "undisturbed block")
    if whose == passport.SENTINEL:
        said = f"at least {said} here, by the sentinel's pairs; this command may be noisier: {passport.MAKE} -- COMMAND"
    else:
        said += f" here, about {lasts} and at most {most} at the passport's pace"
    said = f"a difference of {text.percent(difference)} takes {said}"
    if (known := len(pairs.log_ratios)) < passport.ENOUGH:
        said += f" (by {text.count(known, 'pair')} only: {passport.ENOUGH} or more give a reliable number)"
    return _calm(declare, blocks, difference), {"time": difference}, said


def _calm(declare: Declare, blocks: int, difference: float) -> Declare:
    """The experiment; its blocks may double if some are disturbed, or if they decide nothing."""

    def declared(unloadable: PreloadError | None) -> Experiment:
        made = declare(unloadable)
        stop = Stop(rule="calm", min_blocks=blocks, max_blocks=passport.MOST_REPEATS * blocks, width=difference,
                    confidence=detectable.STATED)  # fmt: skip
        kept = {name: getattr(made.stop, name) for name in ("budget", "launches", "binding")}
        return made.model_copy(update={"stop": stop.model_copy(update=kept if made.stop.binding else {})})

    return declared
