// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "program.hpp"

/// CppAD is in no Debian package: most builds lack it and say how to have it.
TEST(Cppad, ItselfOrHowToHaveIt) {
  for (const std::string derivative : {"cppad", "cppad-unheld"})
    for (const std::string function : {"sine", "chebyshev", "bessel"})
      for (const std::string threads : {"1", "5"}) {
        const Finished run =
            run_program(MULTI_NEWTON,
                        "--repeat-for 0 --terms 5 --zeros 20 --intervals 640 --function " + function +
                            " --derivative " + derivative + " --threads " + threads,
                        "");
        if (lacks(run, "CppAD", "CORESCALE_CPPAD")) return;
        EXPECT_EQ(run.status, 0) << run.output;
        EXPECT_EQ(field(run.output, "zeros"), "20");
        EXPECT_EQ(field(run.output, "all_zeros_found"), "true");
      }
}
