// SPDX-License-Identifier: Apache-2.0
// A program that is linked with another allocator, of which every block is to come from the preloaded one: what one operator took, any other
// may get back.
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {

template <class T>
T* opaque(T* pointer) {
  __asm__ volatile("" : "+r"(pointer));
  return pointer;
}

struct alignas(64) Line {
  char byte[64];
};

}  // namespace

int main() {
  for (int round = 0; round < 1000; ++round) {
    delete opaque(new std::string(static_cast<std::size_t>(round), 'x'));  // sized
    delete[] opaque(new int[100]);
    ::operator delete(opaque(::operator new(100, std::nothrow)));
    ::operator delete[](opaque(::operator new[](100, std::nothrow)));
    delete opaque(new Line);
    delete[] opaque(new Line[3]);
    ::operator delete(opaque(::operator new(100, std::align_val_t(64), std::nothrow)), std::align_val_t(64));
    std::vector<std::shared_ptr<int>> kept(10, std::make_shared<int>(round));
  }
  std::puts("fine");
}
