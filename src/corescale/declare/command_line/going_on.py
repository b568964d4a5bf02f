# SPDX-License-Identifier: Apache-2.0
"""`tune --more`: what goes on, and for how long."""

import dataclasses

from corescale.declare.quantities import budget
from corescale.declare.request import RunRequest, TuneRequest
from corescale.declare.stop import Stop
from corescale.errors import UsageError

ALLOWED = {field.name for field in dataclasses.fields(RunRequest)} | {"more", "budget"}
"""fields of a request that change no launch"""


def must_go_on(request: TuneRequest) -> None:
    """Raises UsageError for an option that would make other launches than those of the run."""
    if request.fresh:
        raise UsageError("continues the last run, and --fresh starts one", where="--more", remedy="drop one of them")
    usual = TuneRequest()
    for field in dataclasses.fields(request):
        if field.name not in ALLOWED and getattr(request, field.name) != getattr(usual, field.name):
            what = f"goes on with the launches of the last run, and takes no {field.metadata['flags'][0]}"
            raise UsageError(what, where="--more", remedy="leave it out, or write the whole command anew")


def longer(stop: Stop, wanted: str | None) -> Stop:
    """Twice as long by whatever ended it, or up to the budget that is named."""
    if wanted is not None:
        return stop.model_copy(update=budget(wanted) | {"binding": True})
    limits = ("budget", "launches") if stop.budget is not None or stop.launches is not None else ("max_blocks",)
    more = {name: 2 * limit for name in limits if (limit := getattr(stop, name)) is not None}
    return stop.model_copy(update=more)


def had(stop: Stop) -> str:
    """The limit of a run, as an option names it."""
    if stop.launches is not None:
        return f"--budget {stop.launches}x"
    return f"-M {stop.max_blocks}" if stop.budget is None else f"--budget {stop.budget:g}s"
