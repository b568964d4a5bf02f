# SPDX-License-Identifier: Apache-2.0
"""What makes a launch doubtful, and which blocks may be excluded for it, on known data."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from corescale.conclude import noise
from corescale.records import Configuration, Layout, Noise, Process, Record
from support.play import record


def quiet(
    block: int = 0, *, configuration: int = 0, oversubscribed: bool = False, cpu: float = 1.0, **more: Any
) -> Record:
    """A launch of a second on two CPUs."""
    chosen = Configuration((("c", configuration),), Layout())
    found = Noise(cpus=2, foreign=0.0, on_cpu=cpu)
    found = dataclasses.replace(found, **more)
    return record(chosen, 1.0, block=block, user=cpu, noise=found, oversubscribed=oversubscribed)


BROKEN: dict[str, dict[str, Any]] = {
    "steal": {"steal": 0.1},
    "foreign": {"foreign": 0.2},
    "throttled": {"throttled": 0.001},
    "switches": {"involuntary_switches": 400},
    "waiting": {"runqueue_wait": 0.3},
}


class TestNoise:
    def test_every_rule_has_a_case(self) -> None:
        assert BROKEN.keys() == noise.RULES.keys()

    @pytest.mark.parametrize("rule", noise.RULES)
    def test_a_rule_flags_its_launch_and_block(self, rule: str) -> None:
        (flag,) = noise.flag_launches(
            [quiet(), quiet(7, **BROKEN[rule]), quiet(8, involuntary_switches=5, foreign=0.05)]
        )
        assert (flag.rule, flag.launch, flag.block) == (rule, 1, 7)
        assert flag.number > noise.RULES[rule].threshold

    def test_waiting_for_itself_is_no_noise(self) -> None:
        waiting: dict[str, Any] = {"runqueue_wait": 3.0, "involuntary_switches": 999}
        assert noise.flag_launches([quiet(oversubscribed=True, **waiting)]) == ()

    def test_a_cpu_of_another_node_is_another_cpu(self) -> None:
        """Two CPU-seconds within a second fill the two CPUs of one node, and half of those of two."""
        for nodes, flagged in ((("n1", "n1"), 0), (("n1", "n2"), 1)):
            made = quiet(cpu=2.0, involuntary_switches=999)
            ranks = tuple(Process("x", 1.0, 0.0, 0, rank, node, (0, 1)) for rank, node in enumerate(nodes))
            assert len(noise.flag_launches([dataclasses.replace(made, processes=ranks)])) == flagged

    def test_a_launch_without_cpu_time_is_no_division_by_zero(self) -> None:
        assert noise.flag_launches([quiet(cpu=0.0)]) == ()

    def test_where_its_cpus_are_not_known_foreign_time_says_nothing(self) -> None:
        assert noise.flag_launches([quiet(foreign=1.0, cpus=None)]) == ()

    def test_drift_and_memory_are_found_in_the_order_of_time(self) -> None:
        rng, sequence = np.random.default_rng(5), np.arange(80)
        column = rng.permuted(np.tile(np.arange(4), (20, 1)), axis=1).ravel()
        still = rng.normal(0, 0.01, 80) + column
        assert not any(finding.exceeded for finding in noise.drift(still, column))
        drift, _ = noise.drift(still + sequence * 0.001, column)
        assert drift.exceeded and drift.number > 0
        _, memory = noise.drift(still + 0.05 * np.sin(sequence / 4), column)
        assert memory.exceeded


def robbed(blocks: int, configurations: int, hit: Callable[[int, int], bool]) -> frozenset[int]:
    """The blocks that go where the launches are robbed of which `hit` says so, of their block and configuration."""
    every = itertools.product(range(blocks), range(configurations))
    launches = [quiet(b, configuration=c, steal=float(hit(b, c))) for b, c in every]
    return noise.disturbed(launches, noise.flag_launches(launches))


class TestExcluded:
    """Blocks go that were hit altogether, never those in which some configuration drew the flags."""

    @pytest.mark.parametrize("configurations", [1, 2, 6])
    def test_whole_blocks(self, configurations: int) -> None:
        assert robbed(20, configurations, lambda b, c: b < 5) == {0, 1, 2, 3, 4}

    def test_one_launch_of_some_blocks(self) -> None:
        assert robbed(20, 4, lambda b, c: b < 8 and c == b % 4) == frozenset()

    def test_most_threads_gather_most(self) -> None:
        assert robbed(20, 6, lambda b, c: (c == 5 and b < 9) or b < 2) == {0, 1}

    def test_a_launch_that_never_started_is_no_calm_one(self) -> None:
        launches = [quiet(0, steal=1.0), dataclasses.replace(quiet(0, configuration=1), status="not-started")]
        assert noise.disturbed(launches, noise.flag_launches(launches)) == {0}

    def test_what_a_program_does_to_itself_is_never_set_aside(self) -> None:
        launches = [quiet(block, runqueue_wait=1.0) for block in range(4)]
        assert noise.disturbed(launches, noise.flag_launches(launches)) == frozenset()


def ran(rng: np.random.Generator, blocks: int, effect: float) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Log times of launches of two in their order, of which what follows the second takes so much more; and which."""
    order = np.array([rng.permutation(2) for _ in range(blocks)]).ravel()
    return 0.01 * rng.standard_normal(2 * blocks) + effect * np.append(False, order[:-1] == 1), order


def test_what_a_launch_leaves_to_the_next_is_found() -> None:
    rng = np.random.default_rng(1)
    found = noise.carry_over(*ran(rng, 20, 0.05))
    assert found is not None and found.predecessor in (0, 1)
    assert abs(found.effect) == pytest.approx(0.05, abs=0.02) and (found.effect > 0) == (found.predecessor == 1)


def test_nothing_left_is_seldom_found() -> None:
    """1% of experiments; of 300 more than ten would be one chance in a thousand."""
    rng = np.random.default_rng(2)
    assert sum(noise.carry_over(*ran(rng, 12, 0.0)) is not None for _ in range(300)) <= 10


def test_too_few_launches_carry_nothing_over() -> None:
    assert noise.carry_over(np.zeros(4), [0, 1, 1, 0]) is None
