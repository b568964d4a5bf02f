// SPDX-License-Identifier: Apache-2.0
// What one thread does while others are in the middle of something: counts, own memory given back, fork().
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "allocators_under_test.hpp"

namespace {

using namespace std::chrono_literals;

template <class Alloc>
class Concurrency : public thread_alloc_test<Alloc> {
 protected:
  void TearDown() override {
    corescale::set_thread_rules({});
    thread_alloc_test<Alloc>::TearDown();
  }
};
TYPED_TEST_SUITE(Concurrency, every_allocator);

constexpr auto long_enough = 200ms;

/// A place where one thread leaves memory for another.
using place = std::atomic<void*>;

template <class Alloc>
void leave(place& here, std::size_t bytes) {
  if (here.load(std::memory_order_relaxed)) return;
  std::size_t capacity = 0;
  void* const memory = Alloc::get_memory(bytes, capacity);
  std::memset(memory, 7, capacity);
  here.store(memory, std::memory_order_release);
}

template <class Alloc>
void return_what_is_in(place& here) {
  if (void* const memory = here.exchange(nullptr)) Alloc::return_memory(memory);
}

/// Calls function() until stopped, then ends the thread.
class repeating {
 public:
  template <class Function>
  explicit repeating(Function function)
      : thread_([this, function]() mutable {
          while (!stopped_) function();
        }) {}
  ~repeating() {
    stopped_ = true;
    thread_.join();
  }
  repeating(const repeating&) = delete;
  repeating& operator=(const repeating&) = delete;

 private:
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

// A thread outside of a team, for which in_parallel() is false, gives its own memory back while the team's
// threads return each other's: their batches are theirs alone.
TYPED_TEST(Concurrency, OwnMemoryIsGivenBackBesideThreadsAtWork) {
  corescale::set_thread_rules({[]() noexcept { return false; }, true});
  std::array<std::array<place, 64>, 2> places{};
  {
    const auto exchange = [&places](std::size_t mine_is) {
      for (place& mine : places[mine_is]) leave<TypeParam>(mine, 200);
      for (place& theirs : places[1 - mine_is]) return_what_is_in<TypeParam>(theirs);
    };
    const repeating one([&] { exchange(0); });
    const repeating other([&] { exchange(1); });
    const auto end = std::chrono::steady_clock::now() + long_enough;
    while (std::chrono::steady_clock::now() < end) {
      TypeParam::return_memory(this->get(64));
      TypeParam::free_available(this->self);
    }
  }
  for (auto& row : places)
    for (place& one : row) return_what_is_in<TypeParam>(one);
}

// Memory of two owners whose numbers share a batch of the thread that returns it: it changes owners all the
// time.
TYPED_TEST(Concurrency, BytesInUseNeverExceedWhatThereIs) {
  constexpr std::size_t shares_batch = 64;
  ASSERT_TRUE(TypeParam::bind_thread(3));
  place of_this{};
  place of_other{};
  long wrong = 0;
  {
    const repeating other([&, bound = false]() mutable {
      if (!bound) bound = TypeParam::bind_thread(3 + shares_batch);
      leave<TypeParam>(of_other, 30000);
    });
    const repeating returning([&] {
      return_what_is_in<TypeParam>(of_other);
      return_what_is_in<TypeParam>(of_this);
    });
    const auto end = std::chrono::steady_clock::now() + long_enough;
    while (std::chrono::steady_clock::now() < end) {
      leave<TypeParam>(of_this, 100);
      for (int look = 0; look < 50; ++look) wrong += TypeParam::inuse(3) > (std::size_t{1} << 40);
    }
  }
  EXPECT_EQ(wrong, 0);
  return_what_is_in<TypeParam>(of_this);
  return_what_is_in<TypeParam>(of_other);
  ASSERT_TRUE(TypeParam::bind_thread(this->self));
}

/// The exit status of a child that runs function().
template <class Function>
int in_a_child(Function function) {
  const pid_t child = fork();
  if (child == 0) _exit(function());
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// More threads than TSan lets a program hold locks (64).
TYPED_TEST(Concurrency, AChildHasTheNumbersOfThreadsThatAreNotThere) {
  constexpr std::size_t num_threads = 70;
  std::vector<void*> all(num_threads);
  std::atomic<std::size_t> ready{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < num_threads; ++t)
    threads.emplace_back([&, t] {
      ASSERT_TRUE(TypeParam::bind_thread(100 + t));
      all[t] = this->get(t % 2 ? 40 : 200);
      TypeParam::return_memory(this->get(300));
      ++ready;
      while (!stop) std::this_thread::sleep_for(1ms);
    });
  while (ready < num_threads) std::this_thread::yield();
  EXPECT_EQ(in_a_child([&] {
              for (void* memory : all) TypeParam::return_memory(memory);  // of threads that are lost
              int wrong = TypeParam::inuse(this->self) != 0;
              for (std::size_t number = 100; number < 100 + num_threads; ++number) {
                wrong += !TypeParam::bind_thread(number);
                TypeParam::return_memory(this->get(300));
                wrong += TypeParam::inuse(number) != 0;
              }
              return wrong + !TypeParam::bind_thread(this->self);
            }),
            0);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (void* memory : all) TypeParam::return_memory(memory);
}

// Eight threads in the account of one that has ended: one of them holds it in nearly every moment.
TEST(Fork, AChildNeverWaitsForAThreadThatIsNotThere) {
  using memory_of = corescale::checked_thread_alloc;
  constexpr std::size_t num_threads = 8;
  for (int round = 0; round < 8; ++round) {
    std::vector<void*> all(5000 * num_threads);
    std::size_t capacity = 0;
    on_another_thread([&] {
      for (void*& memory : all) memory = memory_of::get_memory(16, capacity);
    });
    void* const kept = std::exchange(all[0], memory_of::get_memory(16, capacity));
    std::atomic<std::size_t> ready{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < num_threads; ++t)
      threads.emplace_back([&, t] {
        for (++ready; ready < num_threads;) std::this_thread::yield();
        for (std::size_t k = t; k < all.size(); k += num_threads) memory_of::return_memory(all[k]);
      });
    while (ready < num_threads) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(200 * round));
    EXPECT_EQ(in_a_child([&] {
                alarm(20);
                memory_of::return_memory(kept);
                return 0;
              }),
              0);
    for (std::thread& thread : threads) thread.join();
    memory_of::return_memory(kept);
  }
}

TYPED_TEST(Concurrency, ManyOwnersAreServedByOneThreadThatReturns) {
  constexpr std::size_t num_owners = 16;
  std::vector<void*> all;
  for (std::size_t owner = 0; owner < num_owners; ++owner)
    on_another_thread([&] {
      ASSERT_TRUE(TypeParam::bind_thread(200 + owner));
      for (std::size_t k = 0; k < 100; ++k) all.push_back(this->get(k % 2 ? 20 : 200));
    });
  for (std::size_t k = 0; k < all.size(); ++k) TypeParam::return_memory(all[k * 101 % all.size()]);
  for (std::size_t owner = 0; owner < num_owners; ++owner) EXPECT_EQ(TypeParam::inuse(200 + owner), 0u);
}

// A thread whose first and only act is to return has no memory of its own before.
TYPED_TEST(Concurrency, AThreadMayDoNothingButReturn) {
  void* const memory = this->get(200);
  on_another_thread([&] { TypeParam::return_memory(memory); });
  this->expect_bytes(0, 288);
}

}  // namespace
