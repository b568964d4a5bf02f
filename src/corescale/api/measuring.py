# SPDX-License-Identifier: Apache-2.0
"""Measures an experiment into its run folder, for the verbs of both the API and the command line."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from corescale.api.interference import must_not_disturb
from corescale.conclude.forecast import to_seal
from corescale.conclude.policy import too_few, uniform
from corescale.conclude.race.race import Race
from corescale.declare.experiment import Experiment
from corescale.declare.request import RunRequest
from corescale.errors import AfterwardsError, InterruptedRunError, PreloadError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers, store
from corescale.observe import run as loop
from corescale.observe.store import sealing
from corescale.observe.wait_quiet import Quiet
from corescale.observe.watcher import Watcher
from corescale.show import interim

RUNS = Path("corescale-runs")

Declare = Callable[[PreloadError | None], Experiment]
"""Returns the experiment; the argument is the error of a launch with an allocator, raised again if that was named."""


Follow = Callable[[Experiment], Watcher]
"""Returns the watcher that shows the progress of a run of the experiment."""


def silent(experiment: Experiment) -> Watcher:
    """Nobody follows."""
    del experiment
    return Watcher()


def policy_of(experiment: Experiment, folder: store.Folder) -> loop.Policy:
    """The policy that chooses the next block: a race, or blocks of all configurations."""
    if experiment.stop.rule == "race":
        return Race(experiment)
    return uniform(experiment, partial(_seal, experiment, folder))


def _seal(experiment: Experiment, folder: store.Folder) -> None:
    """Writes a forecast of the largest p before its first launch, unless a removed folder keeps no launches."""
    if folder.keeps_launches and not sealing.is_there(folder.path):
        sealing.write(folder.path, folder.records, to_seal(folder.records, experiment))


def loadable(
    declare: Declare, request: RunRequest, machine: Machine, follow: Follow = silent, began: float | None = None
) -> store.Run:
    """Measures what `declare` returns; without allocators if none can be preloaded and none was named."""
    experiment = declare(None)
    if said := too_few(experiment):
        follow(experiment).note(said)
    try:
        return measure(experiment, request, machine, follow, began)
    except PreloadError as error:
        experiment = declare(error)
        follow(experiment).note(f"without other allocators: {error.what}")
        return measure(experiment, request, machine, follow, began)


def measure(
    experiment: Experiment, request: RunRequest, machine: Machine, follow: Follow = silent, began: float | None = None
) -> store.Run:
    """Launches until enough is measured. After any interruption, the records written so far are kept.

    `began`: start of the budget, by the monotonic clock. Raises InterruptedRunError if Ctrl-C is pressed.
    """
    launcher = launchers.create(request.on, experiment, machine, request.launching)
    if request.fresh and request.continued:
        raise UsageError("contradict each other", where="--fresh --continue", remedy="drop one of them")
    option = request.launching.get(launcher.takes, "")
    opened = store.open_run(experiment, machine, Path(request.out or RUNS), launcher.name, option, fresh=request.fresh,
                            continued=request.continued)  # fmt: skip
    if request.wait_quiet and launcher.place is not None:
        what = f"launches run on other machines with --on {request.on}, and it would wait for this one"
        raise UsageError(what, where="--wait-quiet", remedy="leave it out")
    if request.jobs < 1:
        raise UsageError(f"{request.jobs} launches at once", where="--jobs", remedy="give at least 1")
    if request.jobs > 1:
        launcher.side_by_side(request.jobs)
    with follow(experiment) as watcher, opened as folder:
        try:
            waits = Quiet(machine, watcher.note).wait if request.wait_quiet and not launcher.virtual else lambda _: 0.0
            policy = policy_of(experiment, folder)
            checked = partial(must_not_disturb, experiment, launcher, request.jobs, watcher.note)
            first = checked if request.jobs > 1 else lambda: None
            loop.run(experiment, folder, launcher, policy, watcher, began=began, quiet=waits, first=first)
        except KeyboardInterrupt as end:
            place = str(folder.path) if folder.keeps_launches else ""
            known = interim.known(folder.records, experiment)
            raise InterruptedRunError(place, known, fresh=request.fresh) from end
        except AfterwardsError as error:
            return replace(folder.finished(), late=error)
        return folder.finished()
