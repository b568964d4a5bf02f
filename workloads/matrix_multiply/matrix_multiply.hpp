// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "driver/block_loop.hpp"
#include "driver/error.hpp"
#include "matrix_multiply/packed.hpp"
#include "matrix_multiply/plain.hpp"

#ifdef CORESCALE_HAS_BLAS
#include <cblas.h>
#endif

namespace matrix_multiply {

/// The kernels that this build and this processor have: `plain`, `packed` (the widest), `packed-NAME` for each width, and `blas`.
inline std::vector<std::string> kernel_names() {
  std::vector<std::string> names{"plain", "packed"};
  for (const Kernel& one : kernels())
    if (one.is_present()) names.push_back("packed-" + std::string(one.name));
#ifdef CORESCALE_HAS_BLAS
  names.emplace_back("blas");
#endif
  return names;
}

/// Computes C = A B once, by a loop over `blocks` blocks of rows. `kernel` is one of kernel_names().
class Multiplication {
 public:
  Multiplication(const Product& product, const std::string& kernel, driver::BlockLoop& loop,
                 std::size_t blocks)
      : product_(product), loop_(loop), blocks_(blocks), blas_(kernel == "blas") {
    if (!kernel.starts_with("packed")) return;
    const auto named = [&kernel](const Kernel& one) { return kernel == "packed-" + std::string(one.name); };
    const auto found = std::ranges::find_if(kernels(), named);
    packed_.emplace(product, found == kernels().end() ? widest_kernel() : *found);
  }

  void run() {
    if (packed_) loop_.run(packed_->strips(), [this](std::size_t strip) { packed_->pack_strip(strip); });
    loop_.run(blocks_, [this](std::size_t block) {
      rows(product_.rows * block / blocks_, product_.rows * (block + 1) / blocks_);
    });
  }

 private:
  void rows(std::size_t first, std::size_t last) const {
    if (first == last) return;
    if (packed_) return packed_->multiply(first, last);
    if (blas_) return multiply_blas(first, last);
    multiply_plain(product_, first, last);
  }

  void multiply_blas([[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t last) const {
#ifdef CORESCALE_HAS_BLAS
    const auto n = static_cast<int>(product_.n);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(last - first), n, n, 1.0,
                product_.a + first * product_.n, n, product_.b, n, 0.0, product_.c + first * product_.n, n);
#endif
  }

  Product product_;
  driver::BlockLoop& loop_;
  std::size_t blocks_;
  bool blas_;
  std::optional<Packed> packed_;
};

}  // namespace matrix_multiply
