# SPDX-License-Identifier: Apache-2.0
"""What makes a launch doubtful, and which blocks may be excluded for it, on known data."""

from collections.abc import Callable
from functools import partial
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


def robbed(blocks: int, configurations: int, hit: Callable[[int, int], bool]) -> frozenset[str]:
    """What is excluded where the launches are robbed of which `hit` says so, of their block and configuration."""
    block, configuration = np.divmod(np.arange(blocks * configurations), configurations)
    one = quiet_launches()
    columns = {name: np.full(block.size, getattr(one, name)[0]) for name in one.__slots__}
    steal = np.array([hit(b, c) for b, c in zip(block, configuration, strict=True)], dtype=np.float64)
    launches = noise.Launches(**columns | {"block": block, "configuration": configuration, "steal": steal})
    return noise.to_exclude(launches, noise.flag_launches(launches))


class TestExcluded:
    """Blocks are excluded for what hits all alike, never for what goes with a configuration."""

    @pytest.mark.parametrize("configurations", [1, 2, 6])
    def test_whole_blocks(self, configurations: int) -> None:
        assert robbed(20, configurations, lambda b, c: b < 5) == {"steal"}

    def test_one_launch_of_some_blocks(self) -> None:
        assert robbed(20, 4, lambda b, c: b < 8 and c == b % 4) == {"steal"}

    @pytest.mark.parametrize(("blocks", "kept"), [(4, False), (5, True), (12, True)])
    def test_one_of_two_is_hit_every_time(self, blocks: int, kept: bool) -> None:
        """2 x 0.5^4 = 12.5% is chance at a level of 10%, 2 x 0.5^5 is not."""
        assert (robbed(20, 2, lambda b, c: b < blocks and c == 1) == frozenset()) == kept

    def test_most_threads_gather_most(self) -> None:
        """Of six, the last is hit in nine blocks, the others in two of them."""
        assert robbed(20, 6, lambda b, c: (c == 5 and b < 9) or (c == 1 and b < 2)) == frozenset()

    @pytest.mark.parametrize(("blocks", "kept"), [(26, False), (27, True)])
    def test_one_of_six_is_spared(self, blocks: int, kept: bool) -> None:
        """Each block hits one of the others: by chance in (5/6)^26 = 0.87% of cases and (5/6)^27 = 0.73%, where each
        side of each of six has 10% / 12 = 0.83%.
        """
        assert (robbed(40, 6, lambda b, c: b < blocks and c == 1 + b % 5) == frozenset()) == kept

    @pytest.mark.parametrize(("blocks", "kept"), [(2, False), (3, True)])
    def test_one_of_six_is_spared_where_all_others_are_hit(self, blocks: int, kept: bool) -> None:
        """By chance in (1/6)^2 = 2.8% of cases and (1/6)^3 = 0.46%; to hit each other one, (5/6)^3 = 58%."""
        assert (robbed(20, 6, lambda b, c: b < blocks and c > 0) == frozenset()) == kept

    def test_a_block_may_have_more_launches_than_floats_can_count_choices_of(self) -> None:
        """There are 10^329 ways to hit 550 of 1,100."""
        assert robbed(1, 1100, lambda b, c: c % 2 == 0) == {"steal"}

    def test_of_what_hits_at_random_one_in_ten_is_kept_at_most(self) -> None:
        rng = np.random.default_rng(3)
        drawn = [rng.random((12, 3)) < 0.3 for _ in range(300)]
        kept = [not robbed(12, 3, partial(np.ndarray.item, hit)) for hit in drawn]
        assert sum(kept) <= 40

    def test_what_a_program_does_to_itself_is_never_set_aside(self) -> None:
        launches = quiet_launches(runqueue_wait=[1.0] * 4)
        assert noise.to_exclude(launches, noise.flag_launches(launches)) == frozenset()
