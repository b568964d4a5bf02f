// SPDX-License-Identifier: Apache-2.0
// What an allocator costs programs: containers, threads that begin, threads that return what many others allocated.
#pragma once

#include <algorithm>
#include <fstream>
#include <list>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "allocate.hpp"

namespace allocate {

/// Allocator as containers want it.
template <class T, class Allocator>
struct for_containers {
  using value_type = T;
  for_containers() = default;
  template <class U>
  explicit(false) for_containers(const for_containers<U, Allocator>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(Allocator::get(n * sizeof(T))); }
  void deallocate(T* memory, std::size_t) { Allocator::put(memory); }
  friend bool operator==(const for_containers&, const for_containers&) { return true; }
};

inline double resident_megabytes() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return static_cast<double>(resident) * 4096 / 1e6;
}

struct cost {
  double ns;
  double megabytes;
};

/// A list of this number of ints, built and dropped: ns per node, the second time; and what the first took of memory.
template <class Allocator>
cost list_cost(int nodes) {
  const double before = resident_megabytes();
  double megabytes = 0;
  std::int64_t start = 0;
  for (int round = 0; round < 2; ++round) {
    start = own_ns();
    std::list<int, for_containers<int, Allocator>> all;
    for (int k = 0; k < nodes; ++k) all.push_back(k);
    use(&all);
    if (round == 0) megabytes = resident_megabytes() - before;
  }
  return {static_cast<double>(own_ns() - start) / nodes, megabytes};
}

/// A vector of strings of 20 to 99 characters, built by push_back and dropped: ns per string, the second time.
template <class Allocator>
double strings_ns(int count) {
  using text = std::basic_string<char, std::char_traits<char>, for_containers<char, Allocator>>;
  std::int64_t start = 0;
  for (int round = 0; round < 2; ++round) {
    start = own_ns();
    std::vector<text, for_containers<text, Allocator>> all;
    for (int k = 0; k < count; ++k) all.emplace_back(20 + static_cast<std::size_t>(k * 37 % 80), 'x');
    use(all.data());
  }
  return static_cast<double>(own_ns() - start) / count;
}

/// ns that a thread needs to return 192-byte blocks that num_owners others allocated, in turn; the owners wait meanwhile.
template <class Allocator>
std::int64_t return_to_owners_ns(std::size_t num_owners, std::size_t blocks) {
  std::vector<void*> all(blocks);
  std::counting_semaphore<> allocated(0);
  std::counting_semaphore<> end(0);
  std::vector<std::thread> owners;
  for (std::size_t owner = 0; owner < num_owners; ++owner)
    owners.emplace_back([&, owner] {
      for (std::size_t k = owner; k < blocks; k += num_owners) all[k] = Allocator::get(opaque(cross_bytes));
      allocated.release();
      end.acquire();
    });
  for (std::size_t owner = 0; owner < num_owners; ++owner) allocated.acquire();
  const std::int64_t start = own_ns();
  for (void* memory : all) Allocator::put(memory);
  const std::int64_t ns = own_ns() - start;
  end.release(static_cast<std::ptrdiff_t>(num_owners));
  for (std::thread& owner : owners) owner.join();
  return ns;
}

/// The same per return, over several such sets that fit the caches.
template <class Allocator>
double owners_ns(std::size_t num_owners) {
  constexpr std::size_t blocks = 3200;
  constexpr int rounds = 20;
  std::int64_t sum = 0;
  for (int round = 0; round < rounds; ++round) sum += return_to_owners_ns<Allocator>(num_owners, blocks);
  return static_cast<double>(sum) / (rounds * static_cast<double>(blocks));
}

/// us of a thread's first request, where 900 to 1,000 others live: the median.
template <class Allocator>
double first_request_us() {
  constexpr std::size_t num_threads = 1000;
  std::vector<double> us(num_threads);
  std::counting_semaphore<> next(0);
  std::counting_semaphore<> end(0);
  std::vector<std::thread> threads;
  for (double& mine : us) {
    threads.emplace_back([&] {
      const std::int64_t start = corescale::now_ns();
      void* const memory = Allocator::get(opaque(pair_bytes));
      use(memory);
      mine = static_cast<double>(corescale::now_ns() - start) / 1000;
      next.release();
      end.acquire();
      Allocator::put(memory);
    });
    next.acquire();
  }
  end.release(num_threads);
  for (std::thread& thread : threads) thread.join();
  std::nth_element(us.begin() + 900, us.begin() + 950, us.end());
  return us[950];
}

}  // namespace allocate
