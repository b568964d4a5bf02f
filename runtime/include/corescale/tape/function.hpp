// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "corescale/memory/capacity_vector.hpp"
#include "corescale/tape/detail/print.hpp"
#include "corescale/tape/detail/series_sweep.hpp"
#include "corescale/tape/detail/statement_list.hpp"
#include "corescale/tape/real.hpp"
#include "corescale/tape/series.hpp"

namespace corescale::inline v0 {

template <class Base, class Alloc>
class gradient_tape;

/// A recorded function y = f(x) from n variables to m results. It can be evaluated at other points and differentiated there, to any order.
/// gradient_tape::finish() makes it. Its current point is the one where it was recorded, and after forward(x) it is x.
///
/// Memory       The recording's (gradient_tape.hpp). Each statement has 8 bytes more after forward(), and 8 more after tangent() or reverse().
///              While hessian_vector() runs it has 32 bytes more; while taylor() or reverse_taylor() runs, 2 (order + 1) numbers.
/// Complexity   Each sweep is linear in the operations; over series of order d, an operation takes O(d^2).
/// Throws       tape_misuse if a size does not fit, or if no forward sweep has succeeded before a reverse sweep. branch_change if the
///              recorded program would have taken another branch.
/// Threads      One at a time. Each thread may have a copy, which is not recorded anew.
template <class Base = double, class Alloc = thread_alloc>
class function {
 public:
  using taylor_series = series<Base>;

  function() = default;

  std::size_t domain() const noexcept { return inputs_.size(); }
  std::size_t range() const noexcept { return outputs_.size(); }
  std::size_t num_variables() const noexcept { return end_ - 1; }

  /// Writes its statements, one a line, from the first to the last. v1, v2, ... are the variables.
  friend std::ostream& operator<<(std::ostream& out, const function& f) {
    detail::for_each_run(f.statements_, [&](const detail::kind<Base>& of, const std::byte* block,
                                            std::size_t i, std::size_t count) {
      for (; count > 0; --count, ++i, block -= of.bytes) detail::print_statement(out, of, block, i);
    });
    return out;
  }

  /// y at the current point.
  std::vector<Base> value() const {
    return results([](const output& one) { return one.value; });
  }

  /// y at x, which becomes the current point.
  std::vector<Base> forward(std::span<const Base> x) {
    require_size("forward", "x", x.size(), domain());
    values_.resize(end_);
    for (std::size_t j = 0; j < x.size(); ++j) values_[inputs_[j]] = x[j];
    stands_ = false;
    detail::forward_sweep(statements_, values_.data());
    stands_ = true;
    for (output& one : outputs_)
      if (one.index) one.value = values_[one.index];
    return value();
  }

  /// The derivative of y along the direction dx.
  std::vector<Base> tangent(std::span<const Base> dx) {
    require_stand("tangent");
    require_size("tangent", "dx", dx.size(), domain());
    clear_work();
    for (std::size_t j = 0; j < dx.size(); ++j) work_[inputs_[j]] = dx[j];
    detail::tangent_sweep(statements_, work_.data());
    return results([&](const output& one) { return one.index ? work_[one.index] : Base(0.0); });
  }

  /// The gradient of the sum of weights[i] y[i].
  std::vector<Base> reverse(std::span<const Base> weights) {
    require_stand("reverse");
    require_size("reverse", "weights", weights.size(), range());
    clear_work();
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (outputs_[i].index) work_[outputs_[i].index] += weights[i];
    detail::reverse_sweep(statements_, end_ - 1, work_.data());
    return inputs_of(work_);
  }

  /// dy[i]/dx[j] at x, row after row: element i n + j. min(m, n) sweeps.
  std::vector<Base> jacobian(std::span<const Base> x) {
    forward(x);
    const std::size_t n = domain(), m = range();
    std::vector<Base> all(m * n);
    std::vector<Base> unit(std::min(m, n), Base(0.0));
    for (std::size_t k = 0; k < unit.size(); ++k) {
      unit[k] = Base(1.0);
      const std::vector<Base> line = m <= n ? reverse(unit) : tangent(unit);
      for (std::size_t l = 0; l < line.size(); ++l) all[m <= n ? k * n + l : l * n + k] = line[l];
      unit[k] = Base(0.0);
    }
    return all;
  }

  /// H v at x, where H is the Hessian of the sum of weights[i] y[i]. Keeps the current point.
  std::vector<Base> hessian_vector(std::span<const Base> x, std::span<const Base> v,
                                   std::span<const Base> weights) {
    using line = detail::line<Base>;
    require_size("hessian_vector", "x", x.size(), domain());
    require_size("hessian_vector", "v", v.size(), domain());
    require_size("hessian_vector", "weights", weights.size(), range());
    capacity_vector<line, Alloc> values(end_), adjoints(end_);
    for (std::size_t j = 0; j < x.size(); ++j) {
      values[inputs_[j]] = x[j];
      values[inputs_[j]][1] = v[j];
    }
    detail::forward_sweep_over(statements_, values.data());
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (outputs_[i].index) adjoints[outputs_[i].index] += line(weights[i]);
    detail::reverse_sweep_over(statements_, values.data(), adjoints.data());
    std::vector<Base> product;
    product.reserve(domain());
    for (std::size_t j = 0; j < domain(); ++j) product.push_back(adjoints[inputs_[j]][1]);
    return product;
  }

  /// The Hessian of the sum of weights[i] y[i] at x, row after row. n Hessian-vector products.
  std::vector<Base> hessian(std::span<const Base> x, std::span<const Base> weights) {
    const std::size_t n = domain();
    std::vector<Base> all, unit(n, Base(0.0));
    all.reserve(n * n);
    for (std::size_t j = 0; j < n; ++j) {
      unit[j] = Base(1.0);
      const std::vector<Base> row = hessian_vector(x, unit, weights);
      all.insert(all.end(), row.begin(), row.end());
      unit[j] = Base(0.0);
    }
    return all;
  }

  /// The Taylor series of y(t) = f(x(t)), to the order of the longest x[j]. Keeps the current point.
  std::vector<taylor_series> taylor(std::span<const taylor_series> x) {
    require_size("taylor", "x", x.size(), domain());
    series_.clear();
    series_.resize(end_);
    order_ = 0;
    for (const taylor_series& one : x) order_ = std::max(order_, one.size() - 1);
    for (std::size_t j = 0; j < x.size(); ++j) series_[inputs_[j]] = of_order(x[j], false);
    has_series_ = false;
    detail::forward_sweep_over(statements_, series_.data());
    has_series_ = true;
    std::vector<taylor_series> y;
    y.reserve(range());
    for (const output& one : outputs_)
      y.push_back(of_order(one.index ? series_[one.index] : taylor_series(one.value), false));
    return y;
  }

  /// Differentiates the sum of all weights[i][k] y[i][k], after taylor(x). In the result g, g[j][k] is the derivative with respect to x[j][k].
  std::vector<taylor_series> reverse_taylor(std::span<const taylor_series> weights) {
    if (!has_series_) detail::throw_reverse_before_forward("reverse_taylor", "taylor");
    require_size("reverse_taylor", "weights", weights.size(), range());
    capacity_vector<taylor_series> adjoints(end_);
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (outputs_[i].index) adjoints[outputs_[i].index] += of_order(weights[i], true);
    detail::reverse_sweep_over(statements_, series_.data(), adjoints.data());
    std::vector<taylor_series> all;
    all.reserve(domain());
    for (std::size_t j = 0; j < domain(); ++j) all.push_back(of_order(adjoints[inputs_[j]], true));
    return all;
  }

 private:
  friend gradient_tape<Base, Alloc>;

  struct output {
    std::uint32_t index;  ///< 0 for a parameter
    Base value;
  };

  function(const detail::input_list<Alloc>& inputs, const detail::recorder<Base>& tape,
           std::span<const real<Base>> outputs)
      : inputs_(inputs), end_(tape.index) {
    outputs_.reserve(outputs.size());
    for (const real<Base>& y : outputs) {
      const detail::place of_y = detail::inside::place_of(y);
      if (y.is_variable() && of_y.recording != tape.recording())
        detail::throw_not_open(of_y.recording, tape.recording());
      outputs_.push_back({of_y.index, y.value()});
    }
  }

  /// The series to order_. If `reversed`, its coefficients are in reverse: an adjoint's k-th coefficient belongs to order_ - k.
  taylor_series of_order(const taylor_series& x, bool reversed) const {
    return taylor_series::generate(
        order_ + 1, [&](std::size_t k, const taylor_series&) { return x.at(reversed ? order_ - k : k); });
  }

  template <class Value>
  std::vector<Base> results(Value value_of) const {
    std::vector<Base> all;
    all.reserve(range());
    for (const output& one : outputs_) all.push_back(value_of(one));
    return all;
  }

  std::vector<Base> inputs_of(const capacity_vector<Base, Alloc>& of_variables) const {
    std::vector<Base> all;
    all.reserve(domain());
    for (std::size_t j = 0; j < domain(); ++j) all.push_back(of_variables[inputs_[j]]);
    return all;
  }

  void clear_work() {
    work_.clear();
    work_.resize(end_);
  }

  void require_stand(const char* caller) const {
    if (!stands_) detail::throw_reverse_before_forward(caller, "forward");
  }
  static void require_size(const char* caller, const char* what, std::size_t is, std::size_t should_be) {
    if (is != should_be) detail::throw_wrong_size(caller, what, is, should_be);
  }

  detail::statement_list<Base, Alloc> statements_;
  detail::input_list<Alloc> inputs_;
  capacity_vector<output, Alloc> outputs_;
  capacity_vector<Base, Alloc> values_;
  capacity_vector<Base, Alloc> work_;
  capacity_vector<taylor_series, Alloc> series_;
  std::uint32_t end_ = 1;
  std::size_t order_ = 0;
  bool stands_ = true;  ///< whether all stored numbers of the statements belong to one point
  bool has_series_ = false;
};

// Its sweeps are many instantiations. The library has them for the usual type.
extern template class function<double, thread_alloc>;

}  // namespace corescale::inline v0
