# SPDX-License-Identifier: Apache-2.0
"""When enough was measured, as the options say it."""

from corescale.declare.command_line.request import Request
from corescale.declare.quantities import budget, confidence, fresh_blocks, share
from corescale.declare.stop import USUAL_BUDGET, Stop
from corescale.errors import UsageError

MOST = 1_000_000
"""runs: of a millisecond each they take a quarter of an hour, and their records half a gigabyte"""


def of(request: Request, confirm: str, within: str) -> Stop:
    """The rule; raises UsageError."""
    for name, runs in {"-r": request.runs, "-m": request.min_runs, "-M": request.max_runs}.items():
        if runs is not None and runs < 1:
            raise UsageError(f"{runs} runs are no measurement", where=name, remedy=f"write {name} 10")
        if runs is not None and runs > MOST:
            raise UsageError(f"{runs:,} runs are more than {MOST:,}", where=name, remedy=f"write {name} 100")
    rule = {
        "width": share(request.width, "--width"),
        "confidence": confidence(request.confidence, "--confidence"),
        **_limit(request),
        "confirm_blocks": fresh_blocks(confirm),
    }
    if request.runs:
        exactly = {"min_blocks": request.runs, "max_blocks": request.runs}
        return Stop.model_validate(rule | {"rule": "replicates"} | exactly)
    if within:
        rule["within"] = rule["width"] = share(within, "--within")
    least, most = _blocks(request)
    kind = "race" if within else "width"
    return Stop.model_validate(rule | {"rule": kind, "min_blocks": least, "max_blocks": most})


def _blocks(request: Request) -> tuple[int, int]:
    """The first and the last look; a usual one gives way to the one that was typed. Raises UsageError."""
    least, most, usual = request.min_runs, request.max_runs, type(request)
    if least <= most:
        return least, most
    if most == usual.max_runs:
        return least, least
    if least == usual.min_runs:
        return most, most
    raise UsageError(f"{least} runs at least and {most} at most", where="-m", remedy=f"write -m {most} -M {least}")


def _limit(request: Request) -> dict[str, float | int | bool | None]:
    """The budget that was typed, which binds; else the usual one, or none beside a number of blocks."""
    if request.budget is not None:
        return budget(request.budget) | {"binding": True}
    return {"budget": None} if request.runs else budget(USUAL_BUDGET)
