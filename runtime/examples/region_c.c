/* SPDX-License-Identifier: Apache-2.0 */
#include <corescale/region.h>
#include <math.h>
#include <stdio.h>

static double integrate(int steps) { /* of 4 / (1 + x^2) over [0, 1] */
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    double x = (i + 0.5) / steps;
    sum += 4 / (1 + x * x);
  }
  return sum / steps;
}

int main(void) {
  const int steps = 5000000;
  corescale_region_begin("integrate");
  double pi = integrate(steps);
  corescale_region_end("integrate");

  corescale_metric("error", fabs(pi - acos(-1.0)));
  corescale_check("close", fabs(pi - acos(-1.0)) < 1e-10);
  corescale_work(steps);
  printf("pi is about %.6f\n", pi);
  return 0;
}
