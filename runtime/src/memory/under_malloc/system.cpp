// SPDX-License-Identifier: Apache-2.0
#include "system.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sizes.hpp"

namespace corescale::inline v0::process_heap {

constinit thread_local bool in_fork __attribute__((tls_model("initial-exec"))) = false;
constinit options chosen;
constinit account of_system;

void account::add(std::size_t bytes) noexcept {
  const std::size_t now = mapped.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t most = most_mapped.load(std::memory_order_relaxed);
  while (now > most && !most_mapped.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

namespace {

void* map_at(void* hint, std::size_t bytes) noexcept {
  const int before = errno;  // free() must leave errno alone, and may map memory
  void* const memory = mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = before;
  return memory == MAP_FAILED ? nullptr : memory;
}

bool is_aligned(const void* memory, std::size_t alignment) noexcept {
  return (reinterpret_cast<std::uintptr_t>(memory) & (alignment - 1)) == 0;
}

// An address at which the next aligned mapping may fit. It is below the last such mapping, because the kernel fills the address space
// downwards.
constinit std::atomic<std::uintptr_t> below{0};

/// A mapping at an aligned address, without any address space in excess: below the last such mapping, else below the place that the kernel
/// chooses. Null if neither place is free.
void* map_in_place(std::size_t bytes, std::size_t alignment) noexcept {
  std::uintptr_t end = alignment > system_page ? below.load(std::memory_order_relaxed) : 0;
  for (int tries = 0; tries < 2; ++tries) {
    const std::uintptr_t place = end > bytes ? (end - bytes) & ~(alignment - 1) : 0;
    void* const memory = map_at(reinterpret_cast<void*>(place), bytes);
    if (!memory || is_aligned(memory, alignment)) return memory;
    munmap(memory, bytes);
    end = reinterpret_cast<std::uintptr_t>(memory) + bytes;
  }
  return nullptr;
}

constexpr int guard_install = 102,
              guard_remove = 103;  // MADV_GUARD_INSTALL and MADV_GUARD_REMOVE, which headers may lack
constexpr std::size_t most_guards_by_rights = 16'384;
constinit std::atomic<std::size_t> guards_by_rights{0};

void note(std::string_view word) noexcept {
  char line[200];
  std::size_t shown = 0;
  while (shown < word.size() && shown < 60 && word[shown] >= ' ' && word[shown] <= '~') ++shown;
  const int length = snprintf(line, sizeof line,
                              "corescale malloc: CORESCALE_MALLOC has no word '%.*s'; use show_stats, "
                              "hardened, huge_pages=0 or 1, decay_ms=N (N below 1000000000)\n",
                              static_cast<int>(shown), word.data());
  say(line, length < static_cast<int>(sizeof line) ? length : static_cast<int>(sizeof line) - 1);
}

bool read_word(std::string_view word) noexcept {
  if (word == "show_stats") return chosen.show_stats = true;
  if (word == "hardened") return chosen.hardened = true;
  if (word == "huge_pages=0") return chosen.huge_pages = huge_pages::refused, true;
  if (word == "huge_pages=1") return chosen.huge_pages = huge_pages::asked, true;
  constexpr std::string_view decay = "decay_ms=";  // then at most nine digits, as note() says
  if (!word.starts_with(decay) || word.size() == decay.size() || word.size() > decay.size() + 9) return false;
  std::uint64_t value = 0;
  for (const char digit : word.substr(decay.size())) {
    if (digit < '0' || digit > '9') return false;
    value = 10 * value + static_cast<std::uint64_t>(digit - '0');
  }
  chosen.decay_ms = value;
  return true;
}

std::string_view without_blanks(std::string_view word) noexcept {
  const auto is_blank = [](char one) { return one == ' ' || (one >= '\t' && one <= '\r'); };
  while (!word.empty() && is_blank(word.front())) word.remove_prefix(1);
  while (!word.empty() && is_blank(word.back())) word.remove_suffix(1);
  return word;
}

constinit std::atomic<bool> has_read_options{false};

/// Reads a short file's text, with a 0 at its end; empty if it cannot be read. Uses bare system calls, in which no thread is cancelled.
template <std::size_t Size>
void read_file(const char* path, std::array<char, Size>& text) noexcept {
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  long length = 0;
  if (file >= 0) {
    length = syscall(SYS_read, file, text.data(), Size - 1);
    syscall(SYS_close, file);
  }
  text[length > 0 ? static_cast<std::size_t>(length) : 0] = '\0';
}

/// The least number in the file `name` of a group and of the groups above it. In a container the group's path may be the host's, which is
/// missing there; the last step reads the root, which exists.
std::size_t least_of_group(const char* root, const char* mount, std::string_view group,
                           const char* name) noexcept {
  std::size_t least = SIZE_MAX;
  while (true) {
    std::array<char, 1024> path;
    std::array<char, 32> text;
    if (snprintf(path.data(), path.size(), "%s/sys/fs/cgroup%s%.*s/%s", root, mount,
                 static_cast<int>(group.size()), group.data(), name) < static_cast<int>(path.size())) {
      read_file(path.data(), text);
      std::size_t value = 0;
      for (const char* digit = text.data(); *digit >= '0' && *digit <= '9'; ++digit)
        value = 10 * value + static_cast<std::size_t>(*digit - '0');
      if (value && value < least) least = value;  // "max" has no digit
    }
    if (group.empty()) return least;
    group = group.substr(0, group.rfind('/'));
  }
}

constinit std::atomic<std::size_t> limit{SIZE_MAX};

}  // namespace

std::size_t memory_limit(const char* root) noexcept {
  const int before = errno;
  std::array<char, 256> path;
  std::array<char, 4096> text;
  snprintf(path.data(), path.size(), "%s/proc/self/cgroup", root);
  read_file(path.data(), text);
  std::size_t least = SIZE_MAX;
  for (std::string_view rest(text.data()); !rest.empty();) {  // lines such as 4:memory:/group, or 0::/group
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers(line.data() + first + 1, second - first - 1);
    std::string_view group(line.data() + second + 1, line.size() - second - 1);
    while (group.ends_with('/')) group.remove_suffix(1);
    if (controllers.empty())
      for (const char* const name : {"memory.max", "memory.high"})
        least = std::min(least, least_of_group(root, "", group, name));
    else if (controllers.find("memory") != std::string_view::npos)
      least = std::min(least, least_of_group(root, "/memory", group, "memory.limit_in_bytes"));
  }
  errno = before;
  return least;
}

void read_memory_limit() noexcept { limit.store(memory_limit(""), std::memory_order_relaxed); }

std::size_t most_free(std::size_t share) noexcept {
  constexpr std::size_t always = std::size_t{1} << 26, part_of_limit = 16;
  return std::min(std::max(share, always), limit.load(std::memory_order_relaxed) / part_of_limit);
}

void* map(std::size_t bytes) noexcept {
  void* const memory = map_at(nullptr, bytes);
  if (memory) of_system.add(bytes);
  return memory;
}

void* map_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  void* memory = map_in_place(bytes, alignment);
  if (!memory) {
    char* const room = static_cast<char*>(map_at(nullptr, bytes + alignment));
    if (!room) return nullptr;
    char* const first = reinterpret_cast<char*>(round_up(reinterpret_cast<std::uintptr_t>(room), alignment));
    if (first != room) munmap(room, static_cast<std::size_t>(first - room));
    if (char* const rest = first + bytes; rest != room + bytes + alignment)
      munmap(rest, static_cast<std::size_t>(room + bytes + alignment - rest));
    memory = first;
  }
  if (alignment > system_page)
    below.store(reinterpret_cast<std::uintptr_t>(memory), std::memory_order_relaxed);
  if (chosen.huge_pages == huge_pages::refused) advise(memory, bytes, MADV_NOHUGEPAGE);
  of_system.add(bytes);
  return memory;
}

void advise(void* memory, std::size_t bytes, int advice) noexcept {
  const int before = errno;
  madvise(memory, bytes, advice);
  errno = before;
}

void unmap(void* memory, std::size_t bytes) noexcept {
  const int before = errno;
  const bool refused = munmap(memory, bytes) != 0;
  errno = before;
  // The kernel splits no mapping of a process that has reached its limit of mappings. Then the place stays mapped, without its memory.
  if (refused) return purge(memory, bytes);
  of_system.subtract(bytes);
}

void purge(void* memory, std::size_t bytes) noexcept {
  const int before = errno;
  // Locked memory (mlockall) is not taken back, but must read as zero afterwards.
  if (madvise(memory, bytes, MADV_DONTNEED)) memset(memory, 0, bytes);
  errno = before;
  of_system.purged.fetch_add(bytes, std::memory_order_relaxed);
}

guard protect(void* page) noexcept {
  const int before = errno;
  guard by = guard::none;
  if (!madvise(page, system_page, guard_install)) {
    by = guard::installed;
  } else if (guards_by_rights.fetch_add(1, std::memory_order_relaxed) < most_guards_by_rights &&
             !mprotect(page, system_page, PROT_NONE)) {
    by = guard::by_rights;
  } else {
    guards_by_rights.fetch_sub(1, std::memory_order_relaxed);
  }
  errno = before;
  return by;
}

void unprotect(void* page, guard by) noexcept {
  if (by == guard::none) return;
  const int before = errno;
  const bool refused = by == guard::installed ? madvise(page, system_page, guard_remove)
                                              : mprotect(page, system_page, PROT_READ | PROT_WRITE);
  // A sandbox may refuse that by now. Then a new page takes its place.
  if (refused) [[maybe_unused]]
    void* const opened =
        mmap(page, system_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (by == guard::by_rights) guards_by_rights.fetch_sub(1, std::memory_order_relaxed);
  errno = before;
}

std::uint64_t now_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

std::uint64_t random_word() noexcept {
  std::uint64_t word = 0;
  const int before = errno;
  // Not getrandom(): a thread may be cancelled in getrandom(), but must not be in malloc().
  if (syscall(SYS_getrandom, &word, sizeof word, GRND_NONBLOCK) != sizeof word)
    word = (reinterpret_cast<std::uintptr_t>(&word) ^ now_ms()) * 0x9e3779b97f4a7c15;
  errno = before;
  return word;
}

void say(const char* text, int length) noexcept {
  if (length > 0) syscall(SYS_write, STDERR_FILENO, text, static_cast<std::size_t>(length));
}

void die(const char* what, const void* where) noexcept {
  in_fork = true;  // a handler of SIGABRT may ask for memory, and we may be under a lock
  char line[200];
  const int length = snprintf(line, sizeof line, "corescale malloc: %s: %p\n", what, where);
  say(line, length);
  abort();
}

void read_options(const char* words) noexcept {
  bool noted = false;
  std::string_view rest(words);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = without_blanks(rest.substr(0, comma));
    if (!word.empty() && !read_word(word) && !std::exchange(noted, true)) note(word);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

void read_environment() noexcept {
  if (has_read_options.load(std::memory_order_relaxed) || !environ) return;
  if (has_read_options.exchange(true)) return;
  if (const char* const words = secure_getenv("CORESCALE_MALLOC")) read_options(words);
}

}  // namespace corescale::process_heap
