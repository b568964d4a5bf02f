// SPDX-License-Identifier: Apache-2.0
// A set of CPUs as the scheduler's system calls take it, for machines beyond the 1024 CPUs of cpu_set_t too.
#pragma once

#include <sched.h>

#include <algorithm>
#include <climits>
#include <vector>

namespace corescale::probe {

class cpu_mask {
 public:
  /// Room for CPU numbers below `limit`, none of them in the set.
  explicit cpu_mask(std::size_t limit) : words_((limit + bits - 1) / bits) {}
  /// Exactly these CPUs.
  explicit cpu_mask(const std::vector<int>& cpus)
      : cpu_mask(cpus.empty() ? 1
                              : static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1) {
    for (const int cpu : cpus) words_[static_cast<std::size_t>(cpu) / bits] |= bit(cpu);
  }
  std::vector<int> cpus() const {
    std::vector<int> found;
    for (int cpu = 0; cpu < static_cast<int>(words_.size() * bits); ++cpu)
      if (words_[static_cast<std::size_t>(cpu) / bits] & bit(cpu)) found.push_back(cpu);
    return found;
  }
  std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }
  /// The kernel's masks are arrays of unsigned long, whatever their length.
  cpu_set_t* data() { return reinterpret_cast<cpu_set_t*>(words_.data()); }

 private:
  static constexpr std::size_t bits = CHAR_BIT * sizeof(unsigned long);
  static unsigned long bit(int cpu) { return 1UL << (static_cast<std::size_t>(cpu) % bits); }
  std::vector<unsigned long> words_;
};

}  // namespace corescale::probe
