// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Two threads of a team on one core run their shares one after the other, which gains nothing, even if another core is busy.
//
// If two threads compute, Linux separates them after a tick or two. But if they yield to each other, Linux takes them for cache-hot, and a
// thread that sleeps between its shares is woken on the same core. On a KVM guest, Linux starts and wakes threads on one core, because it
// does not consider a virtual core idle that the host has descheduled. A fork-join then took 6 us instead of 0.1 us, for up to 16 ms each
// time. If another program, or another spinning runtime, had the other core, this never ended, and a loop took as long as a serial one.
namespace corescale::inline v0::detail {

/// Called by a thread of a team when it starts. Only such threads are moved, never a program's own.
void may_be_moved() noexcept;

/// The mark of a new team, far from those of all teams before it.
std::uint64_t mark_of_a_team() noexcept;

/// To be called by each thread of the team with this mark as it begins its share of a round, or finds it claimed: returns whether another
/// thread did so on the same core in this round, or in one shortly after. Takes some 2 ns. Cores from the 257th on are ignored.
bool shares_core(std::uint64_t mark, std::uint64_t round) noexcept;

/// Moves the calling thread, if it may be, to another core that it is allowed on: at most once in 0.2 ms, and in twice that time after each move,
/// up to 13 ms, while moving does not help.
/// Moves only a thread that is allowed the same cores as at its start, and it is allowed them again
/// afterwards. A thread that was pinned since, by anyone, stays. Two limits: a pin from outside during the few microseconds of the move
/// may be lost; and if the cpuset of the process grows after the thread's start, a thread that was moved does not use the new cores.
void find_another_core(std::int64_t now_ns) noexcept;

}  // namespace corescale::detail
