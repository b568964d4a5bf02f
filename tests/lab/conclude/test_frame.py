# SPDX-License-Identifier: Apache-2.0
"""The frame that every output reads: a row a launch, factors, derived parameters, metrics and declared columns."""

import math
from dataclasses import replace

import pytest

from corescale.conclude.frame import frame
from corescale.declare.claimed_range import Claim
from corescale.declare.experiment import Command, Experiment, Factor, Presentation
from corescale.declare.grid import configurations as every
from corescale.declare.grid import launch
from corescale.declare.outputs import BUILT_IN, Table
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Noise
from support.samples import records, shown_by

LOADS = Factor(name="load", kind="parameter", levels=(1, 4))
EXPERIMENT = Experiment(
    verb="study",
    commands=(Command(name="main", argv=("grid", "{threads}", "{side}")),),
    factors=(Factor(name="threads", kind="threads", levels=(1, 4)), LOADS),
    derived={"side": "isqrt(100 * work)", "work": "threads * load"},
    study=Presentation(columns={"throughput": "work / time", "twice": "2 * throughput"}),
)


def test_rows_carry_everything_known_of_a_launch() -> None:
    made = records(EXPERIMENT, lambda c: float(c["load"]), blocks=3, noise=0)
    made[5] = replace(made[5], status="failed", exit_code=1)
    made[7] = replace(made[7], noise=Noise(throttled=1.0), metrics={"births": 7.0, "threads": 99.0})
    found = frame(made, EXPERIMENT, "here")
    assert len(found) == 12 and {*BUILT_IN, "load", "work", "side", "throughput", "births"} <= {*found.columns}
    assert list(found["replicate"]) == [1] * 4 + [2] * 4 + [3] * 4
    assert list(found["order"]) == list(range(1, 13))
    assert math.isnan(found["time"][5]) and math.isnan(found["throughput"][5]) and found["status"][5] == "failed"
    assert list(found.index[found["noisy"]]) == [7] and found["births"][7] == 7
    good = found[found["status"] == "ok"]
    assert set(found["threads"]) == {1, 4}, "what the program calls threads does not hide the factor"
    assert (good["work"] == good["threads"] * good["load"]).all()
    assert (good["side"] == (100 * good["work"]).map(math.isqrt)).all()
    assert good["twice"].to_numpy() == pytest.approx(2 * good["threads"])
    assert set(found["machine"]) == {"here"}


def test_derived_parameters_fill_placeholders() -> None:
    lines = [launch(EXPERIMENT, c, Machine.here()).argv for c in every(EXPERIMENT)]
    assert ("grid", "4", "40") in lines and ("grid", "1", "10") in lines


def test_a_frame_of_nothing_is_empty() -> None:
    assert len(frame([], EXPERIMENT)) == 0


def test_presentation_does_not_change_the_run_folder() -> None:
    table = Table(name="times", columns=(("Time", "time"),))
    redrawn = shown_by(EXPERIMENT, outputs=(table,), title="again")
    assert redrawn.hash == EXPERIMENT.hash
    assert EXPERIMENT.model_copy(update={"derived": {}}).hash != EXPERIMENT.hash
    assert Experiment.model_validate(redrawn.model_dump(mode="json")) == redrawn


@pytest.mark.parametrize("text", ["", "1.1", "=> 1", "2 to 1", "> - 1", ">= fast"])
def test_a_claim_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a claim"):
        Claim.parse(text)
