// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one program, a function for each case)
// A program on corescale::malloc, one case a run. `malloc_program CASE`; a case that fails says where, and exits with 1.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <latch>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

extern "C" {
void* __libc_memalign(std::size_t, std::size_t) noexcept;  // NOLINT
void __libc_free(void*) noexcept;                          // NOLINT
int register_by_glibc(void (*prepare)());
}

namespace {

#define REQUIRE(condition)                                                 \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::_Exit(1);                                                       \
    }                                                                      \
  } while (false)

/// What the compiler knows nothing of, so that it keeps each call.
template <class T>
T opaque(T value) {
  asm volatile("" : "+r"(value) : : "memory");
  return value;
}

bool is_aligned(const void* memory, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
}

void use(void* memory, std::size_t bytes) {
  REQUIRE(memory && malloc_usable_size(memory) >= bytes);
  memset(memory, 0x5a, malloc_usable_size(memory));
}

const std::size_t too_large = opaque(std::size_t{1} << 62);

std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

std::size_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4;
}

std::size_t peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss);
}

void is_ours() {
  for (void* const function : {reinterpret_cast<void*>(&malloc), reinterpret_cast<void*>(&free),
                               reinterpret_cast<void*>(&aligned_alloc), dlsym(RTLD_DEFAULT, "_Znwm"),
                               dlsym(RTLD_DEFAULT, "_ZdlPv")}) {
    Dl_info found{};
    REQUIRE(dladdr(function, &found) && strstr(found.dli_fname, "libcorescale_malloc"));
  }
}

void every_entry() {
  is_ours();
  for (std::size_t bytes = 0; bytes < 5'000'000; bytes += 1 + bytes / 5) {
    void* memory = malloc(bytes);
    use(memory, bytes);
    REQUIRE(is_aligned(memory, 16));
    memory = realloc(memory, 2 * bytes + 1);
    for (std::size_t k = 0; k < bytes; k += 64) REQUIRE(static_cast<char*>(memory)[k] == 0x5a);
    use(memory, 2 * bytes + 1);
    memory = realloc(memory, bytes / 3 + 1);
    REQUIRE(*static_cast<char*>(memory) == 0x5a);
    free(memory);
    auto* const zero = static_cast<char*>(calloc(bytes / 3 + 1, 3));
    for (std::size_t k = 0; k < bytes; ++k) REQUIRE(zero[k] == 0);
    use(zero, bytes);
    free(zero);
  }
  free(__libc_memalign(64, 100));
  __libc_free(malloc(100));
  for (std::size_t alignment = 1; alignment <= 1 << 23; alignment *= 2) {
    for (const std::size_t bytes : {0, 1, 100, 5000, 70'000, 3'000'000}) {
      void* const memory = memalign(alignment, bytes);
      REQUIRE(is_aligned(memory, alignment));
      use(memory, bytes);
      void* const other = aligned_alloc(alignment, bytes);
      REQUIRE(is_aligned(other, alignment) && other != memory);
      use(other, bytes);
      free(memory);
      free(other);
      void* third = nullptr;
      REQUIRE(posix_memalign(&third, alignment, bytes) == (alignment < sizeof(void*) ? EINVAL : 0));
      free(third);
      void* const fourth = ::operator new (bytes, std::align_val_t{alignment});
      REQUIRE(is_aligned(fourth, alignment));
      use(fourth, bytes);
      ::operator delete (fourth, bytes, std::align_val_t{alignment});
      ::operator delete[](::operator new[](bytes, std::align_val_t{alignment}, std::nothrow),
                          std::align_val_t{alignment});
    }
  }
  REQUIRE(is_aligned(valloc(10), 4096) && is_aligned(pvalloc(4097), 4096));
  void* const page = pvalloc(1);
  REQUIRE(malloc_usable_size(page) >= 4096);
  free(page);
  ::operator delete (::operator new(10), std::size_t{10});
  ::operator delete[](::operator new[](10, std::nothrow));
  void* const rows = reallocarray(nullptr, 10, 10);
  use(rows, 100);
  free(rows);
  char* const text = strdup("strdup asks malloc");
  REQUIRE(malloc_usable_size(text) >= strlen(text) && !strcmp(text, "strdup asks malloc"));
  free(text);
  free(nullptr);
  REQUIRE(malloc_usable_size(nullptr) == 0);
  void* const block = malloc(1000);
  REQUIRE(mallinfo2().uordblks >= 1000 && mallinfo().uordblks >= 1000);
  free(block);
  malloc_trim(0);
}

void bad_requests() {
  // Opaque: clang leaves out a malloc() whose memory is not used, and takes it for granted that errno stays.
  const auto says = [](void* memory, int error) { return !opaque(memory) && errno == error; };
  errno = 0;
  REQUIRE(says(malloc(too_large), ENOMEM));
  REQUIRE(says(calloc(too_large, 8), ENOMEM));
  REQUIRE(says(calloc(opaque(SIZE_MAX), 1), ENOMEM));
  REQUIRE(says(reallocarray(nullptr, too_large, 4), ENOMEM));
  void* const kept = malloc(100);
  REQUIRE(says(realloc(opaque(kept), too_large), ENOMEM));
  use(kept, 100);
  free(kept);
  for (const std::size_t alignment : {0, 3, 24}) {
    errno = 0;
    REQUIRE(says(aligned_alloc(opaque(alignment), 100), EINVAL));
    void* unchanged = &errno;
    REQUIRE(posix_memalign(&unchanged, opaque(alignment), 100) == EINVAL && unchanged == &errno);
  }
  // Rounded up, as glibc does.
  for (const auto& [asked, got] : {std::pair{0, 16}, {3, 16}, {24, 32}, {5000, 8192}}) {
    void* const rounded = memalign(static_cast<std::size_t>(opaque(asked)), 100);
    REQUIRE(is_aligned(rounded, static_cast<std::size_t>(got)));
    use(rounded, 100);
    free(rounded);
  }
  REQUIRE(says(memalign(opaque(SIZE_MAX), 100), EINVAL));
  void* unchanged = &errno;
  REQUIRE(posix_memalign(&unchanged, 64, too_large) == ENOMEM && unchanged == &errno);
  REQUIRE(says(aligned_alloc(opaque(std::size_t{1} << 62), 100), ENOMEM));
  REQUIRE(says(valloc(too_large), ENOMEM) && says(pvalloc(opaque(SIZE_MAX)), ENOMEM));
  REQUIRE(!::operator new(too_large, std::nothrow));
  bool thrown = false;
  try {
    ::operator delete(opaque(::operator new(too_large)));
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  REQUIRE(thrown);
  static int handled = 0;
  std::set_new_handler([] {
    if (++handled == 3) std::set_new_handler(nullptr);
  });
  try {
    ::operator delete[](opaque(::operator new[](too_large)));
  } catch (const std::bad_alloc&) {
    REQUIRE(handled == 3);
  }
  REQUIRE(handled == 3);
}

/// What is kept for reuse stays: handing it back to the kernel cannot help a request that no process could have.
void impossible_requests() {
  const std::size_t bytes = 1 << 20, few_faults = 32;  // of 256
  const auto faults_of_use = [=] {
    void* const block = malloc(bytes);
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    use(block, bytes);
    getrusage(RUSAGE_SELF, &after);
    free(block);
    return static_cast<std::size_t>(after.ru_minflt - before.ru_minflt);
  };
  faults_of_use();
  REQUIRE(faults_of_use() < few_faults);
  for (const std::size_t impossible : {std::size_t{1} << 48, SIZE_MAX / 2, SIZE_MAX}) {
    void* kept = malloc(5'000'000);
    REQUIRE(!malloc(opaque(impossible)) && !calloc(1, opaque(impossible)) &&
            !realloc(kept, opaque(impossible)));
    REQUIRE(!aligned_alloc(4096, opaque(impossible)) && !pvalloc(opaque(impossible)));
    free(kept);
  }
  REQUIRE(faults_of_use() < few_faults);
}

/// Under RLIMIT_AS all memory is used up, in any sizes, and is there again once it is returned.
void no_memory() {
  const rlimit limit{std::size_t{256} << 20, std::size_t{256} << 20};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  for (const std::size_t bytes : {16, 1000, 40'000, 500'000, 5'000'000}) {
    std::size_t first = 0;
    for (int round = 0; round < 3; ++round) {
      void* list = nullptr;
      std::size_t count = 0;
      while (void* const memory = malloc(bytes)) {
        *static_cast<void**>(memory) = list;
        list = memory;
        ++count;
      }
      REQUIRE(errno == ENOMEM);
      while (list) free(std::exchange(list, *static_cast<void**>(list)));
      if (round == 0) first = count;
      REQUIRE(count > 10 && count * 10 >= first * 9);
    }
    malloc_trim(0);
  }
  // A block can be made smaller also then.
  void* const shrunk = malloc(60'000);
  void* rest = nullptr;
  for (std::size_t bytes = 5'000'000; bytes >= 16; bytes /= 2)
    while (void* const memory = malloc(bytes)) {
      *static_cast<void**>(memory) = rest;
      rest = memory;
    }
  REQUIRE(shrunk && realloc(shrunk, 100));
  while (rest) free(std::exchange(rest, *static_cast<void**>(rest)));
  malloc_trim(0);
  // What is kept for reuse is in the way of a large request, and makes room for it.
  std::array<void*, 20> blocks;
  for (void*& one : blocks) REQUIRE(one = malloc(5'000'000));
  for (void* const one : blocks) free(one);
  void* const large = malloc(std::size_t{200} << 20);
  REQUIRE(large);
  free(large);
}

/// A large block grows as long as it and what is in use have room: what is kept for reuse is not in its way.
void growing_beside_what_is_kept() {
  const rlimit limit{std::size_t{900} << 20, std::size_t{900} << 20};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  void* grown = malloc(std::size_t{600} << 20);
  std::array<void*, 2> kept{};
  for (void*& one : kept) REQUIRE(one = opaque(malloc(std::size_t{100} << 20)));
  for (void* const one : kept) free(one);
  REQUIRE(grown = realloc(grown, std::size_t{700} << 20));
  free(grown);
}

/// What a large block no longer has goes back to the kernel, also if more than half remains.
void shrinking_by_less_than_half() {
  for (const std::size_t bytes : {std::size_t{200} << 20, std::size_t{3} << 20, std::size_t{1} << 20}) {
    void* block = malloc(bytes);
    use(block, bytes);
    const std::size_t before = resident_kib();
    REQUIRE(block = realloc(block, bytes / 8 * 5));
    malloc_trim(0);
    REQUIRE(resident_kib() + bytes / 4 / 1024 < before);
    REQUIRE(malloc_usable_size(block) < bytes / 8 * 5 + (64 << 10));
    free(block);
  }
}

/// What shrinking gives back counts as free memory: little of it is kept, whether or not the program frees anything.
void shrinking_many() {
  constexpr std::size_t bytes = 1'900 << 10;
  std::array<void*, 200> blocks{};
  for (void*& one : blocks) REQUIRE(one = opaque(memset(malloc(bytes), 1, bytes)));
  for (void*& one : blocks) REQUIRE(one = realloc(one, 128 << 10));
  std::printf("200 blocks of 1,900 KiB made 128: %zu MiB\n", resident_kib() >> 10);
  REQUIRE(resident_kib() < (25 + 64 + 30) << 10);
  for (void* const one : blocks) free(one);
  malloc_trim(0);
  void* shrunk = malloc(std::size_t{1000} << 20);
  std::array<void*, 2> kept{};
  for (void*& one : kept) REQUIRE(one = opaque(malloc(std::size_t{180} << 20)));
  for (void* const one : kept) free(one);
  REQUIRE(mallinfo2().keepcost >= std::size_t{360} << 20);
  REQUIRE(shrunk = realloc(shrunk, 4 << 20));
  REQUIRE(mallinfo2().keepcost <= std::size_t{64} << 20);
  free(shrunk);
}

/// The kernel does not move a block that the program advised in parts. It is copied, and memory that is kept stays so.
void growing_advised() {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  std::array<void*, 40> kept{};
  for (void*& one : kept) one = opaque(memset(malloc(1 << 20), 1, 1 << 20));
  for (void* const one : kept) free(one);
  char* block = static_cast<char*>(memset(malloc(bytes), 1, bytes));
  REQUIRE(madvise(block + 4096, bytes / 2, MADV_DONTDUMP) == 0);
  REQUIRE(mallinfo2().keepcost >= std::size_t{30} << 20);
  REQUIRE(block = static_cast<char*>(realloc(block, bytes + (1 << 20))));
  REQUIRE(block[bytes - 1] == 1);
  REQUIRE(mallinfo2().keepcost >= std::size_t{30} << 20);
  free(block);
}

/// Under a limit of locked memory, too, what is kept makes room for a block that grows.
void growing_locked() {
  if (geteuid() == 0) REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);  // root may lock any amount
  const auto locked_bytes = [] {
    std::ifstream status("/proc/self/status");
    std::size_t kib = 0;
    for (std::string line; std::getline(status, line);) std::sscanf(line.c_str(), "VmLck: %zu", &kib);
    return kib << 10;
  };
  REQUIRE(locked_bytes() == 0);
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  if (limit.rlim_max < 8 << 20) return void(std::puts("skipped: less than 8 MiB may be locked"));
  limit.rlim_cur = 8 << 20;
  REQUIRE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && mlockall(MCL_FUTURE) == 0);
  void* grown = opaque(malloc(2'300'000));
  free(opaque(malloc(2'200'000)));
  limit.rlim_cur = locked_bytes() + (1 << 20);
  REQUIRE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  REQUIRE(grown = realloc(grown, 4'400'000));
  free(grown);
}

/// Threads ask at once for what there is only after one of them has given back what was kept.
void asking_at_once() {
  constexpr unsigned threads = 16;
  std::atomic<unsigned> refused{0};
  std::barrier<> meet(threads + 1);
  std::vector<std::jthread> all;
  for (unsigned k = 0; k < threads; ++k)
    all.emplace_back([&] {
      free(opaque(malloc(100)));
      for (unsigned round = 0; round < 20; ++round) {
        meet.arrive_and_wait();
        void* const block = opaque(malloc(1'900 << 10));
        if (!block) ++refused;
        meet.arrive_and_wait();
        free(block);
        meet.arrive_and_wait();
      }
    });
  for (unsigned round = 0; round < 20; ++round) {
    malloc_trim(0);
    free(opaque(memset(malloc(31 << 20), 1, 31 << 20)));
    rlimit limit{};
    REQUIRE(getrlimit(RLIMIT_AS, &limit) == 0);
    const rlimit before = std::exchange(limit, {mapped_bytes() + (2 << 20), limit.rlim_max});
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    meet.arrive_and_wait();
    meet.arrive_and_wait();
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    meet.arrive_and_wait();
  }
  std::printf("16 threads at once: %u of 320 requests refused\n", refused.load());
  REQUIRE(refused < 10);  // one that maps 8 MiB for a moment may be in the way of another
}

/// What a hardened process holds back is bounded, also if blocks are large, and makes room when memory ends.
void held_back() {
  for (int k = 0; k < 300; ++k) free(opaque(memset(malloc(1'900'000), 1, 1'900'000)));
  std::printf("one block of 1.9 MB at a time: %zu MiB at most\n", peak_kib() / 1024);
  REQUIRE(peak_kib() < 60'000);
  const rlimit limit{std::size_t{256} << 20, std::size_t{256} << 20};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  for (const std::size_t bytes : {500, 100'000}) {
    std::vector<void*> blocks;
    blocks.reserve(1'000'000);
    while (void* const one = malloc(bytes)) blocks.push_back(one);
    for (int k = 0; k < 100; ++k) free(opaque(blocks[blocks.size() - 1 - k]));
    for (int k = 0; k < 90; ++k) REQUIRE(opaque(blocks[blocks.size() - 1 - k] = malloc(bytes)));
    for (std::size_t k = 0; k < blocks.size() - 100; ++k) free(blocks[k]);
    for (std::size_t k = blocks.size() - 90; k < blocks.size(); ++k) free(blocks[k]);
  }
}

/// What waits does not leave for large blocks, nor for a request that is far too large.
void holds_on() {
  void* const small = opaque(malloc(64));
  free(small);
  for (int k = 0; k < 100; ++k) free(opaque(malloc(1'900'000)));
  REQUIRE(malloc(std::size_t{1} << 46) == nullptr);
  for (int k = 0; k < 3000; ++k) REQUIRE(opaque(malloc(64)) != small);
}

/// Small blocks that wait, each in a page of its own, leave for a request that needs the pages.
void pages_of_what_waits() {
  constexpr std::size_t room = std::size_t{2} << 20;
  auto** const all = static_cast<void**>(
      mmap(nullptr, room * sizeof(void*), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::size_t count = 0;
  const std::size_t most = mapped_bytes() + (std::size_t{20} << 20);
  const rlimit limit{most, most};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  while ((all[count] = opaque(malloc(16)))) ++count;
  std::shuffle(all, all + count, std::mt19937(1));
  for (std::size_t k = 0; k < count; ++k) free(all[k]);
  REQUIRE(opaque(malloc(60'000)));
}

/// A thread that had a page of each size, one after another, keeps few of them.
void sizes_one_after_another() {
  std::latch done(1), end(1);
  const std::size_t before = resident_kib();
  std::thread thread([&] {
    for (std::size_t bytes = 64; bytes < 60'000; bytes += bytes / 8) {
      std::vector<void*> blocks(60'000 / bytes);
      for (void*& one : blocks) one = memset(opaque(malloc(bytes)), 1, bytes);
      for (void* const one : blocks) free(one);
    }
    done.count_down();
    end.wait();
  });
  done.wait();
  malloc_trim(0);
  const std::size_t kept = resident_kib() - before;
  end.count_down();
  thread.join();
  std::printf("an idle thread keeps %zu KiB\n", kept);
  REQUIRE(kept < 1000);
}

/// Seven phases of blocks of one size each keep little more than what one phase needs.
void phases() {
  for (const std::size_t bytes : {32, 100, 700, 3000, 12'000, 50'000, 300'000}) {
    std::vector<void*> blocks(std::size_t{200'000'000} / bytes);
    for (void*& one : blocks) memset(one = malloc(bytes), 1, bytes);
    for (void* const one : blocks) free(one);
  }
  const std::size_t kept = resident_kib();
  std::printf("seven phases of 200 MB keep %zu MB of %zu\n", kept / 1000, peak_kib() / 1000);
  REQUIRE(kept < 150'000 && peak_kib() < 330'000);
  usleep(1'100'000);
  free(malloc(3'000'000));
  malloc_trim(0);
  REQUIRE(resident_kib() < 20'000);
}

/// What a program does not touch of its blocks is no memory, however much it asks for.
void sparse_blocks() {
  const std::size_t before = resident_kib();
  for (int k = 0; k < 1000; ++k) *static_cast<volatile char*>(malloc(1'000'000)) = 1;
  std::printf("one byte of each of a thousand blocks of 1 MB takes %zu KiB\n", resident_kib() - before);
  REQUIRE(resident_kib() < before + 20'000);
}

/// Makes a control group with that memory limit; empty if none can be made here.
std::string control_group(std::size_t bytes) {
  for (const auto& [mount, limit] : {std::pair{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                     std::pair{"/sys/fs/cgroup", "memory.max"}}) {
    std::string group = std::string(mount) + "/corescale_malloc_" + std::to_string(getpid());
    if (mkdir(group.c_str(), 0755)) continue;
    if (std::ofstream(group + "/" + limit) << bytes << std::flush) return group;
    rmdir(group.c_str());
  }
  return {};
}

/// Phases of 40 MB of blocks, each of one size.
void small_phases() {
  for (const std::size_t bytes : {3'000, 90'000, 300'000, 3'000'000, 700, 1'500'000}) {
    std::vector<void*> blocks(40'000'000 / bytes);
    for (void*& one : blocks) memset(one = malloc(bytes), 1, bytes);
    for (void* const one : blocks) free(one);
  }
  std::printf("phases of 40 MB: %zu MiB at most\n", peak_kib() / 1024);
}

/// They run in a control group with room for one phase and little more: what a phase leaves free is not kept then. Otherwise the kernel
/// kills the process.
void memory_limit() {
  const std::string group = control_group(std::size_t{64} << 20);
  if (group.empty()) return void(std::puts("skipped: no control group with a memory limit can be made here"));
  const pid_t child = fork();
  if (child == 0) {
    if (!(std::ofstream(group + "/cgroup.procs") << getpid() << std::flush)) _exit(9);
    execl("/proc/self/exe", "malloc_program", "small_phases", nullptr);
    _exit(9);
  }
  int status = 0;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
  rmdir(group.c_str());
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void growing_vector() {
  std::vector<double> grown;
  while (grown.size() < (std::size_t{512} << 20) / sizeof(double)) grown.push_back(1);
  std::printf("a vector grown to 512 MiB peaks at %zu MiB\n", peak_kib() / 1024);
  REQUIRE(peak_kib() / 1024 < 512 + 256 + 80);
}

/// What a thread that has ended left free on its pages serves those that are still there.
void pages_of_ended_threads() {
  std::vector<void*> left;
  for (int k = 0; k < 20; ++k)
    std::thread([&left] {
      for (int i = 0; i < 10'000; ++i) left.push_back(memset(malloc(1000), 1, 1000));
    }).join();
  for (std::size_t k = 0; k < left.size(); ++k)
    if (k % 32) free(std::exchange(left[k], nullptr));
  const std::size_t before = resident_kib();
  std::vector<void*> mine(190'000);
  for (void*& one : mine) one = memset(malloc(1000), 1, 1000);
  std::printf("190 MB again, of which 194 were returned, take %zu MB more\n",
              (resident_kib() - before) / 1000);
  REQUIRE(resident_kib() < before + 20'000);
}

/// So it does if many others, which have no free block of that size, ended later.
void pages_of_many_ended_threads() {
  std::vector<void*> left;
  std::barrier all_there(101);  // each with pages of its own
  std::atomic<bool> over{false};
  std::vector<std::thread> others;
  for (int k = 0; k < 100; ++k)
    others.emplace_back([&] {
      free(opaque(malloc(100)));
      all_there.arrive_and_wait();
      over.wait(false);
    });
  std::thread([&] {
    for (int i = 0; i < 100'000; ++i) left.push_back(memset(malloc(1000), 1, 1000));
    all_there.arrive_and_wait();
  }).join();
  over = true;
  over.notify_all();
  for (std::thread& one : others) one.join();
  for (std::size_t k = 0; k < left.size(); ++k)
    if (k % 32) free(std::exchange(left[k], nullptr));
  const std::size_t before = resident_kib();
  std::vector<void*> mine(95'000);
  for (void*& one : mine) one = memset(malloc(1000), 1, 1000);
  std::printf("95 MB again, of which 97 were returned, take %zu MB more\n", (resident_kib() - before) / 1000);
  REQUIRE(resident_kib() < before + 10'000);
}

void* end_abruptly(void*) {
  std::array<void*, 100> blocks{};
  for (void*& one : blocks) one = malloc(5000);
  for (std::size_t k = 0; k < 50; ++k) free(blocks[k]);
  if (opaque(1)) syscall(SYS_exit, 0);
  return nullptr;
}

/// Memory of threads that ended serves later ones: 10,000 threads, one after another and a hundred at a time.
void short_threads() {
  for (int k = 0; k < 10'000; ++k) std::thread([] { free(opaque(malloc(100))); }).join();
  const std::size_t before = resident_kib();
  for (int round = 0; round < 100; ++round) {
    std::vector<std::thread> crew;
    for (int k = 0; k < 100; ++k)
      crew.emplace_back([] {
        std::vector<std::unique_ptr<char[]>> own;
        for (std::size_t bytes = 1; bytes < 20'000; bytes += 1 + bytes / 4)
          own.emplace_back(new char[bytes]());
      });
    for (std::thread& one : crew) one.join();
  }
  std::printf("a hundred threads at a time leave %zu KiB\n", resident_kib() - before);
  REQUIRE(resident_kib() < before + 60'000);
}

/// A thread that the kernel alone ends tells nobody; nor can it be joined.
void abrupt_threads() {
  for (int k = 0; k < 200; ++k) {
    pthread_t thread{};
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    REQUIRE(pthread_create(&thread, &detached, end_abruptly, nullptr) == 0);
    usleep(500);
  }
  std::printf("threads that ended abruptly: %zu KiB\n", resident_kib());
  REQUIRE(resident_kib() < 200 * 500 / 2 + 40'000);
}

/// Returns sixteen blocks, each of another page, and ends before it has sent them.
void* return_and_end_abruptly(void* blocks) {
  for (int k = 0; k < 16; ++k) free(std::exchange(static_cast<void**>(blocks)[1300 * k], nullptr));
  syscall(SYS_exit, 0);
  return nullptr;
}

/// Heaps of threads that end as they should are at hand all the time. What other threads returned before an abrupt end is found all the same.
void abrupt_threads_among_others() {
  std::vector<std::thread> others;
  for (int k = 0; k < 150; ++k)
    others.emplace_back([] {
      free(opaque(malloc(100)));
      usleep(50'000);
    });
  for (std::thread& one : others) one.join();
  const std::size_t before = resident_kib();
  std::vector<void*> mine(1'248'000);
  for (void*& one : mine) one = memset(malloc(100), 1, 100);
  for (std::size_t k = 0; k < mine.size(); k += 20'800) {
    pthread_t thread{};
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    REQUIRE(pthread_create(&thread, &detached, return_and_end_abruptly, &mine[k]) == 0);
    while (std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}) > 1) usleep(100);
  }
  for (void* const one : mine) free(one);
  for (int k = 0; k < 600; ++k) std::thread([] { free(opaque(malloc(100))); }).join();
  malloc_trim(0);
  std::printf("of 120 MB, all returned, %zu KiB are left\n", resident_kib() - before);
  REQUIRE(resident_kib() < before + 30'000);
}

struct late {
  std::vector<std::string> texts;
  ~late() {
    for (int k = 0; k < 100; ++k) texts.push_back(std::string(static_cast<std::size_t>(k * 10), 'x'));
    texts.clear();
  }
};
thread_local late at_end;

void* allocate_late(void* key) {
  at_end.texts.emplace_back(50, 'y');
  pthread_setspecific(*static_cast<pthread_key_t*>(key), malloc(100));
  return nullptr;
}

/// Destructors of threads allocate, those of keys even behind ours.
void destructors() {
  static pthread_key_t key;
  REQUIRE(pthread_key_create(&key, [](void* memory) {
            static thread_local int rounds = 0;
            free(memory);
            if (++rounds < 4) pthread_setspecific(key, malloc(1000));
          }) == 0);
  for (int k = 0; k < 500; ++k) {
    pthread_t thread{};
    REQUIRE(pthread_create(&thread, nullptr, allocate_late, &key) == 0);
    pthread_join(thread, nullptr);
  }
  std::printf("destructors that allocate: %zu KiB\n", resident_kib());
  REQUIRE(resident_kib() < 30'000);
}

/// One thread allocates, the other returns: what is on its way stays bounded.
void producer_consumer() {
  constexpr std::size_t room = 4096;
  static std::array<std::atomic<char*>, room> places{};
  std::thread consumer([] {
    for (std::size_t k = 0; k < 3'000'000; ++k) {
      char* one = nullptr;
      while (!(one = places[k % room].exchange(nullptr, std::memory_order_acquire))) sched_yield();
      REQUIRE(one[0] == 'a' && one[15] == 'z');
      free(one);
    }
  });
  for (std::size_t k = 0; k < 3'000'000; ++k) {
    char* const one = static_cast<char*>(malloc(16 + k % 600));
    one[0] = 'a';
    one[15] = 'z';
    while (places[k % room].load(std::memory_order_relaxed)) sched_yield();
    places[k % room].store(one, std::memory_order_release);
  }
  consumer.join();
  std::printf("producer and consumer: %zu KiB at most\n", peak_kib());
  REQUIRE(peak_kib() < 40'000);
}

/// One thread returns what sixteen others got, which have ended or sleep.
void many_owners() {
  for (const bool they_live : {false, true}) {
    std::vector<std::vector<void*>> blocks(16);
    std::atomic<bool> over{false};
    std::atomic<int> ready{0};
    std::vector<std::thread> crew;
    for (auto& mine : blocks)
      crew.emplace_back([&] {
        for (int k = 0; k < 100'000; ++k) mine.push_back(malloc(64));
        ++ready;
        while (they_live && !over) usleep(1000);
      });
    while (ready < 16) usleep(100);
    if (!they_live)
      for (std::thread& one : crew) one.join();
    for (auto& theirs : blocks) {
      for (void* const one : theirs) free(one);
      theirs = {};
    }
    over = true;
    if (they_live)
      for (std::thread& one : crew) one.join();
    malloc_trim(0);
    std::printf("returned to sixteen %s: %zu KiB left\n", they_live ? "threads" : "threads that ended",
                resident_kib());
    REQUIRE(resident_kib() < 40'000);
  }
}

void churn(unsigned seed, const std::atomic<bool>& over) {
  std::minstd_rand draw(seed);
  std::vector<std::pair<unsigned char*, std::size_t>> held(200);
  while (!over) {
    auto& [memory, bytes] = held[draw() % held.size()];
    for (std::size_t k = 0; k < bytes; k += 97) REQUIRE(memory[k] == static_cast<unsigned char>(bytes));
    free(memory);
    bytes = draw() % (draw() % 50 ? 2000 : 300'000) + 1;
    memory = static_cast<unsigned char*>(malloc(bytes));
    memset(memory, static_cast<int>(bytes), bytes);
  }
  for (auto& [memory, bytes] : held) free(memory);
}

/// Children of fork() while four threads allocate: each allocates, starts a thread, and forks once more.
void fork_storm() {
  std::atomic<bool> over{false};
  std::vector<std::thread> crew;
  for (unsigned k = 0; k < 4; ++k) crew.emplace_back(churn, k + 1, std::cref(over));
  for (int k = 0; k < 100; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      std::vector<std::string> texts;
      for (std::size_t each = 0; each < 1000; ++each) texts.emplace_back(each, 'x');
      std::thread([&] { texts.emplace_back(5000, 'y'); }).join();
      if (const pid_t grandchild = fork(); grandchild == 0) {
        texts.clear();
        std::_Exit(7);
      } else {
        int status = 0;
        REQUIRE(waitpid(grandchild, &status, 0) == grandchild && WEXITSTATUS(status) == 7);
      }
      std::_Exit(7);
    }
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    if (const pid_t fast = vfork(); fast == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(9);
    } else {
      REQUIRE(waitpid(fast, &status, 0) == fast && status == 0);
    }
  }
  over = true;
  for (std::thread& one : crew) one.join();
}

/// A child returns blocks of a thread that only the parent has, and asks for as many: it gets the same memory again.
void child_reuses_blocks_of_others() {
  std::vector<void*> blocks(100'000);
  std::atomic<bool> ready{false}, over{false};
  std::thread owner([&] {
    for (void*& one : blocks) one = memset(malloc(1000), 1, 1000);
    ready = true;
    while (!over) usleep(1000);
  });
  while (!ready) usleep(1000);
  const pid_t child = fork();
  if (child == 0) {
    const std::size_t before = resident_kib();
    for (int round = 0; round < 3; ++round) {
      for (void* const one : blocks) free(one);
      for (void*& one : blocks) one = memset(malloc(1000), round, 1000);
    }
    for (const void* const one : blocks) REQUIRE(static_cast<const char*>(one)[999] == 2);
    std::printf("100 MB of another thread, returned and asked for again in a child: %zu KiB, then %zu\n",
                before, resident_kib());
    REQUIRE(resident_kib() < before + 20'000);
    for (void* const one : blocks) free(one);
    malloc_trim(0);
    REQUIRE(resident_kib() < 40'000);
    std::_Exit(7);
  }
  int status = 0;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  over = true;
  owner.join();
}

/// What was a pointer, kept where no compiler sees that it is one.
void* volatile remembered = nullptr;

/// glibc may return memory of a thread in a child of fork(), although that thread was returning it. Hardened, it is then still there.
void child_returns_for_others() {
  std::atomic<bool> ready{false}, over{false};
  std::thread owner([&] {
    remembered = malloc(5000);
    free(remembered);
    ready = true;
    while (!over) usleep(1000);
  });
  while (!ready) usleep(1000);
  void* const mine = malloc(5000);
  free(mine);
  const pid_t child = fork();
  if (child == 0) {
    free(remembered);
    for (int k = 0; k < 1000; ++k)
      free(opaque(malloc(5000)));  // what was held back before the fork leaves, too
    std::_Exit(7);
  }
  int status = 0;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  over = true;
  owner.join();
}

/// fork() beside threads that ask for memory while they hold the lock of a stream, which another waits for with that of all streams.
void fork_beside_streams() {
  alarm(50);
  std::atomic<bool> over{false};
  std::string text(50'000, 'x');
  std::vector<std::thread> crew;
  for (int k = 0; k < 4; ++k)
    crew.emplace_back([&] {
      FILE* const file = fmemopen(text.data(), text.size(), "r");
      while (!over) {
        char* line = nullptr;
        std::size_t room = 0;
        rewind(file);
        REQUIRE(getline(&line, &room, file) == static_cast<ssize_t>(text.size()));
        free(line);
        usleep(100);
      }
      fclose(file);
    });
  crew.emplace_back([&] {
    while (!over) {
      fflush(nullptr);
      usleep(100);  // locks of streams are not fair
    }
  });
  for (int k = 0; k < 100; ++k) {
    const pid_t child = fork();
    if (child == 0) std::_Exit(fflush(nullptr) ? 1 : 7);
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  }
  over = true;
  for (std::thread& one : crew) one.join();
}

/// Blocks of a thread come back before it lists its pages again, then before it ends, then after: its pages are free at last.
void half_before_the_end() {
  std::vector<void*> blocks(300'000);
  std::atomic<int> step{0};
  const auto wait_for = [&](int which) {
    while (step < which) usleep(100);
  };
  const auto give_every_fourth = [&](std::size_t from) {
    for (std::size_t k = from; k < blocks.size(); k += 4) free(blocks[k]);
  };
  std::thread owner([&] {
    for (void*& one : blocks) one = memset(malloc(200), 1, 200);
    step = 1;
    wait_for(2);
    for (std::size_t bytes = 1000; bytes < 60'000; bytes *= 2) free(opaque(malloc(bytes)));
    step = 3;
    wait_for(4);
  });
  wait_for(1);
  give_every_fourth(0);
  step = 2;
  wait_for(3);
  give_every_fourth(1);
  step = 4;
  owner.join();
  give_every_fourth(2);
  give_every_fourth(3);
  malloc_trim(0);
  std::printf("before and after a thread's end: %zu KiB\n", resident_kib());
  REQUIRE(resident_kib() < 20'000);
}

/// What is kept of large blocks goes back after the time of decay, also where small ones alone are returned.
void large_blocks_age() {
  std::array<void*, 4> blocks{};
  for (void*& one : blocks) one = memset(malloc(15'000'000), 1, 15'000'000);
  for (void* const one : blocks) free(one);
  REQUIRE(resident_kib() > 30'000);
  usleep(1'100'000);
  free(opaque(malloc(200'000)));
  REQUIRE(resident_kib() < 20'000);
}

/// A system call ends like this from here on; if a third argument is given, only with that one.
void forbid(unsigned call, unsigned end, std::optional<unsigned> argument = {}) {
  std::vector<sock_filter> filter{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, static_cast<std::uint8_t>(argument ? 3 : 1))};
  if (argument) {
    filter.push_back(sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])));
    filter.push_back(sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, *argument, 0, 1));
  }
  filter.push_back(sock_filter BPF_STMT(BPF_RET | BPF_K, end));
  filter.push_back(sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

void refuse(unsigned call, unsigned error, std::optional<unsigned> argument = {}) {
  forbid(call, SECCOMP_RET_ERRNO | error, argument);
}

/// The kernel refuses to unmap a part of a mapping if the process has as many mappings as it may have. The memory goes back all the same.
void refused_unmap() {
  refuse(SYS_munmap, ENOMEM);
  std::array<void*, 20> blocks{};
  for (void*& one : blocks) one = memset(malloc(5'000'000), 1, 5'000'000);
  for (void* const one : blocks) free(one);
  malloc_trim(0);
  REQUIRE(resident_kib() < 30'000);
}

/// A process that has as many mappings as it may have: a block stays where it is, and the memory of its end goes back.
void refused_shrinking() {
  constexpr std::size_t bytes = std::size_t{100} << 20;
  void* block = malloc(bytes);
  use(block, bytes);
  refuse(SYS_mremap, ENOMEM);
  const auto place = reinterpret_cast<std::uintptr_t>(block);
  REQUIRE(block = realloc(block, bytes / 4));
  REQUIRE(reinterpret_cast<std::uintptr_t>(block) == place);
  REQUIRE(resident_kib() < 50'000);
  free(block);
}

/// Under a limit that leaves room for one segment and little else.
void little_address_space() {
  for (const std::size_t bytes : {100, 1'000, 10'000, 100'000, 1'000'000}) use(malloc(bytes), bytes);
}

/// Whether the kernel was asked to give no huge pages for the mapping of this memory.
bool refuses_huge_pages(const void* memory) {
  std::ifstream mappings("/proc/self/smaps");
  const auto address = reinterpret_cast<unsigned long>(memory);
  bool here = false;
  for (std::string line; std::getline(mappings, line);) {
    unsigned long first = 0, past = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &past) == 2) here = first <= address && address < past;
    if (here && line.starts_with("VmFlags:")) return line.find(" nh") != std::string::npos;
  }
  return false;
}

/// Of memory that is mapped after the start: options are read then, and other libraries may have asked before.
void no_huge_pages() {
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK))
    return void(std::puts("skipped: a kernel without huge pages"));
  for (int k = 0; k < 100; ++k) REQUIRE(opaque(malloc(100'000)));
  for (const std::size_t bytes : {100'000, 3'000'000}) REQUIRE(refuses_huge_pages(opaque(malloc(bytes))));
}

/// What the kernel gave as zeros is not written to, whatever was returned before.
void sparse_zeros() {
  free(memset(malloc(3'000'000), 1, 3'000'000));
  const std::size_t before = resident_kib();
  auto* const memory = static_cast<char*>(opaque(calloc(1, std::size_t{1} << 30)));
  REQUIRE(memory && !memory[0] && !memory[2'999'999] && !memory[4'000'000]);
  REQUIRE(resident_kib() < before + 20'000);
  free(memory);
}

/// One segment is used all the time; what is free of the others goes back all the same.
void one_segment_in_use() {
  std::vector<char*> blocks(240);
  for (char*& one : blocks) one = static_cast<char*>(memset(malloc(300'000), 1, 300'000));
  const auto segment_of = [](const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) >> 22; };
  const std::uintptr_t first = segment_of(blocks[0]);
  for (std::size_t k = 0; k < blocks.size(); ++k)
    if (segment_of(blocks[k]) == first || k % 2) free(blocks[k]);
  const std::size_t before = resident_kib();
  alarm(20);
  while (resident_kib() > before * 2 / 3) {
    free(opaque(malloc(1'900'000)));
    usleep(5000);
  }
}

/// What another thread returns to pages that are listed already is found once pages of another size are needed.
void listed_pages_come_back() {
  std::vector<void*> blocks(60'000'000 / 700);
  for (void*& one : blocks) one = memset(malloc(700), 1, 700);
  const auto give_by_another = [&](std::size_t from, std::size_t step) {
    std::thread([&] {
      for (std::size_t k = from; k < blocks.size(); k += step)
        if (k % 40 || step == 40) free(blocks[k]);
    }).join();
  };
  give_by_another(0, 40);
  free(opaque(malloc(1500)));  // lists all pages
  give_by_another(1, 1);
  for (int k = 0; k < 20'000; ++k) memset(opaque(malloc(3000)), 1, 3000);
  std::printf("60 MB of one size, then of another: %zu MB\n", resident_kib() / 1000);
  REQUIRE(resident_kib() < 90'000);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A request does not take the longer the more segments there are that have a little room.
void many_segments() {
  std::array<double, 4> took{};
  for (double& quarter : took) {
    const double start = cpu_seconds();
    for (int k = 0; k < 2500; ++k) REQUIRE(opaque(malloc(1'900'000)));
    quarter = cpu_seconds() - start;
  }
  std::printf("2,500 requests each: %.3f %.3f %.3f %.3f s\n", took[0], took[1], took[2], took[3]);
  REQUIRE(took[3] < 4 * took[0]);
}

std::mutex of_a_library;

/// The thread that registers a handler of fork(), while this handler lets it.
std::atomic<pid_t> registering{0};
std::atomic<bool> may_register{false}, has_registered{false};

bool sleeps(pid_t thread) {
  std::array<char, 64> name{};
  std::array<char, 512> text{};
  std::snprintf(name.data(), name.size(), "/proc/self/task/%d/stat", thread);
  const int file = open(name.data(), O_RDONLY);
  if (file < 0) return false;  // it ended
  const ssize_t length = read(file, text.data(), text.size() - 1);
  close(file);
  return length > 0 && strstr(text.data(), ") S") != nullptr;
}

void let_register() {
  if (!registering) return;
  may_register = true;
  while (!has_registered && !sleeps(registering)) sched_yield();
}

void* register_one(void*) {
  registering = gettid();
  while (!may_register) sched_yield();
  REQUIRE(pthread_atfork(nullptr, nullptr, nullptr) == 0);
  has_registered = true;
  return nullptr;
}

/// A thread registers a handler while fork() has the locks of malloc(). glibc has room for 48, and asks for more with a lock of its own.
void fork_beside_registration() {
  alarm(50);
  for (int k = 0; k < 60; ++k) {
    pthread_t thread{};
    REQUIRE(pthread_create(&thread, nullptr, register_one, nullptr) == 0);
    while (!registering) sched_yield();
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    REQUIRE(pthread_join(thread, nullptr) == 0);
    registering = 0;
    may_register = has_registered = false;
  }
}

void register_early(int, char** argv, char**) {
  // Before malloc() registers its own handler: so this one runs after that, before a fork.
  if (argv[1] && !strcmp(argv[1], "fork_beside_registration")) REQUIRE(register_by_glibc(let_register) == 0);
  pthread_atfork([] { of_a_library.lock(); }, [] { of_a_library.unlock(); }, [] { of_a_library.unlock(); });
}

/// Before the first constructor, also those of malloc().
[[gnu::section(".preinit_array"), gnu::used]] void (*const early)(int, char**, char**) = register_early;

/// A library allocates under its own lock, which it takes before a fork. Its handlers may be older than our constructors.
void fork_beside_locks() {
  std::atomic<bool> over{false};
  alarm(50);
  std::thread library([&] {
    while (!over) {
      const std::lock_guard hold(of_a_library);
      free(opaque(malloc(100'000)));
    }
  });
  for (int k = 0; k < 200; ++k) {
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  }
  over = true;
  library.join();
}

/// A process of one thread may fork in a signal handler, whatever that interrupted.
void fork_in_handler() {
  static std::atomic<int> forks{0}, left_in_child{-1};
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int before = errno;
    const pid_t child = fork();
    if (child == 0) {
      left_in_child = 1000;  // it has no timer, and goes on where the handler came
      return;
    }
    int status = 0;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
            WEXITSTATUS(status) == 7);
    ++forks;
    errno = before;
  };
  sigaction(SIGVTALRM, &action, nullptr);
  const itimerval often{{0, 200}, {0, 200}};
  setitimer(ITIMER_VIRTUAL, &often, nullptr);
  alarm(50);
  for (int pair = 0; forks < 60; ++pair) {
    free(opaque(malloc(pair % 2 ? 100'000 : 4'000)));
    if (left_in_child > 0 && --left_in_child == 0) _exit(7);
  }
  const itimerval never{};
  setitimer(ITIMER_VIRTUAL, &never, nullptr);
}

/// A library's constructor waits for a thread that registers handlers of fork(), and asks for memory by C++'s operators.
void register_in_constructor() {
  alarm(20);
  REQUIRE(dlopen(PLUGIN, RTLD_NOW));
}

/// A thread that was cancelled ends where it says so, not in here: its caller may hold a lock.
void cancelled_thread() {
  static std::atomic<bool> was_cancelled{false}, is_back{false};
  pthread_t thread{};
  const auto run = [](void*) -> void* {
    while (!was_cancelled) sched_yield();
    free(opaque(malloc(100)));
    malloc_stats();
    is_back = true;
    pthread_testcancel();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, nullptr, run, nullptr) == 0);
  REQUIRE(pthread_cancel(thread) == 0);
  was_cancelled = true;
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0 && is_back && result == PTHREAD_CANCELED);
}

void double_free() {
  void* const memory = malloc(100);
  void* const other = malloc(100);
  remembered = memory;
  free(memory);
  free(other);
  free(remembered);
}

void double_free_of_run() {
  remembered = malloc(100'000);
  free(remembered);
  free(remembered);
}

void double_free_of_mapping() {
  remembered = malloc(3'000'000);
  free(remembered);
  free(remembered);
}

/// A handler of SIGABRT asks for memory.
void handler_allocates() {
  signal(SIGABRT, [](int) {
    free(opaque(malloc(100'000)));
    _exit(0);
  });
  double_free_of_run();
  _exit(1);
}

void foreign_pointer() {
  static std::array<char, 100> ours{};
  free(opaque(ours.data() + 16));
}

void use_after_free() {
  remembered = malloc(100);
  free(remembered);
  static_cast<volatile std::uint64_t*>(remembered)[0] = 1;
  for (int k = 0; k < 5000; ++k) {
    void* const other = opaque(malloc(100));
    if (k % 2) free(other);
  }
}

// --- mistakes that a hardened process finds ---

/// A write behind the last block of a page, a run, a mapping.
void write_behind(void* memory) {
  auto* const block = static_cast<volatile char*>(memory);
  for (std::size_t k = 0; k <= 65'536 + malloc_usable_size(opaque(const_cast<char*>(block))); ++k)
    block[k] = 1;
}
void write_behind_page() { write_behind(malloc(4000)); }
void write_behind_run() { write_behind(malloc(100'000)); }
void write_behind_mapping() { write_behind(malloc(3'000'000)); }

/// A thread starts in a sandbox that kills for a question about threads, also beside threads that ended with and without notice.
void threads_in_sandbox() {
  std::thread([] { free(opaque(malloc(100))); }).join();
  pthread_t abrupt{};
  REQUIRE(pthread_create(&abrupt, nullptr, end_abruptly, nullptr) == 0);
  while (std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}) > 1) usleep(100);
  std::atomic<bool> over{false};
  std::thread living([&] {
    free(opaque(malloc(100)));
    over.wait(false);
  });
  for (const unsigned call : {SYS_getpid, SYS_gettid, SYS_tgkill}) forbid(call, SECCOMP_RET_KILL_PROCESS);
  std::vector<std::thread> crew;
  for (int k = 0; k < 8; ++k) crew.emplace_back([] { use(malloc(100), 100); });
  for (std::thread& one : crew) one.join();
  over = true;
  over.notify_all();
  living.join();
}

/// Guards of before a process enters a sandbox, in which the kernel does not remove them.
void guards_in_sandbox() {
  std::array<void*, 200> runs{};
  for (void*& one : runs) use(one = malloc(100'000), 100'000);
  refuse(SYS_madvise, EINVAL, 103);
  for (void* const one : runs) free(one);
  for (std::size_t k = 0; k < runs.size(); ++k) use(runs[k] = malloc(60'000 + 2'000 * k), 60'000 + 2'000 * k);
}

/// The same by a kernel that has no guards: a filter refuses them.
void write_behind_by_rights() {
  refuse(SYS_madvise, EINVAL, 102);
  void* const guarded = malloc(100'000);
  // More than the kernel has mappings for: all are there, and so are mappings for others.
  for (int k = 0; k < 40'000; ++k) REQUIRE(opaque(malloc(70'000)));
  REQUIRE(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  free(opaque(malloc(70'000)));
  write_behind(guarded);
}

void write_to_free(std::size_t bytes) {
  remembered = malloc(bytes);
  free(remembered);
  static_cast<volatile char*>(remembered)[40] = 1;
}

/// Found when the block leaves the quarantine.
void use_after_free_of_run() {
  write_to_free(100'000);
  for (int k = 0; k < 5000; ++k) free(opaque(malloc(100'000)));
}
/// When its thread ends, and when the process does.
void use_after_free_at_end_of_thread() { std::thread(write_to_free, 100).join(); }
void use_after_free_at_exit() { write_to_free(100); }
/// By a thread of behind.cpp, which ended before the constructors of malloc() ran; the process ends there.
void use_after_free_by_early_thread() { _exit(1); }
/// At once.
void use_after_free_of_mapping() { write_to_free(3'000'000); }

/// By a thread that got none of them, and by one that is ending.
void double_free_by_another() {
  void* const memory = malloc(100);
  remembered = memory;
  free(memory);
  std::thread([] { free(remembered); }).join();
}
void double_free_of_run_by_another() {
  void* const memory = malloc(100'000);
  remembered = memory;
  free(memory);
  std::thread([] { free(remembered); }).join();
}

/// The link of a free block, changed within its segment.
void changed_link() {
  std::vector<char*> blocks(20'000);
  for (char*& one : blocks) one = static_cast<char*>(malloc(64));
  for (char* const one : blocks) free(one);
  for (char* const one : blocks) static_cast<volatile char*>(one)[0] = static_cast<char>(one[0] ^ 8);
  for (char*& one : blocks) one = static_cast<char*>(malloc(64));
}

void realloc_into_block() { remembered = realloc(opaque(static_cast<char*>(malloc(4000)) + 64), 5000); }
void realloc_of_free() {
  remembered = malloc(100'000);
  free(remembered);
  remembered = realloc(remembered, 90'000);
}

/// What a returned block holds may lie in others, too.
void copy_of_free() {
  auto* const first = static_cast<char*>(malloc(64));
  auto* const second = static_cast<char*>(malloc(64));
  remembered = first;
  free(first);
  memcpy(second, remembered, 64);
  free(second);
}

/// Children place their blocks in another order than each other.
void order_of_children() {
  free(malloc(1000));
  std::array<std::array<std::uintptr_t, 40>, 2> orders{};
  for (auto& order : orders) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t child = fork();
    if (child == 0) {
      for (std::uintptr_t& one : order) one = reinterpret_cast<std::uintptr_t>(malloc(500));
      _exit(write(ends[1], order.data(), sizeof order) == sizeof order ? 0 : 1);
    }
    int status = 0;
    REQUIRE(read(ends[0], order.data(), sizeof order) == sizeof order && waitpid(child, &status, 0) == child);
  }
  REQUIRE(orders[0] != orders[1]);
}

struct test_case {
  const char* name;
  void (*run)();
};

constexpr std::array cases{test_case{"every_entry", every_entry},
                           test_case{"bad_requests", bad_requests},
                           test_case{"impossible_requests", impossible_requests},
                           test_case{"no_memory", no_memory},
                           test_case{"growing_beside_what_is_kept", growing_beside_what_is_kept},
                           test_case{"shrinking_by_less_than_half", shrinking_by_less_than_half},
                           test_case{"shrinking_many", shrinking_many},
                           test_case{"refused_shrinking", refused_shrinking},
                           test_case{"growing_advised", growing_advised},
                           test_case{"growing_locked", growing_locked},
                           test_case{"asking_at_once", asking_at_once},
                           test_case{"held_back", held_back},
                           test_case{"holds_on", holds_on},
                           test_case{"pages_of_what_waits", pages_of_what_waits},
                           test_case{"sizes_one_after_another", sizes_one_after_another},
                           test_case{"phases", phases},
                           test_case{"growing_vector", growing_vector},
                           test_case{"sparse_blocks", sparse_blocks},
                           test_case{"short_threads", short_threads},
                           test_case{"pages_of_ended_threads", pages_of_ended_threads},
                           test_case{"pages_of_many_ended_threads", pages_of_many_ended_threads},
                           test_case{"abrupt_threads", abrupt_threads},
                           test_case{"abrupt_threads_among_others", abrupt_threads_among_others},
                           test_case{"threads_in_sandbox", threads_in_sandbox},
                           test_case{"destructors", destructors},
                           test_case{"producer_consumer", producer_consumer},
                           test_case{"many_owners", many_owners},
                           test_case{"fork_storm", fork_storm},
                           test_case{"child_returns_for_others", child_returns_for_others},
                           test_case{"fork_beside_streams", fork_beside_streams},
                           test_case{"child_reuses_blocks_of_others", child_reuses_blocks_of_others},
                           test_case{"fork_in_handler", fork_in_handler},
                           test_case{"fork_beside_locks", fork_beside_locks},
                           test_case{"fork_beside_registration", fork_beside_registration},
                           test_case{"register_in_constructor", register_in_constructor},
                           test_case{"cancelled_thread", cancelled_thread},
                           test_case{"half_before_the_end", half_before_the_end},
                           test_case{"large_blocks_age", large_blocks_age},
                           test_case{"handler_allocates", handler_allocates},
                           test_case{"double_free", double_free},
                           test_case{"double_free_of_run", double_free_of_run},
                           test_case{"double_free_of_mapping", double_free_of_mapping},
                           test_case{"foreign_pointer", foreign_pointer},
                           test_case{"use_after_free", use_after_free},
                           test_case{"sparse_zeros", sparse_zeros},
                           test_case{"refused_unmap", refused_unmap},
                           test_case{"little_address_space", little_address_space},
                           test_case{"no_huge_pages", no_huge_pages},
                           test_case{"one_segment_in_use", one_segment_in_use},
                           test_case{"listed_pages_come_back", listed_pages_come_back},
                           test_case{"many_segments", many_segments},
                           test_case{"order_of_children", order_of_children},
                           test_case{"copy_of_free", copy_of_free},
                           test_case{"write_behind_page", write_behind_page},
                           test_case{"guards_in_sandbox", guards_in_sandbox},
                           test_case{"write_behind_run", write_behind_run},
                           test_case{"write_behind_mapping", write_behind_mapping},
                           test_case{"write_behind_by_rights", write_behind_by_rights},
                           test_case{"use_after_free_of_run", use_after_free_of_run},
                           test_case{"use_after_free_at_end_of_thread", use_after_free_at_end_of_thread},
                           test_case{"use_after_free_at_exit", use_after_free_at_exit},
                           test_case{"use_after_free_of_mapping", use_after_free_of_mapping},
                           test_case{"use_after_free_by_early_thread", use_after_free_by_early_thread},
                           test_case{"memory_limit", memory_limit},
                           test_case{"small_phases", small_phases},
                           test_case{"double_free_by_another", double_free_by_another},
                           test_case{"double_free_of_run_by_another", double_free_of_run_by_another},
                           test_case{"changed_link", changed_link},
                           test_case{"realloc_into_block", realloc_into_block},
                           test_case{"realloc_of_free", realloc_of_free}};

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  signal(SIGABRT, [](int) { _exit(3); });  // what a mistake ends with; ctest takes an abort for a failure
  signal(SIGSEGV, [](int) {
    REQUIRE(write(STDERR_FILENO, "no access\n", 10) == 10);
    _exit(3);
  });
  for (const test_case& one : cases)
    if (argc == 2 && !strcmp(argv[1], one.name)) return one.run(), 0;
  for (const test_case& one : cases) std::printf("%s\n", one.name);
  return 2;
}
