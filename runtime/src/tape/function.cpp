// SPDX-License-Identifier: Apache-2.0
#include "corescale/tape/function.hpp"

#include "corescale/tape/gradient_tape.hpp"

namespace corescale::inline v0 {

template class function<double, thread_alloc>;

}  // namespace corescale
