# SPDX-License-Identifier: Apache-2.0
"""The options of `corescale predict`."""

from dataclasses import dataclass
from typing import Any

from corescale.conclude.forecast import FAR, MODEL_NAMES
from corescale.declare.request import option
from corescale.errors import UsageError
from corescale.observe import launchers

MOST = 10**9
"""cores that a forecast may be asked for"""


@dataclass(frozen=True, kw_only=True)
class PredictRequest:
    """Options of `predict`."""

    cores: int | None = option(None, "--cores", metavar="P", most=MOST, help="number of cores to forecast the time on")
    model: str = option("", "--model", metavar="NAME", help=f"{', '.join(MODEL_NAMES)} (default: chosen as by scan)")
    overhead: list[str] = option(
        [],
        "--overhead",
        metavar="SUM",
        help="use this formula for the overhead, such as 'p / points' (may be repeated)",
    )
    track_record: bool = option(
        False,
        "--track-record",
        help="score the forecasts of scan --seal; of other runs, forecasts from launches at p <= P / 2",
    )
    anyway: bool = option(False, "--anyway", help=f"also forecast beyond {FAR:g} times the largest measured p")
    simulate: str = option("", "--simulate", metavar="FILE", help="launch the program on this cluster, by SimGrid")
    layouts: str = option(
        "", "--layouts", metavar="TxMxN,...", help="layouts to forecast, or to simulate (default: all)"
    )
    grade: str = option(
        "",
        "--grade",
        metavar="|".join(launchers.OF_RANKS),
        help="also launch the layouts where possible, and print the errors of the forecasts",
    )
    hosts: str = option("", "--hosts", metavar="FILE", help="with --grade ssh: a line HOST slots=CORES for each host")
    allocation: str = option("", "--allocation", metavar="OPTIONS", help="with --grade slurm: options of salloc")
    response: str = option("wall", "--response", help="with --simulate: number to forecast, wall or metric:NAME")
    out: str = option("", "--out", metavar="DIR", help="folder of the run folders (default ./corescale-runs)")
    json: bool = option(False, "--json", help="print the result as JSON")

    @property
    def options(self) -> dict[str, str]:
        """The options of the launcher that grades."""
        return {name: value for name in launchers.THEIR_OPTIONS if (value := getattr(self, name))}

    def given(self, *names: str) -> dict[str, Any]:
        """The named options that were given, by their flags."""
        every = {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}
        return {flag: value for flag, value in every.items() if value not in (None, "", [], False)}

    def must_not_have(self, where: str, what: str, *names: str) -> None:
        """Raises UsageError, with the message `what`, if one of these options was given with the option `where`."""
        if flags := self.given(*names):
            raise UsageError(what, where=where, remedy=f"leave out {' and '.join(flags)}")
