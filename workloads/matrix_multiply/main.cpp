// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "driver/arguments.hpp"
#include "driver/block_loop.hpp"
#include "driver/memory.hpp"
#include "driver/ranks.hpp"
#include "driver/repeat.hpp"
#include "driver/result.hpp"
#include "matrix_multiply/freivalds.hpp"
#include "matrix_multiply/matrix_multiply.hpp"

namespace {

struct Request {
  std::size_t size = 1000;
  std::size_t threads = 1;
  std::size_t blocks = 1;
  std::string threading = "spin";
  std::string kernel = "packed";
  std::string shape = "full";
  std::uint64_t seed = 1;
  std::size_t least_milliseconds = 1000;
};

bool parse(int argc, char** argv, Request& request) {
  driver::Arguments arguments("matrix_multiply",
                              "C = A B by blocks of rows, on threads of any system and on MPI's ranks.\n"
                              "The product is repeated for a second and averaged; Freivalds' check follows.");
  arguments.integer<std::size_t>("size", request.size, 1, 100'000, "rows and columns");
  arguments.integer<std::size_t>("threads", request.threads, 1, 4096, "of each rank");
  arguments.integer<std::size_t>("blocks", request.blocks, 1, 1'000'000, "blocks of rows for each thread");
  arguments.choice("threading", request.threading, driver::loop_systems(), "whose loop runs the blocks");
  arguments.choice("kernel", request.kernel, matrix_multiply::kernel_names(),
                   "three loops; packed panels in vector registers; the system's BLAS on one thread a block");
  arguments.choice("shape", request.shape, {"full", "triangle"},
                   "of A: of a lower triangle, a later row is more work to the plain kernel");
  arguments.integer<std::uint64_t>("seed", request.seed, 0, ~std::uint64_t{0}, "of the elements of A and B");
  arguments.integer<std::size_t>("repeat-for", request.least_milliseconds, 0, 3'600'000,
                                 "milliseconds for which the product is repeated");
  return arguments.parse(argc, argv);
}

void fill(matrix_multiply::Buffer& rows, std::uint64_t seed, std::uint64_t matrix, std::size_t first) {
  for (std::size_t k = 0; double& one : rows.span())
    one = matrix_multiply::element(seed, matrix, first + k++);
}

/// A, B and C, and a second B if it is packed.
double bytes_of(const Request& request, int ranks) {
  const auto n = static_cast<double>(request.size);
  return 8 * n * n * (2 + ranks * (request.kernel.starts_with("packed") ? 2 : 1));
}

/// Makes A, whose rows from `first` on these are, a lower triangle.
void clear_above_diagonal(matrix_multiply::Buffer& a, std::size_t n, std::size_t first) {
  for (std::size_t i = 0; i < a.span().size() / n; ++i)
    std::ranges::fill(a.span().subspan(i * n, n).subspan(std::min(n, first + i + 1)), 0.0);
}

/// Additions and multiplications, except those with zeros that A has by its shape.
double operations_of(const Request& request) {
  const auto n = static_cast<double>(request.size);
  return request.shape == "full" ? 2 * n * n * n : n * n * (n + 1);
}

int multiply(const Request& request) {
  const driver::Ranks ranks;
  const std::size_t n = request.size;
  const std::size_t first = ranks.first_of(n, ranks.rank()),
                    rows = ranks.first_of(n, ranks.rank() + 1) - first;
  if (!ranks.agreed([&] {
        driver::must_have_memory(bytes_of(request, ranks.size()),
                                 "matrices of " + std::to_string(n) + " rows", "give a smaller --size");
      }))
    return 2;
  matrix_multiply::Buffer a(rows * n), b(n * n), c(rows * n);
  fill(a, request.seed, 1, first * n);
  if (request.shape == "triangle") clear_above_diagonal(a, n, first);
  fill(b, request.seed, 2, 0);

  const auto loop = driver::make_loop(request.threading, request.threads);
  const matrix_multiply::Product product{n, rows, a.data(), b.data(), c.data()};
  matrix_multiply::Multiplication multiplication(product, request.kernel, *loop,
                                                 request.threads * request.blocks);
  multiplication.run();  // touches C and the packed panels for the first time
  ranks.barrier();
  const driver::Repeated timed = driver::repeat(
      [&] {
        corescale_region_begin("multiply");
        multiplication.run();
        corescale_region_end("multiply");
      },
      static_cast<double>(request.least_milliseconds) / 1000,
      [&](double seconds) { return ranks.largest(seconds); });

  const bool is_product = ranks.largest(matrix_multiply::is_product(product, request.seed) ? 0 : 1) == 0;
  const double operations = operations_of(request);
  if (ranks.rank() != 0) return is_product ? 0 : 1;
  driver::Result result;
  result.text("kernel", request.kernel);
  result.text("shape", request.shape);
  result.text("threading", request.threading);
  result.metric("size", static_cast<double>(n));
  result.metric("threads", static_cast<double>(request.threads));
  result.metric("ranks", ranks.size());
  result.metric("seconds", timed.seconds);
  result.metric("repeats", static_cast<double>(timed.repeats));
  result.metric("gflops", operations / timed.seconds * 1e-9);
  result.check("is_product", is_product);
  corescale_work(operations * static_cast<double>(timed.repeats));
  return result.print();
}

}  // namespace

int main(int argc, char** argv) {
  return driver::run("matrix_multiply", [&] {
    Request request;
    return parse(argc, argv, request) ? multiply(request) : 0;
  });
}
