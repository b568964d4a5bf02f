// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory_resource>

#include "corescale/memory/thread_alloc.hpp"

namespace corescale::inline v0 {

/// A std::pmr::memory_resource over thread_alloc: stateless, so any two are equal and any thread may use any.
template <class Alloc = thread_alloc>
class basic_thread_resource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    std::size_t capacity = 0;
    return Alloc::get_memory(bytes, capacity, alignment);
  }

  void do_deallocate(void* memory, std::size_t, std::size_t) override { Alloc::return_memory(memory); }

  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return dynamic_cast<const basic_thread_resource*>(&other) != nullptr;
  }
};

/// A resource that lives as long as the process, so objects with static lifetime may use it.
template <class Alloc = thread_alloc>
std::pmr::memory_resource* thread_resource() noexcept {
  static std::pmr::memory_resource* const only = [] {
    alignas(basic_thread_resource<Alloc>) static std::byte room[sizeof(basic_thread_resource<Alloc>)];
    return new (room) basic_thread_resource<Alloc>;
  }();
  return only;
}

}  // namespace corescale
