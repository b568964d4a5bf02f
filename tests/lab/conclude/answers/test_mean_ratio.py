# SPDX-License-Identifier: Apache-2.0
"""Slow launches and the mean: a difference is claimed if its interval shows one, and the slow launches are counted."""

import dataclasses
import re

from corescale.conclude import policy
from corescale.conclude.answers.verdict import compare
from corescale.declare import command_line
from corescale.declare.request import CompareRequest
from corescale.show import headline
from support.play import MACHINE, play


def test_a_gate_on_the_mean_sees_a_slow_mode_that_the_typical_launch_hides() -> None:
    """Every tenth launch of b takes 1.6 times as long: 6% of the mean."""
    experiment = command_line.compare(CompareRequest(runs=40), ["a", "b"], MACHINE)
    made = play(experiment, lambda c: 1.0, policy.Uniform(experiment), noise=0.01)
    slow = [dataclasses.replace(r, wall=1.6 * r.wall) if r.configuration["command"] == "b" and r.block % 10 == 0 else r
            for r in made]  # fmt: skip
    (found,) = compare(slow, experiment, gate={"time": 0.05, "mean": 0.02})
    assert [one.verdict for one in found.gates] == ["passed", "inconclusive"] and found.gate == "inconclusive"
    assert re.search(r"; on average it is 1.06x slower: of b 4 of 40 take 1.6 times", headline.comparison(found, 0.95))
    assert found.mean_ratio.covers(1.06) and not found.ratio.covers(1.06)


def test_a_mean_without_a_shown_difference_is_not_claimed() -> None:
    """Two commands of which one launch in 20, or two, take three times as long, as chance has it."""
    experiment = command_line.compare(CompareRequest(runs=20), ["a", "b"], MACHINE)
    made = play(experiment, lambda c: 1.0, policy.Uniform(experiment), noise=0.01)
    late = {("a", 3), ("b", 5), ("b", 9)}
    slow = [
        dataclasses.replace(r, wall=3 * r.wall) if (r.configuration["command"], r.block) in late else r for r in made
    ]
    (found,) = compare(slow, experiment, gate={"time": 0.05})
    said = headline.comparison(found, 0.95)
    assert found.mean_ratio.covers(1) and "on average" not in said
    assert re.search("; of a 1 of 20 take [23][.0-9]* times its median, of b 2 of 20 take", said), said


def test_a_rounded_estimate_is_no_bound_and_the_mean_that_it_hides_is_said() -> None:
    """A quarter of b's launches take three times as long: the pseudomedian is still near 1, and its interval is not."""
    experiment = command_line.compare(CompareRequest(runs=30), ["a", "b"], MACHINE)
    made = play(experiment, lambda c: 1.0, policy.Uniform(experiment), noise=1e-4)
    slow = [
        dataclasses.replace(r, wall=(3.0 if r.block % 4 == 0 else 1.003) * r.wall)
        if r.configuration["command"] == "b"
        else r
        for r in made
    ]
    (found,) = compare(slow, experiment)
    said = headline.comparison(found, 0.95)
    assert found.ratio.estimate < 1.005 and "less than" not in said
    assert re.match(r"b is slower than a \[1.00, 1.[0-9]+\]; on average it is 1.5[0-9]x slower: of b ", said), said
