// SPDX-License-Identifier: Apache-2.0
// Random operations over threads against a model that knows what every thread must have in use and available,
// to the byte, after each step. CORESCALE_MODEL_OPERATIONS sets their number (a million; fewer in the
// presets asan and tsan), _SEED the seed.
#include <algorithm>
#include <array>
#include <barrier>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "allocators_under_test.hpp"

namespace {

using corescale::detail::class_capacity;

constexpr long default_operations = 1'000'000;

long from_environment(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

constexpr std::size_t num_threads = 4;
constexpr std::size_t num_classes = 27;  // capacities to 1.5 MB
constexpr std::size_t batch_blocks = 32;
constexpr std::size_t batch_bytes = 64 << 10;

struct object {
  void* memory;
  std::size_t index;
  std::size_t owner;
};

/// Marks the whole extent of what was allocated, so that two blocks that overlap are noticed.
void fill(const object& o) {
  const std::uintptr_t mark = reinterpret_cast<std::uintptr_t>(o.memory) ^ o.index;
  std::memcpy(o.memory, &mark, sizeof mark);
  std::memcpy(static_cast<char*>(o.memory) + class_capacity(o.index) - sizeof mark, &mark, sizeof mark);
}

bool is_filled(const object& o) {
  const std::uintptr_t mark = reinterpret_cast<std::uintptr_t>(o.memory) ^ o.index;
  return std::memcmp(o.memory, &mark, sizeof mark) == 0 &&
         std::memcmp(static_cast<char*>(o.memory) + class_capacity(o.index) - sizeof mark, &mark,
                     sizeof mark) == 0;
}

/// What one thread must have.
struct account {
  std::size_t inuse = 0;
  std::size_t available = 0;
  std::array<std::size_t, num_classes> at_home{};  // available blocks, but those on their way
};

/// Blocks on their way from one thread to another.
struct way {
  std::size_t bytes = 0;
  std::vector<std::size_t> indices;
};

template <class Alloc>
class simulation {
 public:
  explicit simulation(long operations) : rounds_(operations / (num_threads * steps_per_round) + 1) {}

  void run() {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < num_threads; ++t) threads.emplace_back([this, t] { live(t); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(wrong_.load(), 0);
  }

 private:
  static constexpr long steps_per_round = 512;

  void live(std::size_t self) {
    if (!Alloc::bind_thread(first_number + self)) ++wrong_;
    random_[self].seed(static_cast<std::uint64_t>(from_environment("CORESCALE_MODEL_SEED", 2012)) + self);
    barrier_.arrive_and_wait();
    for (long round = 0; round < rounds_ && wrong_ == 0; ++round) {
      for (long step = 0; step < steps_per_round; ++step) own_step(self);
      barrier_.arrive_and_wait();  // from here on threads return what others gave them
      return_what_came(self);
      barrier_.arrive_and_wait();  // and from here on none does
      if (self == round % num_threads) settle();
      barrier_.arrive_and_wait();
    }
    while (!objects_[self].empty()) return_one(self, 0);
  }

  /// Nobody else touches this thread's account meanwhile, so it is exact.
  void own_step(std::size_t self) {
    const std::uint64_t choice = random_[self]() % 1000;
    std::vector<object>& mine = objects_[self];
    if (choice == 0)
      free_available(self);
    else if (mine.size() < 20 || (choice < 480 && mine.size() < 400))
      allocate(self);
    else if (choice < 850)
      return_one(self, random_[self]() % mine.size());
    else
      give_away(self, random_[self]() % mine.size());
    expect_exact(self);
  }

  void allocate(std::size_t self) {
    const std::size_t octave = random_[self]() % 64 ? random_[self]() % 12 : random_[self]() % 20;
    const std::size_t bytes = random_[self]() % (std::size_t{2} << octave);
    std::size_t capacity = 0;
    const object made{Alloc::get_memory(bytes, capacity), corescale::detail::size_class(bytes), self};
    if (capacity != class_capacity(made.index)) ++wrong_;
    fill(made);
    objects_[self].push_back(made);
    account& mine = accounts_[self];
    mine.inuse += capacity;
    if (mine.at_home[made.index] == 0) return;
    --mine.at_home[made.index];
    mine.available -= capacity;
  }

  object take_out(std::size_t self, std::size_t which) {
    std::swap(objects_[self][which], objects_[self].back());
    const object taken = objects_[self].back();
    objects_[self].pop_back();
    return taken;
  }

  void return_one(std::size_t self, std::size_t which) {
    const object o = take_out(self, which);
    if (!is_filled(o)) ++wrong_;
    Alloc::return_memory(o.memory);
    accounts_[self].inuse -= class_capacity(o.index);
    accounts_[self].available += class_capacity(o.index);
    ++accounts_[self].at_home[o.index];
  }

  void give_away(std::size_t self, std::size_t which) {
    const std::size_t to = (self + 1 + random_[self]() % (num_threads - 1)) % num_threads;
    given_[self][to].push_back(take_out(self, which));
  }

  void free_available(std::size_t self) {
    Alloc::free_available(first_number + self);
    accounts_[self].available = 0;
    for (std::size_t i = 0; i < num_classes; ++i) accounts_[self].at_home[i] = 0;
    for (std::size_t from = 0; from < num_threads; ++from)
      accounts_[self].available += ways_[from][self].bytes;
  }

  void return_what_came(std::size_t self) {
    for (std::size_t from = 0; from < num_threads; ++from) {
      for (const object& o : given_[from][self]) {
        if (!is_filled(o)) ++wrong_;
        Alloc::return_memory(o.memory);
        travel(ways_[self][from], o.index, arrived_[self][from]);
      }
    }
  }

  static void travel(way& out, std::size_t index, std::array<std::size_t, num_classes>& arrived) {
    out.indices.push_back(index);
    out.bytes += class_capacity(index);
    if (out.indices.size() < batch_blocks && out.bytes < batch_bytes) return;
    for (std::size_t i : out.indices) ++arrived[i];
    out = {};
  }

  /// One thread, the others wait: enters what came home, then compares every account.
  void settle() {
    for (std::size_t owner = 0; owner < num_threads; ++owner) {
      for (std::size_t by = 0; by < num_threads; ++by) {
        for (const object& o : given_[owner][by]) {
          accounts_[owner].inuse -= class_capacity(o.index);
          accounts_[owner].available += class_capacity(o.index);
        }
        given_[owner][by].clear();
        for (std::size_t i = 0; i < num_classes; ++i)
          accounts_[owner].at_home[i] += std::exchange(arrived_[by][owner][i], 0);
      }
      expect_exact(owner);
    }
  }

  void expect_exact(std::size_t thread) {
    if (Alloc::inuse(first_number + thread) != accounts_[thread].inuse) ++wrong_;
    if (Alloc::available(first_number + thread) != accounts_[thread].available) ++wrong_;
  }

  static constexpr std::size_t first_number = 16;

  const long rounds_;
  std::barrier<> barrier_{num_threads};
  std::atomic<int> wrong_{0};
  std::array<std::mt19937_64, num_threads> random_;
  std::array<std::vector<object>, num_threads> objects_;
  std::array<account, num_threads> accounts_;
  std::array<std::array<std::vector<object>, num_threads>, num_threads> given_;  // [owner][who returns it]
  std::array<std::array<way, num_threads>, num_threads> ways_;                   // [who returns][owner]
  std::array<std::array<std::array<std::size_t, num_classes>, num_threads>, num_threads> arrived_{};
};

template <class Alloc>
class Model : public thread_alloc_test<Alloc> {};
TYPED_TEST_SUITE(Model, every_allocator);

TYPED_TEST(Model, AgreesAfterEachStep) {
  simulation<TypeParam>(from_environment("CORESCALE_MODEL_OPERATIONS", default_operations)).run();
}

}  // namespace
