// SPDX-License-Identifier: Apache-2.0
// Memory that stays with its thread: what a worker returns serves its next request, without the system's
// allocator.
#include <corescale/memory/capacity_vector.hpp>
#include <corescale/memory/thread_alloc.hpp>
#include <corescale/memory/thread_allocator.hpp>
#include <corescale/team/any_team.hpp>
#include <cstdio>
#include <list>

using corescale::thread_alloc;

int main() {
  std::size_t capacity = 0;
  void* const memory = thread_alloc::get_memory(200, capacity);
  std::printf("asked for 200 bytes, got %zu; in use %zu, ", capacity, thread_alloc::inuse(0));
  thread_alloc::return_memory(memory);
  std::printf("then %zu, and %zu kept for the next request\n", thread_alloc::inuse(0),
              thread_alloc::available(0));

  corescale::capacity_vector<double> tape;  // uses all the capacity that it is given
  tape.push_back(1);
  std::printf("a vector of 1 has room for %zu\n", tape.capacity());

  corescale::any_team crew = corescale::make_team(2);
  const corescale::outcome worked =
      crew.work([](std::size_t) { std::list<int, corescale::thread_allocator<int>> own(1000, 7); });
  tape = {};
  const bool good = worked == corescale::outcome::done && thread_alloc::free_all();
  std::printf("all returned: %s\n", good ? "yes" : "no");
}
