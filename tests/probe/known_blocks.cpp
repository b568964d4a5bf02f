// SPDX-License-Identifier: Apache-2.0
// Programs that know which thread frees their blocks: known_blocks PART. One thread takes blocks and passes them to another.
#include <malloc.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t count = 600'000;

// Blocks on their way from one thread to the other.
class Ring {
 public:
  void put(void* block) {
    while (put_ - taken_.load(std::memory_order_acquire) == most) sched_yield();
    place_[put_ % most] = block;
    filled_.store(++put_, std::memory_order_release);
  }
  void* take() {
    const std::size_t at = taken_.load(std::memory_order_relaxed);
    while (filled_.load(std::memory_order_acquire) == at) sched_yield();
    void* const block = place_[at % most];
    taken_.store(at + 1, std::memory_order_release);
    return block;
  }

 private:
  static constexpr std::size_t most = 256;
  void* place_[most] = {};
  std::size_t put_ = 0;
  std::atomic<std::size_t> filled_{0}, taken_{0};
};

using Take = void* (*)(std::size_t);
using Free = void (*)(void*);

void passed(std::size_t blocks, const std::function<void*(std::size_t)>& take, const Free& free_) {
  Ring ring;
  std::thread other([&] {
    for (std::size_t i = 0; i < blocks; ++i) free_(ring.take());
  });
  for (std::size_t i = 0; i < blocks; ++i) ring.put(take(i));
  other.join();
}

void* small(std::size_t i) { return malloc(100 + i % 20); }
void kept_private(std::size_t i) {
  char* volatile block = new char[20 + i % 10];
  delete[] block;
}

// The other thread frees all.
void pass_all() { passed(count, small, free); }

// Each of two threads frees its own.
void keep_all() {
  const auto body = [] {
    for (std::size_t i = 0; i < count; ++i) kept_private(i);
  };
  std::thread other(body);
  body();
  other.join();
}

// Blocks of up to 128 bytes are passed; three times as many of up to 32 bytes are not.
void pass_a_quarter() {
  passed(
      count / 2,
      [](std::size_t i) {
        for (std::size_t k = 0; k < 3; ++k) kept_private(i + k);
        return small(i);
      },
      free);
}

// A block is made larger by the thread that took it, then by the other. Prints for how many of them the first of these gave the same
// address: only the other thread frees those.
void resize() {
  static std::size_t same = 0;
  passed(
      count / 8,
      [](std::size_t i) {
        void* const block = malloc(100);
        void* const after = malloc(i % 2 ? 100 : 10'000);  // may leave no room
        const auto address = reinterpret_cast<std::uintptr_t>(block);
        void* const larger = realloc(block, 3000);
        same += reinterpret_cast<std::uintptr_t>(larger) == address;
        free(after);
        return larger;
      },
      [](void* block) { free(realloc(block, 50'000)); });
  std::fprintf(stderr, "%.3f\n", static_cast<double>(same) / (count / 8.0));
}

void align() {
  static constexpr Take ways[] = {
      [](std::size_t size) {
        void* block = nullptr;
        return posix_memalign(&block, 64, size) == 0 ? block : nullptr;
      },
      [](std::size_t size) { return aligned_alloc(64, 2 * size / 64 * 64); },
      [](std::size_t size) { return memalign(64, size); },
      [](std::size_t size) { return calloc(1, size); },
      [](std::size_t size) { return operator new (size, std::align_val_t{64}); },
  };
  passed(
      count, [](std::size_t i) { return ways[i % 5](200); }, free);
}

// One block of 100 bytes in ten is kept until the end.
void hold() {
  std::vector<void*> kept;
  kept.reserve(count / 10);
  for (std::size_t i = 0; i < count; ++i) {
    kept_private(i);
    if (i % 10 == 0) kept.push_back(malloc(100));
  }
  std::fprintf(stderr, "%p\n", kept.back());
}

// Each of many threads takes some and ends; the first thread frees these.
void leave_behind() {
  std::vector<void*> left(600);
  for (std::size_t i = 0; i < count / 600; ++i) {
    std::thread([&] {
      for (void*& block : left) block = malloc(100);
    }).join();
    for (void* block : left) free(block);
  }
}

// Calls for 200,000 bytes, and a hundred times as many for up to 32.
void mix_large() {
  for (std::size_t i = 0; i < 2000; ++i) {
    void* volatile block = malloc(200'000);
    free(block);
    for (std::size_t k = 0; k < 100; ++k) kept_private(k);
  }
}

const std::map<std::string, void (*)()> parts = {
    {"pass_all", pass_all},
    {"keep_all", keep_all},
    {"pass_a_quarter", pass_a_quarter},
    {"resize", resize},
    {"align", align},
    {"hold", hold},
    {"leave_behind", leave_behind},
    {"mix_large", mix_large},
};

}  // namespace

int main(int words, char** word) {
  const auto part = parts.find(words > 1 ? word[1] : "");
  if (part == parts.end()) return 2;
  part->second();
  return 0;
}
