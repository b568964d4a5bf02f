// SPDX-License-Identifier: Apache-2.0
// Preloaded by digital_evolution_program_test.cpp: an allocator whose aligned operator new never has memory.
#include <new>

void* operator new(std::size_t, std::align_val_t) { throw std::bad_alloc{}; }
void* operator new[](std::size_t, std::align_val_t) { throw std::bad_alloc{}; }
