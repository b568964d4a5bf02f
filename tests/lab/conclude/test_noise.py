# SPDX-License-Identifier: Apache-2.0
"""What makes a launch doubtful, and which blocks may be excluded for it, on known data."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from corescale.conclude import noise


def quiet_launches(**changed: npt.ArrayLike) -> noise.Launches:
    n = 4
    columns: dict[str, npt.NDArray[Any]] = {
        name: np.zeros(n) for name in ("steal", "foreign", "throttled", "involuntary_switches", "runqueue_wait")
    }
    columns |= {
        "block": np.arange(n) // 2,
        "configuration": np.arange(n) % 2,
        "capacity": np.full(n, 2.0),
        "cpu": np.ones(n),
        "on_cpu": np.ones(n),
        "oversubscribed": np.zeros(n, dtype=bool),
    }
    return noise.Launches(**columns | {name: np.asarray(value) for name, value in changed.items()})


BROKEN: dict[str, dict[str, npt.ArrayLike]] = {
    "steal": {"steal": [0, 0.1, 0, 0]},
    "foreign": {"foreign": [0, 0.2, 0.05, 0]},
    "throttled": {"throttled": [0, 0.001, 0, 0]},
    "switches": {"involuntary_switches": [5, 400, 5, 5]},
    "waiting": {"runqueue_wait": [0, 0.3, 0, 0]},
}


class TestNoise:
    def test_every_rule_has_a_case(self) -> None:
        assert BROKEN.keys() == noise.RULES.keys()

    @pytest.mark.parametrize("rule", noise.RULES)
    def test_a_rule_flags_its_launch_and_block(self, rule: str) -> None:
        launches = quiet_launches(**BROKEN[rule])
        (flag,) = noise.flag_launches(launches)
        assert (flag.rule, flag.launch, flag.block) == (rule, 1, 0)
        assert flag.number > flag.threshold

    def test_a_quiet_machine_has_no_flags(self) -> None:
        assert noise.flag_launches(quiet_launches()) == ()

    def test_waiting_for_itself_is_no_noise(self) -> None:
        launches = quiet_launches(runqueue_wait=[3.0] * 4, involuntary_switches=[999] * 4, oversubscribed=[True] * 4)
        assert noise.flag_launches(launches) == ()

    def test_a_launch_without_cpu_time_is_no_division_by_zero(self) -> None:
        assert noise.flag_launches(quiet_launches(cpu=np.zeros(4))) == ()

    def test_where_its_cpus_are_not_known_foreign_time_says_nothing(self) -> None:
        assert noise.flag_launches(quiet_launches(foreign=np.ones(4), capacity=np.zeros(4))) == ()

    def test_drift_and_memory_are_found_in_the_order_of_time(self) -> None:
        rng = np.random.default_rng(5)
        sequence = rng.permuted(np.arange(80).reshape(20, 4), axis=1)
        still = rng.normal(0, 0.01, (20, 4)) + np.arange(4)
        assert not any(finding.exceeded for finding in noise.drift(still, sequence))
        drift, _ = noise.drift(still + sequence * 0.001, sequence)
        assert drift.exceeded and drift.number > 0
        _, memory = noise.drift(still + 0.05 * np.sin(sequence / 4), sequence)
        assert memory.exceeded


def robbed(blocks: int, configurations: int, hit: Callable[[int, int], bool]) -> frozenset[int]:
    """The blocks that go where the launches are robbed of which `hit` says so, of their block and configuration."""
    block, configuration = np.divmod(np.arange(blocks * configurations), configurations)
    one = quiet_launches()
    columns = {name: np.full(block.size, getattr(one, name)[0]) for name in one.__slots__}
    steal = np.array([hit(b, c) for b, c in zip(block, configuration, strict=True)], dtype=np.float64)
    launches = noise.Launches(**columns | {"block": block, "configuration": configuration, "steal": steal})
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

    def test_what_a_program_does_to_itself_is_never_set_aside(self) -> None:
        launches = quiet_launches(runqueue_wait=[1.0] * 4)
        assert noise.disturbed(launches, noise.flag_launches(launches)) == frozenset()


def ran(rng: np.random.Generator, blocks: int, effect: float) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Log times and order of launches of two, of which what follows the second takes so much more."""
    order = np.array([rng.permutation(2) for _ in range(blocks)])
    logs = 0.01 * rng.standard_normal(2 * blocks) + effect * np.append(False, order.ravel()[:-1] == 1)
    times, sequence = np.empty((2, blocks, 2))
    np.put_along_axis(times, order, logs.reshape(blocks, 2), axis=1)
    np.put_along_axis(sequence, order, np.arange(2.0 * blocks).reshape(blocks, 2), axis=1)
    return times, sequence


def test_what_a_launch_leaves_to_the_next_is_found() -> None:
    rng = np.random.default_rng(1)
    found = noise.carry_over(*ran(rng, 20, 0.05))
    assert found is not None and found.behind in (0, 1)
    assert abs(found.effect) == pytest.approx(0.05, abs=0.02) and (found.effect > 0) == (found.behind == 1)


def test_nothing_left_is_seldom_found() -> None:
    """1% of experiments; of 300 more than ten would be one chance in a thousand."""
    rng = np.random.default_rng(2)
    assert sum(noise.carry_over(*ran(rng, 12, 0.0)) is not None for _ in range(300)) <= 10


def test_too_few_launches_carry_nothing_over() -> None:
    assert noise.carry_over(np.zeros((2, 2)), np.arange(4.0).reshape(2, 2)) is None
