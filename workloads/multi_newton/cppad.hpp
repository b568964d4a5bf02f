// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "multi_newton/bounded_newton.hpp"

// The derivative by CppAD itself, the source's own library. Its headers are no part of corescale: a build has them where
// -DCORESCALE_CPPAD=FOLDER names the folder where it is installed.
namespace multi_newton::cppad {

/// CppAD's allocator for a team; an object at a time. It does not tell the threads apart outside `begin()` and `end()`.
class Session {
 public:
  /// `hold`: memory that is returned stays with its thread (CppAD's hold_memory). Throws driver::Error where this build has no CppAD.
  Session(std::size_t threads, bool hold);

  void begin();  ///< by the master, before the team works
  void end();    ///< by the master, after it

  /// By each thread of the team, before it differentiates.
  static void enter(std::size_t thread);

 private:
  std::size_t threads_;
};

/// A new recording at the point, dropped after one forward sweep, as in CppAD's own benchmark. For the functions of functions.hpp.
template <class Function>
Point differentiate(const Function& f, double x);

}  // namespace multi_newton::cppad
