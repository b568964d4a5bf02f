// SPDX-License-Identifier: Apache-2.0
// A typical program: one OpenMP loop over rows that differ in cost, with a chunk size that was chosen by hand.
#include <complex>
#include <cstdio>
#include <numeric>
#include <vector>

int steps_to_escape(std::complex<double> c) {
  std::complex<double> z = 0;
  int steps = 0;
  while (steps < 500 && std::norm(z) < 4) z = z * z + c, ++steps;
  return steps;
}

long row_sum(int row, int size) {
  long sum = 0;
  for (int column = 0; column < size; ++column)
    sum += steps_to_escape({3.0 * column / size - 2, 2.0 * row / size - 1});
  return sum;
}

int main() {
  const int size = 300;
  std::vector<long> rows(size);
#pragma omp parallel for schedule(dynamic, 4)
  for (int row = 0; row < size; ++row) rows[row] = row_sum(row, size);
  std::printf("%ld\n", std::accumulate(rows.begin(), rows.end(), 0L));
}
