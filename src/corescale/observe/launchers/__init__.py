# SPDX-License-Identifier: Apache-2.0
"""Launchers: they take a block of invocations and yield records as they end.

A new launcher needs a file and a line in LAUNCHERS. ARCHITECTURE.md lists what else it needs.
"""

from collections.abc import Mapping
from types import MappingProxyType

from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.errors import UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe.launchers.direct import Direct
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.launcher import Launcher
from corescale.observe.launchers.mpi import Mpi
from corescale.observe.launchers.simgrid import Simgrid
from corescale.observe.launchers.slurm import Slurm
from corescale.observe.launchers.ssh import Ssh
from corescale.records import Layout

__all__ = ["LAUNCHERS", "Launcher", "able", "create", "machine", "must_take"]

LAUNCHERS: dict[str, type[Launcher]] = {
    "direct": Direct,
    "mpi": Mpi,
    "slurm": Slurm,
    "ssh": Ssh,
    "simgrid": Simgrid,
    "fake": Fake,
}

OF_RANKS = tuple(name for name, kind in LAUNCHERS.items() if kind.starts_ranks and kind.origin == "measured")
"""launchers that start ranks on real machines"""
THEIR_OPTIONS = tuple(kind.takes for name in OF_RANKS if (kind := LAUNCHERS[name]).takes)

NOTHING: Mapping[str, str] = MappingProxyType({})
"""no options"""

RANKS = Layout(1, 2, 1)
"""What a launcher must be able to start if ranks are a factor, so that one rank starts as several do."""


def create(name: str, experiment: Experiment, machine: Machine, options: Mapping[str, str] = NOTHING) -> Launcher:
    """The launcher of that name, or if it is empty the first that can start every layout; raises UsageError.

    `options`: values of the options that launchers take, by their names.
    """
    _must_exist(name)
    kind = able(name, experiment)
    must_take(kind, options)
    if not kind.binds and (factor := next((each for each in experiment.factors if each.how.masks), None)):
        what = f"the {name} launcher binds no launch to CPUs that a factor chooses"
        raise UsageError(what, where=factor.name, remedy="leave it out")
    return kind.create(experiment, machine, options.get(kind.takes, ""))


def must_take(kind: type[Launcher], options: Mapping[str, str], where: str = "--on") -> None:
    """Raises UsageError for an option of another launcher; `where` is the option that names the launcher."""
    for option in options:
        if option != kind.takes:
            owner = next(other for other, each in LAUNCHERS.items() if each.takes == option)
            what = f"only the {owner} launcher takes it"
            raise UsageError(what, where=f"--{option}", remedy=f"add {where} {owner}")


def machine(name: str, options: Mapping[str, str] = NOTHING) -> Machine:
    """The machine on which the launcher of that name launches; this machine if it is empty. Raises UsageError."""
    _must_exist(name)
    kind = LAUNCHERS[name or "direct"]
    return kind.machine(options.get(kind.takes, ""))


def _must_exist(name: str) -> None:
    if name and name not in LAUNCHERS:
        raise UsageError(f"no launcher {name!r}", where="--on", remedy=f"one of {', '.join(LAUNCHERS)}")


def able(name: str, experiment: Experiment) -> type[Launcher]:
    """The class of the launcher that `create` makes. Raises UnavailableError if the only launchers that could start all
    layouts are not installed, and UsageError if there are none.
    """
    layouts = dict.fromkeys(chosen.layout for chosen in configurations(experiment))
    if experiment.starts_ranks:
        if name and LAUNCHERS[name].starts_ranks:
            remedy = "leave --on out, or what starts them out of the command"
            raise UsageError("the command starts its ranks itself", where=f"--on {name}", remedy=remedy)
        layouts = dict.fromkeys(Layout(layout.threads_per_rank) for layout in layouts)
    elif not name and any({"ranks", "nodes"} & factor.how.makes for factor in experiment.factors):
        layouts |= dict.fromkeys([RANKS])
    why: dict[str, str] = {}
    for each in [name] if name else [each for each, kind in LAUNCHERS.items() if not kind.only_if_asked]:
        reasons = [
            f"{reason} (asked: {_in_words(layout)})" for layout in layouts if (reason := LAUNCHERS[each].cannot(layout))
        ]
        if not reasons:
            return LAUNCHERS[each]
        absent = LAUNCHERS[each].cannot(Layout())  # a launcher that cannot start one rank is not usable here
        if absent and reasons[0].startswith(absent):
            raise UnavailableError(f"the {each} launcher {absent}")
        why[each] = reasons[0]
    others = [
        each
        for each, kind in LAUNCHERS.items()
        if each not in why and kind.starts_ranks
        if all(kind.cannot(layout) in (None, kind.cannot(Layout())) for layout in layouts)
    ]
    remedy = f"other launchers may: --on {' or --on '.join(others)}" if others else ""
    what = "; ".join(f"the {each} launcher {reason}" for each, reason in why.items())
    raise UsageError(what, where="--on", remedy=remedy)


def _in_words(layout: Layout) -> str:
    """`2 ranks`, `2 nodes with 4 ranks each`."""
    ranks = f"{layout.ranks_per_node} rank{'s' * (layout.ranks_per_node > 1)}"
    return ranks if layout.nodes == 1 else f"{layout.nodes} nodes with {ranks} each"
