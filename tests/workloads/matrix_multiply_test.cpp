// SPDX-License-Identifier: Apache-2.0
#include "matrix_multiply/matrix_multiply.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "build_kind.hpp"
#include "matrix_multiply/freivalds.hpp"
#include "program.hpp"

namespace {

using matrix_multiply::Buffer;

Buffer random_matrix(std::size_t size, std::uint64_t matrix) {
  Buffer made(size);
  for (std::size_t k = 0; double& one : made.span()) one = matrix_multiply::element(7, matrix, k++);
  return made;
}

/// The largest difference of an element from its definition in long double.
double worst(const matrix_multiply::Product& product) {
  double found = 0;
  for (std::size_t i = 0; i < product.rows; ++i)
    for (std::size_t j = 0; j < product.n; ++j) {
      long double sum = 0;
      for (std::size_t k = 0; k < product.n; ++k)
        sum += static_cast<long double>(product.a[i * product.n + k]) * product.b[k * product.n + j];
      found = std::max(found, std::abs(static_cast<double>(sum - product.c[i * product.n + j])));
    }
  return found;
}

class EveryKernel : public testing::TestWithParam<std::string> {};

TEST_P(EveryKernel, IsTheProductAtEverySizeAndSplit) {
  for (const std::size_t n : {1, 2, 3, 4, 7, 12, 23, 24, 25, 49, 121, 257})
    for (const std::size_t threads : {1, 3}) {
      const std::size_t rows = n > 2 ? n - 2 : n;
      const Buffer a = random_matrix(rows * n, 1), b = random_matrix(n * n, 2);
      Buffer c(rows * n);
      std::ranges::fill(c.span(), NAN);
      const matrix_multiply::Product product{n, rows, a.data(), b.data(), c.data()};
      const auto loop = driver::make_loop("pthread", threads);
      matrix_multiply::Multiplication multiplication(product, GetParam(), *loop, 2 * threads);
      multiplication.run();
      multiplication.run();  // a second run gives the same, not twice as much
      EXPECT_LT(worst(product), 1e-15 * static_cast<double>(n) + 1e-15) << GetParam() << ' ' << n;
      EXPECT_TRUE(matrix_multiply::is_product(product, 1));
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel, testing::ValuesIn(matrix_multiply::kernel_names()),
                         [](const auto& kernel) {
                           std::string name = kernel.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Packed, VectorsUseFusedMultiplyAdds) {
  // -1 + (1 + 2^-27)^2: a product that is rounded by itself loses its last bit.
  const double one = 1 + 0x1p-27;
  for (const matrix_multiply::Kernel& kernel : matrix_multiply::kernels()) {
    if (!kernel.is_present() || kernel.name == "plain") continue;
    Buffer a(2 * kernel.rows), b(2 * kernel.columns), c(kernel.rows * kernel.columns);
    std::ranges::fill(a.span(), one);
    std::ranges::fill(b.span(), one);
    std::fill_n(a.data(), kernel.rows, -1.0);
    std::fill_n(b.data(), kernel.columns, 1.0);
    std::ranges::fill(c.span(), 0.0);
    kernel.run(2, a.data(), b.data(), c.data(), kernel.columns);
    EXPECT_EQ(c.data()[0], 0x1p-26 + 0x1p-54) << kernel.name;
  }
}

TEST(Freivalds, SeesOneWrongElement) {
  const std::size_t n = 50;
  const Buffer a = random_matrix(n * n, 1), b = random_matrix(n * n, 2);
  Buffer c(n * n);
  const matrix_multiply::Product product{n, n, a.data(), b.data(), c.data()};
  matrix_multiply::multiply_plain(product, 0, n);
  ASSERT_TRUE(matrix_multiply::is_product(product, 3));
  for (const double wrong : {1e-9, 1e3, std::nan("")}) {
    const double right = std::exchange(c.data()[n * 17 + 5], c.data()[n * 17 + 5] + wrong);
    EXPECT_FALSE(matrix_multiply::is_product(product, 3)) << wrong;
    c.data()[n * 17 + 5] = right;
  }
}

TEST(MatrixMultiplyProgram, EverySystemAndKernel) {
  for (const std::string& system : driver::loop_systems()) {
    if (tsan && (system == "openmp" || system == "tbb")) continue;
    const Finished run = run_program(
        MATRIX_MULTIPLY,
        "--size 100 --repeat-for 0 --threading " + system + " --threads " + (system == "serial" ? "1" : "2"),
        "");
    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_EQ(field(run.output, "is_product"), "true");
    EXPECT_EQ(field(run.output, "repeats"), "1");
    EXPECT_GT(std::stod(field(run.output, "gflops")), 0);
  }
}

TEST(MatrixMultiplyProgram, OfATriangleIsAProductOfHalfTheWork) {
  const std::string options = "--size 300 --repeat-for 50 --kernel plain --blocks 4 --shape ";
  const Finished full = run_program(MATRIX_MULTIPLY, options + "full", ""),
                 triangle = run_program(MATRIX_MULTIPLY, options + "triangle", "");
  EXPECT_EQ(field(full.output, "is_product"), "true");
  EXPECT_EQ(field(triangle.output, "is_product"), "true");
  const auto operations = [](const Finished& run) {
    return std::stod(field(run.output, "gflops")) * std::stod(field(run.output, "seconds")) * 1e9;
  };
  EXPECT_NEAR(operations(full), 2.0 * 300 * 300 * 300, 1e3);
  EXPECT_NEAR(operations(triangle), 300.0 * 300 * 301, 1e3);
}

TEST(MatrixMultiplyProgram, RanksShareTheRows) {
  if (sanitized) GTEST_SKIP() << "Open MPI leaks by itself";
  if (std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "mpirun is not installed";
  for (const std::string ranks : {"1", "2", "3"}) {
    const Finished run = run_program(MATRIX_MULTIPLY, "--size 101 --repeat-for 20 --threads 2",
                                     "OMPI_ALLOW_RUN_AS_ROOT=1 "
                                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n " +
                                         ranks);
    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_EQ(field(run.output, "ranks"), ranks);
    EXPECT_EQ(field(run.output, "is_product"), "true");
  }
}

TEST(MatrixMultiplyProgram, BadInputIsOneLineAndStatusTwo) {
  for (const auto& [arguments, message] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--size 0", "matrix_multiply: --size '0' cannot be used; give a whole number from 1 to 100000\n"},
           {"--threading serial --threads 2", "threading: serial cannot hold 2 threads; ask for fewer\n"},
           {"--kernels plain", "matrix_multiply: unknown option '--kernels'; did you mean --kernel?\n"}}) {
    const Finished run = run_program(MATRIX_MULTIPLY, arguments, "");
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.output, message);
  }
  const Finished large =
      run_program(MATRIX_MULTIPLY, "--size 100000 --repeat-for 0", "", "ulimit -v 4000000;");
  if (!sanitized) {
    EXPECT_EQ(large.status, 2);
    EXPECT_TRUE(large.output.starts_with("memory: matrices of 100000 rows need 320 GB, and "))
        << large.output;
    EXPECT_TRUE(large.output.ends_with(" are free; give a smaller --size\n")) << large.output;
  }
}

}  // namespace
