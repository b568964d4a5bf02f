// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

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
        if (run.status == 2) {
          EXPECT_NE(run.output.find("built without CppAD; configure with -DCORESCALE_CPPAD="),
                    std::string::npos)
              << run.output;
          EXPECT_EQ(std::ranges::count(run.output, '\n'), 1) << run.output;
          return;
        }
        EXPECT_EQ(run.status, 0) << run.output;
        EXPECT_EQ(field(run.output, "zeros"), "20");
        EXPECT_EQ(field(run.output, "all_zeros_found"), "true");
      }
}
