// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// If two threads of a team are on one core, they run their shares one after the other, and the second thread gains nothing.
//
// If two threads compute, Linux separates them after a tick or two. But if they yield to each other, Linux takes them for cache-hot, and a
// thread that sleeps between its shares is woken on the same core. On a KVM guest, Linux starts and wakes threads on one core, because it
// does not consider a virtual core idle that the host has descheduled. A fork-join then took 6 us instead of 0.1 us, for up to 16 ms each
// time. If another program, or another spinning runtime, had the other core, this never ended, and a loop took as long as a serial one.
namespace corescale::inline v0::detail {

/// Called by a thread of a team when it starts. Only such threads are moved, never a program's own.
void may_be_moved() noexcept;

/// The mark of a new team, far from the marks of earlier teams.
std::uint64_t mark_of_a_team() noexcept;

/// Each thread of the team with this mark calls it as it begins its share of a round, or finds it claimed. Returns whether another thread
/// called it on the same core in this round, or in a round shortly after. Takes some 2 ns. Cores from the 257th on are ignored.
bool shares_core(std::uint64_t mark, std::uint64_t round) noexcept;

/// Moves the calling thread, if it may be moved, to another core that it is allowed on. It moves at most once in 0.2 ms; while moving does
/// not help, this time doubles with each move, up to 13 ms.
/// It moves only a thread that is allowed the same cores as at its start, and then allows it these cores again. A thread that anyone has
/// pinned since stays.
/// A pin from outside during the few microseconds of the move may be lost. If the cpuset of the process grows after the thread's start, a
/// thread that was moved does not use the new cores.
void find_another_core(std::int64_t now_ns) noexcept;

}  // namespace corescale::detail
