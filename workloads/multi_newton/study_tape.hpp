// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <corescale/memory/capacity_vector.hpp>
#include <cstdint>
#include <stdexcept>

#include "multi_newton/bounded_newton.hpp"

// A tape as the study had it (Bell and Hepperger 2012, section V). Its vectors grow by being copied into larger memory, and are freed with
// each recording. After a recording the values of all variables are allocated, then their derivatives. A sine also records a hidden cosine.
// Nothing is preallocated, and a sum has one operation for each term. It is here to load an allocator as that program did. Programs use
// corescale/tape.
namespace multi_newton::study {

enum class Code : std::uint8_t {
  independent,
  add,
  add_parameter,
  subtract,
  multiply,
  multiply_parameter,
  sine,
  cosine
};

template <class Alloc>
class Tape;

/// A number that records on its thread's tape what is done with it, if it depends on the independent variable.
template <class Alloc>
class Real {
 public:
  Real(double value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  double value() const { return value_; }
  std::uint32_t index() const { return index_; }

  friend Real operator+(const Real& x, const Real& y) {
    const double value = x.value_ + y.value_;
    if (!x.index_ && !y.index_) return value;
    if (!x.index_) return tape().record(Code::add_parameter, value, y.index_, tape().parameter(x.value_));
    if (!y.index_) return tape().record(Code::add_parameter, value, x.index_, tape().parameter(y.value_));
    return tape().record(Code::add, value, x.index_, y.index_);
  }
  friend Real operator-(const Real& x, const Real& y) {
    if (!y.index_) return x + Real(-y.value_);
    if (!x.index_) return Real(x.value_) + y * Real(-1);
    return tape().record(Code::subtract, x.value_ - y.value_, x.index_, y.index_);
  }
  friend Real operator*(const Real& x, const Real& y) {
    const double value = x.value_ * y.value_;
    if (!x.index_ && !y.index_) return value;
    if (!x.index_)
      return tape().record(Code::multiply_parameter, value, y.index_, tape().parameter(x.value_));
    if (!y.index_)
      return tape().record(Code::multiply_parameter, value, x.index_, tape().parameter(y.value_));
    return tape().record(Code::multiply, value, x.index_, y.index_);
  }
  friend Real operator/(const Real& x, double y) { return x * Real(1 / y); }
  Real& operator+=(const Real& y) { return *this = *this + y; }
  friend Real sin(const Real& x) { return with_hidden(Code::sine, std::sin(hidden(x.value_)), x); }
  friend Real cos(const Real& x) { return with_hidden(Code::cosine, std::cos(hidden(x.value_)), x); }

 private:
  friend Tape<Alloc>;
  Real(double value, std::uint32_t index) : value_(value), index_(index) {}

  static Tape<Alloc>& tape() { return *Tape<Alloc>::current; }
  /// Hides the value from the compiler, so that each recorded term computes its own sine, as in that program, although all terms are equal.
  static double hidden(double value) {
    asm volatile("" : "+x"(value));
    return value;
  }

  static Real with_hidden(Code code, double value, const Real& x) {
    return x.index_ ? tape().record(code, value, x.index_, 0) : Real(value);
  }

  double value_;
  std::uint32_t index_ = 0;  // 0: a parameter
};

/// One recording of a function of one variable, and its derivative by a forward sweep of order one, as in the study's program.
template <class Alloc>
class Tape {
 public:
  Tape() : before_(current) { current = this; }
  ~Tape() { current = before_; }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Real<Alloc> independent(double value) { return record(Code::independent, value, 0, 0); }

  Real<Alloc> record(Code code, double value, std::uint32_t left, std::uint32_t right) {
    codes_.push_back(code);
    arguments_.push_back(left);
    arguments_.push_back(right);
    const std::uint32_t index = variables_;
    variables_ += has_hidden(code) ? 2 : 1;
    return {value, index};
  }

  std::uint32_t parameter(double value) {
    parameters_.push_back(value);
    return static_cast<std::uint32_t>(parameters_.size() - 1);
  }

  /// Computes the values and then the derivatives of all variables at x. Returns those of `result`.
  Point differentiate(double x, const Real<Alloc>& result) const {
    if (result.index() == 0) return {result.value(), 0};
    corescale::capacity_vector<double, Alloc> values(variables_);
    sweep([&](Code code, std::uint32_t to, std::uint32_t left, std::uint32_t right) {
      set_value(values, x, code, to, left, right);
    });
    corescale::capacity_vector<double, Alloc> slopes(variables_);
    sweep([&](Code code, std::uint32_t to, std::uint32_t left, std::uint32_t right) {
      set_slope(slopes, values, code, to, left, right);
    });
    return {values[result.index()], slopes[result.index()]};
  }

  static thread_local constinit Tape* current;

 private:
  using Values = corescale::capacity_vector<double, Alloc>;

  static bool has_hidden(Code code) { return code == Code::sine || code == Code::cosine; }

  template <class Set>
  void sweep(Set&& set) const {
    std::uint32_t to = 1;
    for (std::size_t k = 0; k < codes_.size(); ++k) {
      set(codes_[k], to, arguments_[2 * k], arguments_[2 * k + 1]);
      to += has_hidden(codes_[k]) ? 2 : 1;
    }
  }

  void set_value(Values& v, double x, Code code, std::uint32_t to, std::uint32_t left,
                 std::uint32_t right) const {
    switch (code) {
      case Code::independent:
        v[to] = x;
        break;
      case Code::add:
        v[to] = v[left] + v[right];
        break;
      case Code::add_parameter:
        v[to] = v[left] + parameters_[right];
        break;
      case Code::subtract:
        v[to] = v[left] - v[right];
        break;
      case Code::multiply:
        v[to] = v[left] * v[right];
        break;
      case Code::multiply_parameter:
        v[to] = v[left] * parameters_[right];
        break;
      case Code::sine:
        v[to] = std::sin(v[left]), v[to + 1] = std::cos(v[left]);
        break;
      case Code::cosine:
        v[to] = std::cos(v[left]), v[to + 1] = std::sin(v[left]);
        break;
    }
  }

  void set_slope(Values& d, const Values& v, Code code, std::uint32_t to, std::uint32_t left,
                 std::uint32_t right) const {
    switch (code) {
      case Code::independent:
        d[to] = 1;
        break;
      case Code::add:
        d[to] = d[left] + d[right];
        break;
      case Code::add_parameter:
        d[to] = d[left];
        break;
      case Code::subtract:
        d[to] = d[left] - d[right];
        break;
      case Code::multiply:
        d[to] = d[left] * v[right] + v[left] * d[right];
        break;
      case Code::multiply_parameter:
        d[to] = d[left] * parameters_[right];
        break;
      case Code::sine:
        d[to] = v[to + 1] * d[left], d[to + 1] = -v[to] * d[left];
        break;
      case Code::cosine:
        d[to] = -v[to + 1] * d[left], d[to + 1] = v[to] * d[left];
        break;
    }
  }

  Tape* before_;
  std::uint32_t variables_ = 1;  // place 0 is that of parameters
  corescale::capacity_vector<Code, Alloc> codes_;
  corescale::capacity_vector<std::uint32_t, Alloc> arguments_;
  corescale::capacity_vector<double, Alloc> parameters_;
};

template <class Alloc>
constinit thread_local Tape<Alloc>* Tape<Alloc>::current = nullptr;

}  // namespace multi_newton::study
