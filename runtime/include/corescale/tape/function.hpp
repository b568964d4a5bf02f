// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "corescale/memory/capacity_vector.hpp"
#include "corescale/tape/detail/forward_sweep.hpp"
#include "corescale/tape/detail/operation_list.hpp"
#include "corescale/tape/detail/reverse_sweep.hpp"
#include "corescale/tape/real.hpp"

namespace corescale::inline v0 {

template <class Base, class Alloc>
class gradient_tape;

/// A recorded function from n variables to m results, which can be evaluated at other points and
/// differentiated there. gradient_tape::finish() makes it; it stands, at first, at the point where it was
/// recorded.
///
/// Memory       24 bytes per operation over double; 8 more after forward(), 8 more after tangent() or
/// reverse(). Throws       tape_misuse where a size does not fit, or for reverse() after a forward() that
/// threw;
///              branch_change from forward() where the recorded program would have taken another branch.
/// Threads      One at a time.
template <class Base = double, class Alloc = thread_alloc>
class function {
 public:
  function() = default;

  std::size_t domain() const noexcept { return inputs_.size(); }
  std::size_t range() const noexcept { return outputs_.size(); }
  /// The independent variables included.
  std::size_t num_operations() const noexcept { return end_ - detail::parameter_slots; }

  /// The results at x, where the function stands from now on. Linear in the operations.
  std::vector<Base> forward(std::span<const Base> x) {
    require_size("forward", "x", x.size(), domain());
    values_.resize(end_);
    for (std::size_t j = 0; j < x.size(); ++j) values_[inputs_[j]] = x[j];
    stands_ = false;
    detail::forward_sweep(operations_, values_.data());
    stands_ = true;
    for (output& one : outputs_)
      if (one.index) one.value = values_[one.index];
    return results([](const output& one) { return one.value; });
  }

  /// The derivatives of the results along the direction dx.
  std::vector<Base> tangent(std::span<const Base> dx) {
    require_stand("tangent");
    require_size("tangent", "dx", dx.size(), domain());
    work_.clear();
    work_.resize(end_);
    for (std::size_t j = 0; j < dx.size(); ++j) work_[inputs_[j]] = dx[j];
    detail::tangent_sweep(operations_, work_.data());
    return results([&](const output& one) { return one.index ? work_[one.index] : Base(0.0); });
  }

  /// The gradient of the sum of the results, each times its weight.
  std::vector<Base> reverse(std::span<const Base> weights) {
    require_stand("reverse");
    require_size("reverse", "weights", weights.size(), range());
    work_.clear();
    work_.resize(end_);
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (outputs_[i].index) work_[outputs_[i].index] += weights[i];
    detail::reverse_sweep(operations_, end_ - 1, work_.data());
    std::vector<Base> gradient;
    gradient.reserve(domain());
    for (const std::uint32_t index : inputs_) gradient.push_back(work_[index]);
    return gradient;
  }

  /// The results at the point where the function stands.
  std::vector<Base> value() const {
    return results([](const output& one) { return one.value; });
  }

 private:
  friend gradient_tape<Base, Alloc>;

  struct output {
    std::uint32_t index;  ///< 0 for a parameter
    Base value;
  };

  function(const capacity_vector<std::uint32_t, Alloc>& inputs, const detail::recorder<Base>& tape,
           std::span<const real<Base>> outputs)
      : inputs_(inputs), end_(tape.index()) {
    outputs_.reserve(outputs.size());
    for (const real<Base>& y : outputs) {
      const std::uint64_t place = detail::operators<Base>::place(y);
      if (place != 0 && detail::recording_of(place) != tape.recording())
        detail::throw_not_open(detail::recording_of(place), tape.recording());
      outputs_.push_back({detail::index_of(place), y.value()});
    }
  }

  template <class Value>
  std::vector<Base> results(Value value) const {
    std::vector<Base> all;
    all.reserve(range());
    for (const output& one : outputs_) all.push_back(value(one));
    return all;
  }

  void require_stand(const char* caller) const {
    if (!stands_) detail::throw_reverse_before_forward(caller);
  }
  static void require_size(const char* caller, const char* what, std::size_t is, std::size_t should_be) {
    if (is != should_be) detail::throw_wrong_size(caller, what, is, should_be);
  }

  detail::operation_list<Base, Alloc> operations_;
  capacity_vector<std::uint32_t, Alloc> inputs_;
  capacity_vector<output, Alloc> outputs_;
  capacity_vector<Base, Alloc> values_;
  capacity_vector<Base, Alloc> work_;
  std::uint32_t end_ = detail::parameter_slots;
  bool stands_ = true;  ///< whether the operations hold the partial derivatives of one point
};

}  // namespace corescale
