# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: each rule by which a thread-second gets its row)
"""The ledger: every thread-second in one row, whatever was seen."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corescale.conclude.explain.comparison import compared
from corescale.conclude.explain.explanation import Explanation, explanation, in_use, over_time, together
from corescale.conclude.explain.ledger import ledger, outside, ranks_as_typed
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.explain.sites import sites
from corescale.profile import SHARES, MessageTimes, Place, Profile, RegionTimes, StackTimes, ThreadTimes
from corescale.show.explain import BAR, LEVELS, lines
from corescale.show.explain_json import as_json


def thread(**changes: object) -> ThreadTimes:
    usual = ThreadTimes(1, 1.0, 1.0, 0.0, {}, {}, {}, 0, 0, 0.0, 0)
    return replace(usual, **changes)  # type: ignore[arg-type]


def profile(*threads: ThreadTimes, processors: int = 2, wall: float = 1.0, **shares: float) -> Profile:
    return Profile(
        1, "/p", processors, wall, finished=True, shares=dict.fromkeys(SHARES, 0.0) | shares,
        threads=threads, lost_threads=0, stacks=(),
    )  # fmt: skip


def test_half_serial_is_half_absent() -> None:
    found = ledger([profile(thread(), active=1.0, absent=1.0)], 1.0)
    assert (found.rows[LedgerRow.COMPUTING], found.rows[LedgerRow.ABSENT]) == (1.0, 1.0)
    assert found.cores == 1.0


def test_time_in_no_source_s_sight_is_no_computing() -> None:
    """Before the profiler came and after it went."""
    found = ledger([profile(thread(), active=1.0, absent=1.0)], 1.5)
    assert found.rows[LedgerRow.UNATTRIBUTED] == pytest.approx(1.0)


def test_time_off_the_cpu_is_queued_as_far_as_the_kernel_says_so_and_else_blocked() -> None:
    found = ledger([profile(thread(cpu=0.5, queued=0.2), active=1.0, absent=1.0)], 1.0)
    assert found.rows[LedgerRow.COMPUTING] == pytest.approx(0.5)
    assert found.rows[LedgerRow.QUEUED] == pytest.approx(0.2)
    assert found.rows[LedgerRow.BLOCKED] == pytest.approx(0.3)


def test_nobody_is_absent_while_the_only_thread_waits_out_of_sight() -> None:
    """Of 10 s in which one thread was at work, it computed 4 and read for 5: the other one had nothing to do for 5."""
    one = thread(wall=10.0, cpu=4.0, queued=1.0)
    stacks = (StackTimes((1,), {"computing": 4.0, "serial": 4.0, "alone": 4.0}), StackTimes((2,), {"blocked": 1.0}))
    seen = replace(profile(one, wall=10.0, active=10.0, absent=10.0), stacks=stacks, alone=10.0)
    found = ledger([seen], 10.0)
    assert found.rows[LedgerRow.ABSENT] == pytest.approx(5.0)
    assert found.rows[LedgerRow.BLOCKED] == pytest.approx(10.0)
    assert found.serial == pytest.approx(5.0)
    places = explanation(found, [(seen, lambda frame: Place(f"f{frame}"))]).sites[LedgerRow.BLOCKED]
    assert {site.place: site.share for site in places} == pytest.approx({"calls not watched": 5 / 6, "f2": 1 / 6})
    stolen = ledger([seen], 10.0, stolen=5.0)
    assert (stolen.rows[LedgerRow.ABSENT], stolen.rows[LedgerRow.QUEUED]) == pytest.approx((10.0, 6.0))


def test_ticks_on_the_lines_of_a_function_are_one_place_and_waits_are_not() -> None:
    """The function with the most time is first, although a line of another has more than each of its lines."""
    lines = {1: Place("sort", "sort.h", 10), 2: Place("sort", "sort.h", 20), 3: Place("fill", "fill.h", 30)}
    weights = {1: 2.0, 2: 2.5, 3: 3.0}
    for state, row, first in (
        ("serial", LedgerRow.ABSENT, "sort.h:20 sort"),
        ("locking", LedgerRow.LOCK, "fill.h:30 fill"),
    ):
        seen = replace(profile(thread()), stacks=tuple(StackTimes((k,), {state: w}) for k, w in weights.items()))
        found = sites([(seen, lines.__getitem__)])[row]
        assert (len(found), found[0].place) == (2 if state == "serial" else 3, first)


def test_what_the_host_took_is_waited_for_as_far_as_no_source_saw_a_thread() -> None:
    seen = [profile(thread(cpu=0.5, queued=0.2), active=1.0, blocked=1.0)]
    for stolen, queued in ((0.1, 0.3), (5.0, 0.5)):
        found = ledger(seen, 1.0, stolen=stolen)
        assert found.rows[LedgerRow.QUEUED] == pytest.approx(queued)
        assert found.rows[LedgerRow.BLOCKED] == pytest.approx(1.5 - queued)


def test_what_the_host_took_is_no_wait_that_a_call_explains() -> None:
    """Nor if two processes share the launch's threads."""
    one = profile(thread(cpu=0.5, spent={"blocked": 0.5}), active=0.5, blocked=0.5, absent=1.0)
    for seen in ([one], [one, replace(one, process=2)]):
        assert ledger(seen, 1.0, stolen=0.8).rows[LedgerRow.QUEUED] == pytest.approx(0.0)


def test_waits_that_are_moved_are_first_those_that_no_call_explains() -> None:
    """A thread computed for 1 s of 4, was blocked by a call for 2, and out of sight for 1."""
    one = replace(
        profile(thread(wall=4.0, cpu=1.0, spent={"blocked": 2.0}), processors=1, wall=4.0, active=2.0, blocked=2.0),
        stacks=(StackTimes((1,), {"blocked": 2.0}),),
    )
    for missing, left in ((0.5, 0.5), (1.0, 0.0), (2.0, 0.0)):
        assert ledger([one], 4.0, unprofiled=missing).unseen == pytest.approx(left)
    unread = replace(one, unqueued=True)
    for seen in ([unread], [replace(unread, processors=2), replace(unread, process=2, processors=2)]):
        found = ledger(seen, 5.0)  # of which a second is before or after them
        rows = [found.rows[row] for row in (LedgerRow.BLOCKED, LedgerRow.UNATTRIBUTED)]
        assert (*rows, found.unseen) == pytest.approx((2.0 * len(seen), 2.0 * len(seen), 0.0))


def test_time_since_the_last_reading_of_a_killed_programs_clock_is_no_wait() -> None:
    """A thread computed for 0.5 s by its clock, and was out of sight for 0.5 s, of which 0.01 may be CPU time."""
    killed = replace(profile(thread(cpu=0.5), processors=1, active=1.0), finished=False, unread=0.01)
    for seen in ([killed], [replace(killed, processors=2), replace(killed, process=2, processors=2)]):
        found = ledger(seen, 1.0)
        rows = [found.rows[row] for row in (LedgerRow.UNATTRIBUTED, LedgerRow.BLOCKED)]
        assert rows == pytest.approx([0.01 * len(seen), 0.49 * len(seen)])


def test_cpu_time_that_no_profile_has_is_unattributed_before_any_thread_waits_for_a_core() -> None:
    """Nor do the children of a rank wait, which are profiled but are no ranks."""
    one = profile(thread(cpu=0.3, queued=0.6, spent={"blocked": 0.1}), processors=1, active=0.9, blocked=0.1)
    found = ledger([one, replace(one, process=2)], 1.0, unprofiled=0.4)
    assert found.rows[LedgerRow.UNATTRIBUTED] == pytest.approx(0.4)
    parent = profile(thread(cpu=0.5, spent={"blocked": 0.5}), processors=1, active=0.5, blocked=0.5)
    found = ledger([replace(parent, is_rank=True), profile(thread(cpu=0.4), processors=1, active=0.4)], 1.0)
    assert [found.rows[row] for row in (LedgerRow.UNATTRIBUTED, LedgerRow.BLOCKED)] == pytest.approx([0.4, 0.1])


def test_more_threads_than_cores_cost_nothing_that_the_launch_does_not_have() -> None:
    """Four threads on two cores: each waits half of the time, and no slot is lost."""
    threads = [thread(cpu=0.5, queued=0.5) for _ in range(4)]
    found = ledger([profile(*threads, active=2.0, excess=2.0)], 1.0)
    assert found.rows[LedgerRow.COMPUTING] == pytest.approx(2.0)
    assert found.rows[LedgerRow.QUEUED] == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("timed", "booked"), [(9.0, pytest.approx(4.31, abs=0.01)), (4.1, 4.1), (1.0, pytest.approx(3.70, abs=0.01))]
)
def test_timed_calls_count_as_far_as_the_ticks_allow(timed: float, booked: object) -> None:
    """The ticks saw 400 of 1000 in the malloc family: 37.0% to 43.1%."""
    stacks = (StackTimes((1,), {"allocating": 4.0}), StackTimes((2,), {"computing": 6.0, "serial": 3.0}))
    one = thread(wall=10.0, cpu=10.0, allocating=timed)
    for processes in (1, 2):
        profiles = [replace(profile(one, wall=10.0, processors=processes, active=10.0), stacks=stacks)] * processes
        found = ledger(profiles, 10.0)
        assert found.rows[LedgerRow.ALLOCATING] / processes == booked
        sure = found.allocating
        assert sure is not None and sure.low is not None and sure.high is not None
        assert sure.low <= found.rows[LedgerRow.ALLOCATING] <= sure.high
        if processes == 1:
            assert (sure.low, sure.high, sure.n) == pytest.approx((3.70, 4.31, 1000), abs=0.01)


def test_allocating_and_spinning_are_not_computing() -> None:
    one = thread(allocating=0.3, burnt={"spinning": 0.2})
    found = ledger([profile(one, processors=1, active=1.0)], 1.0)
    assert found.rows[LedgerRow.COMPUTING] == pytest.approx(0.5)
    assert (found.rows[LedgerRow.ALLOCATING], found.rows[LedgerRow.SPINNING]) == (0.3, 0.2)


def test_spinning_in_a_barrier_is_the_barrier_s() -> None:
    waiting = thread(burnt={"barrier": 0.4})
    found = ledger([profile(waiting, processors=1, active=0.6, barrier=0.4)], 1.0)
    assert found.rows[LedgerRow.BARRIER] == 0.4
    assert found.rows[LedgerRow.COMPUTING] == pytest.approx(0.6)
    assert found.burnt == 0.4


def test_computing_beyond_that_of_one_thread_is_inflated() -> None:
    alone = ledger([profile(thread(), processors=1, active=1.0)], 1.0)
    seen = ledger([profile(thread(cpu=0.8), thread(cpu=0.8), active=1.6, absent=0.4)], 1.0)
    found = compared(seen, [seen], [alone])
    assert found.rows[LedgerRow.COMPUTING] == pytest.approx(1.0)
    assert found.rows[LedgerRow.INFLATED] == pytest.approx(0.6)


def test_more_work_is_not_inflated() -> None:
    """Both launches repeat something for a second, and say how often."""
    alone = ledger([profile(thread(), processors=1, active=1.0)], 1.0, work=10.0)
    seen = ledger([profile(thread(), thread(), active=2.0)], 1.0, work=15.0)
    found = compared(seen, [seen], [alone])
    assert found.rows[LedgerRow.COMPUTING] == pytest.approx(1.5)
    assert found.rows[LedgerRow.INFLATED] == pytest.approx(0.5)
    assert found.efficiency is not None and found.efficiency.computation_scaling == pytest.approx(0.75)


def process(*threads: ThreadTimes, started: float = 0.0, wall: float = 1.0) -> Profile:
    """One of a launch with two threads; its own shares count what the others do not know."""
    return replace(profile(*threads, wall=wall, absent=2 * wall), process=int(started * 10) + 1, started=started)


def test_processes_of_a_pool_have_what_each_computed() -> None:
    """The parent computes for 1 s, then waits for two workers, of which one ends after half of the time."""
    parent = process(thread(wall=3.0, cpu=1.0, spent={"blocked": 2.0}), wall=3.0)
    workers = [process(thread(wall=each, cpu=each), started=1.0, wall=each) for each in (2.0, 1.0)]
    found = ledger([parent, *workers], 3.0)
    assert (found.threads, found.total) == (2, 6.0)
    assert found.rows[LedgerRow.COMPUTING] == pytest.approx(4.0)
    assert found.rows[LedgerRow.ABSENT] == pytest.approx(1.0)  # at first there is no worker
    assert found.rows[LedgerRow.BLOCKED] == pytest.approx(1.0)  # at last the parent is the second thread
    assert found.rows[LedgerRow.UNATTRIBUTED] == pytest.approx(0.0)


def test_processes_one_after_the_other_use_one_thread_of_two() -> None:
    found = ledger([process(thread()), process(thread(), started=1.5)], 2.5)
    assert found.rows[LedgerRow.COMPUTING] == pytest.approx(2.0)
    assert found.rows[LedgerRow.ABSENT] == pytest.approx(2.0)
    assert found.rows[LedgerRow.UNATTRIBUTED] == pytest.approx(1.0)  # nobody was there between them


def test_a_program_with_hardly_any_cpu_time_changes_nothing() -> None:
    main, shell = profile(thread(), active=1.0, absent=1.0), profile(thread(cpu=0.005), active=0.005, blocked=0.995)
    assert ledger([main, shell], 1.0).rows == ledger([main], 1.0).rows


def test_what_starts_ranks_is_said_if_it_computed() -> None:
    found = ledger([rank(1.0), rank(0.5), profile(thread(cpu=0.5))], 1.0)
    assert found.rows[LedgerRow.COMPUTING] == pytest.approx(1.5)
    assert found.notes


def test_without_a_profile_there_is_what_the_kernel_says() -> None:
    found = outside(2, 1.0, 1.2, 0.1, "why")
    assert found.rows[LedgerRow.QUEUED] == 0.1
    assert found.rows[LedgerRow.COMPUTING] == 1.2
    assert found.rows[LedgerRow.UNATTRIBUTED] == pytest.approx(0.7)
    with pytest.raises(ValueError, match="profile"):
        ledger([], 1.0)


def rank(useful: float, wall: float = 1.0) -> Profile:
    """One rank of one thread that waited for messages, spinning, when it did not compute."""
    one = thread(cpu=wall, burnt={"message": wall - useful})
    return replace(profile(one, processors=1, wall=wall, active=useful, message=wall - useful), is_rank=True)


def test_ranks_of_a_command_as_typed_have_the_threads_that_compute() -> None:
    """Two were asked for: the second of one rank waits for the network, and the other rank computes with both."""
    waiting = thread(cpu=0.001, spent={"blocked": 0.999})
    alone = replace(profile(thread(), waiting, active=1.0, blocked=0.999, absent=0.001), is_rank=True)
    both = replace(profile(thread(), thread(), active=2.0), is_rank=True)
    found = ledger(ranks_as_typed([alone, both, profile(thread(cpu=0.005), active=2.0)]), 1.0)
    rows = found.rows
    assert (found.threads, rows[LedgerRow.COMPUTING], rows[LedgerRow.BLOCKED]) == pytest.approx((3, 3.0, 0.0))


def test_ranks_are_summed_and_what_started_them_is_not_among_them() -> None:
    started = profile(thread(cpu=0.005), processors=1, wall=1.4, active=1.4)
    found = ledger([rank(1.0), rank(0.5), started], 1.0)
    assert (found.threads, found.total) == (2, 2.0)
    assert (found.rows[LedgerRow.COMPUTING], found.rows[LedgerRow.MPI]) == pytest.approx((1.5, 0.5))
    assert found.rows[LedgerRow.UNATTRIBUTED] == pytest.approx(0.0, abs=0.01)


def test_metrics_of_ranks_with_1_to_2_work_are_theory_s() -> None:
    """LB = 0.75, and the other quarter of the time is nobody's but the slower rank's."""
    alone = ledger([profile(thread(cpu=1.2), processors=1, active=1.2)], 1.2)
    seen = ledger([rank(1.0), rank(0.5)], 1.0)
    found = compared(seen, [seen], [alone]).efficiency
    assert found is not None
    assert (found.load_balance, found.communication, found.parallel) == pytest.approx((0.75, 1.0, 0.75))
    assert found.computation_scaling == pytest.approx(0.8)


POP = [
    ("two of four threads have a core", [thread(cpu=0.5, queued=0.5)] * 4, 0.0, (1.0, 1.0, 0.5)),
    ("half asleep", [thread(cpu=0.5, spent={"blocked": 0.5})] * 2, 0.0, (1.0, 0.5, 1.0)),
    ("1:2, and the longer one had no core for a fifth of the time",
     [thread(cpu=0.8, queued=0.2), thread(cpu=0.4, spent={"barrier": 0.6})], 0.0, (0.75, 1.0, 0.8)),
    ("queued within a wait, which is the wait's",
     [thread(cpu=0.6, queued=0.4, spent={"barrier": 0.4})] * 2, 0.0, (1.0, 0.6, 1.0)),
    ("the host took what nothing explains", [thread(cpu=0.6)] * 2, 0.8, (1.0, 1.0, 0.6)),
    ("nothing says why it is off the CPU", [thread(cpu=0.6)] * 2, 0.0, (1.0, 0.6, 1.0)),
]  # fmt: skip
"""What two or four threads did for a second, what the host took, and by theory: load balance, communication, and the
share of the time with a core."""


@pytest.mark.parametrize(("threads", "stolen", "theory"), [case[1:] for case in POP], ids=[case[0] for case in POP])
def test_waiting_for_a_core_is_no_communication(
    threads: list[ThreadTimes], stolen: float, theory: tuple[float, float, float]
) -> None:
    found = ledger([profile(*threads, processors=len(threads))], 1.0, stolen=stolen).efficiency
    assert found is not None
    assert (found.load_balance, found.communication, found.had_a_core) == pytest.approx(theory)
    assert found.parallel == pytest.approx(sum(one.cpu for one in threads) / len(threads))


def test_serial_time_is_that_of_one_program_with_one_thread_at_work() -> None:
    one = replace(profile(thread(), thread(cpu=0.6), active=1.6, barrier=0.4), alone=0.4)
    assert ledger([one], 1.0).serial == 0.4
    assert ledger([replace(one, processors=1)], 1.0).serial is None
    assert ledger([one, replace(one, process=2)], 1.0).serial is None
    seen = replace(one, stacks=(StackTimes((2,), {"computing": 1.0, "alone": 0.3}), StackTimes((3,), {"alone": 0.1})))
    shown = as_json(explanation(ledger([seen], 1.0), [(seen, PLACES.__getitem__)]))
    assert [(site["place"], site["share"]) for site in shown["serial"]["sites"]] == [
        ("t.cpp:40 grow", pytest.approx(0.75)), ("t.cpp:9 main", pytest.approx(0.25)),
    ]  # fmt: skip
    assert [line for line in lines(shown) if "serial: 0.4 s of 1 s" in line and "grow  75%" in line]


def test_threads_that_come_and_go_have_no_load_balance() -> None:
    assert ledger([profile(*[thread(cpu=0.5)] * 4, active=2.0)], 1.0).efficiency is None


def test_a_call_of_mpi_is_named_beside_its_place() -> None:
    place = {**PLACES, 4: Place("MPI_Recv", module="/lib/libcorescale_profiler.so")}
    stacks = (StackTimes((4, 2, 3), {"message": 1.0}),)
    found = sites([(replace(profile(), stacks=stacks), place.__getitem__)])
    assert [site.place for site in found[LedgerRow.MPI]] == ["MPI_Recv at t.cpp:40 grow"]


def test_cpus_in_use_are_those_of_all_ranks_at_the_same_time() -> None:
    one = replace(rank(1.0), started=5.0, busy=(1.0, 1.0))
    late = replace(rank(1.0), started=5.01, busy=(1.0, 0.0))
    assert in_use(together([one, late], [one, late])) == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})


def test_cpus_over_time_are_means_of_equal_parts() -> None:
    one = replace(rank(1.0), busy=(1.0, 0.0, 1.0, 1.0))
    assert over_time(together([one, one], [one, one]), most=2) == (1.0, 2.0)
    assert over_time(together([one], [one]), most=9) == (1.0, 0.0, 1.0, 1.0)
    assert over_time([]) == ()


def test_cpus_in_use_are_drawn_as_bars_and_over_the_time() -> None:
    """A serial half and a parallel one."""
    seen = replace(profile(thread(), active=1.5, absent=0.5), busy=(1.0,) * 50 + (2.0,) * 50)
    found: Explanation = explanation(ledger([seen], 1.0), [(seen, PLACES.__getitem__)])
    said = list(lines(as_json(found)))
    bars = [line.count("█") for line in said if line.strip()[:1] in "12" and line.endswith("█")]
    assert bars == [BAR // 2, BAR // 2]
    assert any(line.endswith(LEVELS[4] * 30 + LEVELS[8] * 30) for line in said)


times = st.floats(0, 10)


@given(*[times] * 9)
def test_rows_sum_to_the_thread_seconds(
    cpu: float,
    queued: float,
    active: float,
    excess: float,
    lock: float,
    allocating: float,
    spun: float,
    late: float,
    waited: float,
) -> None:
    """Even if a thread used more CPU time in waits than in all, as it seems in a program that was killed."""
    one = thread(cpu=cpu, queued=queued, allocating=allocating, burnt={"spinning": spun, "barrier": waited})
    wall = (active + lock) / 2 + 1
    seen = profile(one, wall=wall, active=active, excess=min(excess, active), lock=lock, absent=2.0)
    for profiles in ([seen], [seen, process(one, started=late)], ranks_as_typed([replace(seen, is_rank=True)])):
        found = ledger(profiles, wall + late)
        assert set(found.rows) == set(LedgerRow)
        assert all(seconds >= -1e-9 for seconds in found.rows.values())
        assert sum(found.rows.values()) == pytest.approx(found.total)


PLACES = {
    1: Place("malloc", module="/lib/libc.so.6"),
    2: Place("grow", "t.cpp", 40, "/bin/app"),
    3: Place("main", "t.cpp", 9, "/bin/app"),
    4: Place("event_base_loop", module="/lib/libevent_core-2.1.so.7"),
    5: Place("progress", module="/lib/libpmix.so.2.6.2"),
}


def test_a_site_is_the_innermost_place_of_the_program_s_own() -> None:
    stacks = (StackTimes((1, 2, 3), {"allocating": 3.0}), StackTimes((1, 3), {"allocating": 1.0}))
    found = sites([(replace(profile(), stacks=stacks), PLACES.__getitem__)])
    assert [(site.place, site.share) for site in found[LedgerRow.ALLOCATING]] == [
        ("t.cpp:40 grow", 0.75),
        ("t.cpp:9 main", 0.25),
    ]


def test_a_thread_that_mpi_starts_has_no_site_even_in_a_library_of_another_name() -> None:
    stacks = (StackTimes((1, 4, 5, 1), {"blocked": 3.0}), StackTimes((1, 4, 3, 1), {"blocked": 1.0}))
    found = sites([(replace(profile(), stacks=stacks), PLACES.__getitem__)])
    assert [(site.place, site.share) for site in found[LedgerRow.BLOCKED]] == [("event_base_loop", 1.0)]


def test_waiting_at_the_end_of_a_region_is_at_the_region() -> None:
    region = RegionTimes(3, calls=1, threads=2.0, wall=1.0, body=1.5, longest=1.0, capacity=2.0)
    assert region.balance == 0.75
    found = sites([(replace(profile(), regions=(region,)), PLACES.__getitem__)])
    assert [site.place for site in found[LedgerRow.BARRIER]] == ["t.cpp:9 main"]


def test_waiting_at_a_barrier_inside_a_region_is_not_at_the_region() -> None:
    region = RegionTimes(3, calls=1, threads=2.0, wall=1.0, body=1.0, longest=1.0, capacity=2.0, inside=0.75)
    barrier = StackTimes((1, 2, 3), {"barrier": 0.75})
    found = sites([(replace(profile(), regions=(region,), stacks=(barrier,)), PLACES.__getitem__)])
    assert [(site.place, site.share) for site in found[LedgerRow.BARRIER]] == [
        ("t.cpp:40 grow", 0.75),
        ("t.cpp:9 main", 0.25),
    ]


def test_calls_of_mpi_have_their_rank_and_partner() -> None:
    """Ranks go by their own numbers, and where nothing says one by their starts."""
    waited = MessageTimes("MPI_Recv", partner=0, calls=20, seconds=0.4)
    sent = MessageTimes("MPI_Send", partner=1, calls=20, seconds=0.1)
    met = MessageTimes("MPI_Barrier", partner=None, calls=1, seconds=0.2)
    second = replace(profile(thread()), is_rank=True, rank=1, messages=(waited,))
    first = replace(profile(thread()), is_rank=True, started=1.0, rank=0, messages=(sent, met))
    found = explanation(ledger([first, second], 1.0), [(one, PLACES.__getitem__) for one in (second, first)])
    assert [(rank, one.call) for rank, one in found.messages] == [(1, "MPI_Recv"), (0, "MPI_Barrier"), (0, "MPI_Send")]
    said = [" ".join(line.split()) for line in lines(as_json(found))]
    assert "20 0.400 rank 1 MPI_Recv with rank 0" in said
    assert "1 0.200 rank 0 MPI_Barrier" in said
    unnumbered = [(replace(one, rank=None), PLACES.__getitem__) for one in (first, second)]
    assert {(rank, one.call) for rank, one in explanation(found.ledger, unnumbered).messages} == {
        (0, "MPI_Recv"), (1, "MPI_Barrier"), (1, "MPI_Send"),
    }  # fmt: skip


def test_every_row_names_its_source() -> None:
    """Rows of a program without the profiler are from the kernel's accounts."""
    seen = ledger([profile(thread(cpu=0.5, queued=0.2), active=1.0, lock=1.0)], 1.5)
    shown = as_json(Explanation(seen, {}, (), {}))
    assert {row.value: found["source"] for row, found in zip(LedgerRow, shown["rows"].values(), strict=True)} == {
        row.value: row.source for row in LedgerRow
    }
    assert all(row.source for row in LedgerRow)
    said = {row: line for row in shown["rows"] for line in lines(shown) if line.startswith(f"  {row} ")}
    assert {*said} >= {"computing", "lock wait", "blocked", "unattributed"}
    assert all(f"%   {shown['rows'][row]['source']}" in line for row, line in said.items())
    unseen = as_json(Explanation(outside(2, 1.0, 0.5, 0.2, "static"), {}, (), {}))["rows"]
    assert (unseen["computing"]["source"], unseen["unattributed"]["source"]) == ("accounts", "remainder")


def test_threads_that_found_no_room_on_a_full_disk_are_not_called_too_many() -> None:
    lost = replace(profile(thread(), active=1.0, absent=1.0), lost_threads=3)
    assert any("3 threads were not profiled" in note for note in ledger([lost], 1.0).notes)
    assert not ledger([replace(lost, full=True)], 1.0).notes
