// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "corescale/parallel_for/calibration.hpp"

namespace corescale::inline v0::detail {
namespace {

// Loops beyond this number are run as usual, so that recording costs little for a loop whose size always changes.
constexpr std::size_t most_rows = 1024;
// From a thread's share down to a thousandth of it, each a quarter of the one before.
constexpr std::size_t most_blocks = 6;

struct cell {
  std::uint64_t block;
  std::uint64_t calls = 0;
  double least_ns = std::numeric_limits<double>::infinity();
};

/// A loop of one size and its blocks, which calls use in turn, in a new random order each round, because a program's calls may be
/// periodic.
struct row {
  std::string site;
  const void* body_type;
  std::uint64_t n;
  std::uint32_t threads;
  std::vector<cell> cells{};
  std::size_t next = 0;
  double iteration_ns = std::numeric_limits<double>::infinity();  ///< the least mean of a call

  bool is(const row& other) const noexcept {
    return n == other.n && threads == other.threads && body_type == other.body_type && site == other.site;
  }
};

row row_of(const loop_to_record& loop) {
  std::string site =
      loop.name ? loop.name : std::string(loop.here.file) + ":" + std::to_string(loop.here.line);
  row made{std::move(site), loop.name ? nullptr : loop.body_type, loop.n, loop.threads};
  std::uint64_t block = (loop.n - 1) / loop.threads + 1;
  while (made.cells.size() < most_blocks) {
    made.cells.push_back({block});
    if (block == 1) break;
    block = std::max<std::uint64_t>(1, block / 4);
  }
  made.next = made.cells.size();
  return made;
}

std::string quoted(const std::string& text) {
  std::string found = "\"";
  for (const char c : text) found += c == '"' ? "\"\"" : std::string(1, c == '\n' ? ' ' : c);
  return found + '"';
}

class recorder {
 public:
  explicit recorder(const char* file) : file_(std::filesystem::absolute(file)) {
    if (!std::ofstream(file_, std::ios::app))
      throw std::runtime_error("CORESCALE_LOOPS=" + file_.string() +
                               ": cannot be written; name a file in a folder of yours, or unset it");
  }

  std::uint64_t next_block(const loop_to_record& loop) {
    const std::unique_lock mine(in_use_, std::try_to_lock);
    if (!mine) return 0;
    row* const one = find(row_of(loop), true);
    if (!one || one->cells.size() < 2) return 0;
    if (one->next == one->cells.size()) {
      std::shuffle(one->cells.begin(), one->cells.end(), random_);
      one->next = 0;
    }
    return one->cells[one->next++].block;
  }

  void add(const loop_to_record& loop, const loop_statistics& seen) {
    const std::unique_lock mine(in_use_, std::try_to_lock);
    row* const one = mine ? find(row_of(loop), false) : nullptr;
    if (!one) return;
    double busy_ns = 0, iterations = 0;
    for (const loop_share& share : seen.shares)
      busy_ns += share.busy_ns, iterations += static_cast<double>(share.iterations);
    if (iterations > 0) one->iteration_ns = std::min(one->iteration_ns, busy_ns / iterations);
    for (cell& at : one->cells) {
      if (at.block != seen.block) continue;
      ++at.calls;
      at.least_ns = std::min(at.least_ns, seen.elapsed_ns);
    }
  }

  /// Appends to the file in one write, because other processes may append theirs.
  void write() {
    const std::lock_guard mine(in_use_);
    std::ostringstream text;
    text << "# corescale loops 1: " << cpus_in_words() << "\n"
         << "# site,n,threads,iteration_ns,block,calls,least_ns\n";
    std::map<std::string, std::vector<const void*>> types;
    for (const row& one : rows_) {
      auto& seen = types[one.site];
      const auto known = std::ranges::find(seen, one.body_type);
      const auto number = known - seen.begin() + 1;
      if (known == seen.end()) seen.push_back(one.body_type);
      const std::string site = number == 1 ? one.site : one.site + "#" + std::to_string(number);
      for (const cell& at : one.cells)
        if (at.calls > 0)
          text << quoted(site) << ',' << one.n << ',' << one.threads << ',' << one.iteration_ns << ','
               << at.block << ',' << at.calls << ',' << at.least_ns << '\n';
    }
    const std::string all = text.str();
    std::ofstream file;
    file.rdbuf()->pubsetbuf(nullptr, 0);
    file.open(file_, std::ios::app);
    file.write(all.data(), static_cast<std::streamsize>(all.size()));
  }

 private:
  row* find(row&& wanted, bool make) {
    const auto known = std::ranges::find_if(rows_, [&](const row& one) { return one.is(wanted); });
    if (known != rows_.end()) return &*known;
    if (!make || rows_.size() == most_rows) return nullptr;
    return &rows_.emplace_back(std::move(wanted));
  }

  const std::filesystem::path file_;
  std::mutex in_use_;
  std::vector<row> rows_;
  std::minstd_rand random_;
};

/// Never destroyed: loops may run in destructors of static objects. Null until the first loop.
constinit std::atomic<recorder*> made{nullptr};

recorder& made_recorder() {
  if (recorder* const known = made.load(std::memory_order_acquire)) return *known;
  auto mine = std::make_unique<recorder>(recorded_loops);
  recorder* first = nullptr;
  return made.compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel) ? *mine.release()
                                                                                    : *first;
}

const struct at_exit {
  ~at_exit() {
    try {
      if (recorder* const known = made.load(std::memory_order_acquire)) known->write();
    } catch (const std::exception&) {  // too late to report
    }
  }
} writes_at_exit;

const char* named() noexcept {
  const char* const file = std::getenv("CORESCALE_LOOPS");
  return file && *file ? file : nullptr;
}

}  // namespace

const char* const recorded_loops = named();

std::uint64_t block_to_record(const loop_to_record& loop) {
  try {
    return made_recorder().next_block(loop);
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

void record_loop(const loop_to_record& loop, const loop_statistics& seen) noexcept {
  try {
    made_recorder().add(loop, seen);
  } catch (const std::exception&) {  // this call is not recorded
  }
}

}  // namespace corescale::detail
