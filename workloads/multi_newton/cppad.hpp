// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "multi_newton/bounded_newton.hpp"

// The derivative by CppAD itself, the source's own library. Its headers are no part of corescale: a build has them where
// -DCORESCALE_CPPAD=FOLDER names the folder where it is installed.
namespace multi_newton::cppad {

/// CppAD's allocator for a team. There is one object at a time. Only between `begin()` and `end()` does it distinguish the threads.
class Session {
 public:
  /// With `hold`, memory that is returned stays with its thread (CppAD's hold_memory). Throws driver::Error if this build has no CppAD.
  Session(std::size_t threads, bool hold);

  void begin();  ///< the master calls it before the team works
  void end();    ///< the master calls it when the team has worked

  /// Each thread of the team calls it before it differentiates.
  static void enter(std::size_t thread);

 private:
  std::size_t threads_;
};

/// Records f, a function of functions.hpp, at the point, and drops the recording after one forward sweep, as CppAD's own benchmark does.
template <class Function>
Point differentiate(const Function& f, double x);

}  // namespace multi_newton::cppad
