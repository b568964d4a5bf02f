// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "driver/heap.hpp"
#include "driver/owned_heap.hpp"

namespace digital_evolution {

using driver::Account;
using driver::Allocator;
using driver::OwnedHeap;
using driver::PlainHeap;
using driver::SampledHeap;

template <class T, class Heap>
using Vector = std::vector<T, Allocator<T, Heap>>;

template <class Heap>
using String = std::basic_string<char, std::char_traits<char>, Allocator<char, Heap>>;

/// It is not noexcept, so that libstdc++ keeps the hash with each text, as it does for std::string.
struct HashText {
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

template <class Heap>
using Strings =
    std::unordered_set<String<Heap>, HashText, std::equal_to<String<Heap>>, Allocator<String<Heap>, Heap>>;

/// Number -> value; absent numbers are 0.
template <class Heap>
using Registers = std::unordered_map<int, double, std::hash<int>, std::equal_to<int>,
                                     Allocator<std::pair<const int, double>, Heap>>;

}  // namespace digital_evolution
