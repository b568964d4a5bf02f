// SPDX-License-Identifier: Apache-2.0
// The memory of recordings: kept, from any allocator, and as little as is said; and what happens when there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "corescale/tape/drivers.hpp"

namespace {

using corescale::gradient_tape;
using corescale::real;

/// Gives memory so many times, then none.
struct scarce {
  static inline int left = 0;
  static inline int lent = 0;
  static void* get_memory(std::size_t bytes, std::size_t& capacity, std::size_t = 0) {
    if (left-- <= 0) throw std::bad_alloc();
    void* const memory = corescale::thread_alloc::get_memory(bytes, capacity);
    ++lent;
    return memory;
  }
  static void return_memory(void* memory) {
    --lent;
    corescale::thread_alloc::return_memory(memory);
  }
};

/// Records, goes back and finishes, with so many pieces of memory; whether that was enough.
bool records_within(int pieces) {
  scarce::left = pieces;
  corescale::function<double, scarce> f;
  gradient_tape<double, scarce> tape;
  try {
    const real<double> x = tape.variable(2);
    real<double> y = x;
    for (int i = 0; i < 100'000; ++i) y = y + x * 0.5;
    const real<double> late = tape.variable(1), chosen = select_less(x, y, late * y, x);
    tape.reverse(chosen);
    EXPECT_EQ(tape.adjoint(x), 50'001);
    f = tape.finish(chosen);
  } catch (const std::bad_alloc&) {
    scarce::left = 1000;  // and the tape is usable: it goes on, and begins anew
    tape.clear();
    const real<double> x = tape.variable(3);
    tape.reverse(x * x);
    EXPECT_EQ(tape.adjoint(x), 6);
    return false;
  }
  try {
    EXPECT_EQ(f.forward(std::vector{2.0, 1.0})[0], 100'002);
    return true;
  } catch (const std::bad_alloc&) {
    scarce::left = 1000;  // so is the function
    EXPECT_EQ(f.forward(std::vector{2.0, 1.0})[0], 100'002);
    return false;
  }
}

TEST(Memory, WhenItRunsOutTheTapeStaysUsable) {
  int pieces = 0;
  while (!records_within(pieces)) {
    EXPECT_EQ(scarce::lent, 0);
    ASSERT_LT(++pieces, 200);
  }
  EXPECT_GT(pieces, 5);
  EXPECT_EQ(scarce::lent, 0);
  EXPECT_EQ(corescale::derivative<double>([](auto x) { return x * x; }, 2.0).derivatives, 4);
}

TEST(Memory, AnOperatorThatThrewChangedNothing) {
  scarce::left = 3;
  gradient_tape<double, scarce> tape;
  const real<double> x = tape.variable(2);
  real<double> y = x;
  int done = 0;
  try {
    for (;; ++done) y = y + x;
  } catch (const std::bad_alloc&) {
  }
  EXPECT_GT(done, 0);
  EXPECT_EQ(y.value(), 2 + 2 * done);
  scarce::left = 1000;
  y = y + x;
  tape.reverse(y);
  EXPECT_EQ(tape.adjoint(x), done + 2);
}

TEST(Memory, OfOneRecordingServesTheNext) {
  scarce::left = 1000;
  gradient_tape<double, scarce> tape;
  for (int repeat = 0; repeat < 3; ++repeat) {
    tape.clear();
    const real<double> x = tape.variable(2);
    real<double> y = x;
    for (int i = 0; i < 50'000; ++i) y = y + x;
    tape.reverse(y);
    EXPECT_EQ(tape.adjoint(x), 50'001);
    scarce::left = 0;  // from now on there is no more
  }
}

/// Gives memory between two fences, and counts the pieces whose fences were written to.
struct fenced {
  static constexpr std::size_t fence = std::size_t{16} << 10;
  static constexpr unsigned char mark = 0xa5;
  static inline std::map<void*, std::size_t> lent;
  static inline int overruns = 0;
  static void* get_memory(std::size_t bytes, std::size_t& capacity, std::size_t = 0) {
    capacity = bytes;
    auto* const all = static_cast<unsigned char*>(::operator new(bytes + 2 * fence));
    std::fill_n(all, bytes + 2 * fence, mark);
    lent[all + fence] = bytes;
    return all + fence;
  }
  static void return_memory(void* memory) {
    auto* const begin = static_cast<unsigned char*>(memory);
    auto* const end = begin + lent.at(memory);
    const auto is_mark = [](unsigned char byte) { return byte == mark; };
    const bool intact = std::all_of(begin - fence, begin, is_mark) && std::all_of(end, end + fence, is_mark);
    overruns += intact ? 0 : 1;
    ::operator delete(begin - fence);
  }
};

TEST(Memory, HasRoomForNumbersLargerThanAChunk) {
  using wide = corescale::series<double, 600>;
  static_assert(2 * sizeof(wide) > std::size_t{8} << 10);
  {
    gradient_tape<wide, fenced> tape;
    const real<wide> x = tape.variable(wide(2.0)), z = tape.variable(wide(1.0));
    EXPECT_TRUE(z < x);  // keeps two numbers, and is the first operation
    real<wide> y = x;
    for (int i = 1; i < 20; ++i) y = y * x;
    tape.reverse(y);
    EXPECT_EQ(y.value()[0], std::ldexp(1.0, 20));
    EXPECT_EQ(tape.adjoint(x)[0], 20 * std::ldexp(1.0, 19));
  }
  EXPECT_EQ(fenced::overruns, 0);
}

template <class Alloc>
void check_allocator() {
  gradient_tape<double, Alloc> tape;
  const real<double> x = tape.variable(2);
  real<double> y = x;
  for (int i = 0; i < 5000; ++i) y = y + x;
  tape.reverse(y);
  EXPECT_EQ(tape.adjoint(x), 5001);
}

TEST(Memory, ComesFromAnyAllocator) {
  check_allocator<corescale::thread_alloc>();
  check_allocator<corescale::checked_thread_alloc>();
}

TEST(Memory, IsWhatIsKeptOfAStatement) {
  constexpr int many = 4'000'000;
  const auto bytes_each = [](auto step) {
    gradient_tape tape;
    const real<double> x = tape.variable(2);
    real<double> y = x;
    for (int i = 0; i < many; ++i) y = step(y, x);
    return static_cast<double>(tape.bytes()) / many;
  };
  EXPECT_LE(bytes_each([](auto y, auto x) { return y + x; }), 8 * 1.2);
  EXPECT_LE(bytes_each([](auto y, auto x) { return x - y; }), 8 * 1.2);
  EXPECT_LE(bytes_each([](auto y, auto) { return 0.5 * y; }), 16 * 1.2);
  EXPECT_LE(bytes_each([](auto y, auto) { return sin(y); }), 16 * 1.2);
  EXPECT_LE(bytes_each([](auto y, auto x) { return y * x; }), 24 * 1.2);
  EXPECT_LE(bytes_each([](auto y, auto x) { return y + 0.5 * (x + 2.0 * y); }), 32 * 1.2);
}

}  // namespace
