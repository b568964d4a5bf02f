# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# The installed libraries show our own symbols alone, all of them in the namespace of the binary interface;
# and a program finds them by pkg-config too.
file(GLOB libraries ${PREFIX}/lib/libcorescale_*.so ${PREFIX}/lib/*/libcorescale_*.so ${PREFIX}/lib/libcorescale_*.so.0 ${PREFIX}/lib/*/libcorescale_*.so.0)
list(FILTER libraries EXCLUDE REGEX "libcorescale_malloc[.]")  # which has no names of ours: see below
list(LENGTH libraries count)
if(count LESS 4)
  message(FATAL_ERROR "found ${count} libraries below ${PREFIX}: ${libraries}")
endif()
foreach(library IN LISTS libraries)
  execute_process(COMMAND ${NM} -D --defined-only ${library} OUTPUT_VARIABLE symbols RESULT_VARIABLE result)
  string(REGEX MATCHALL "[^ \n]+\n" names "${symbols}")
  list(LENGTH names exported)
  if(NOT result EQUAL 0 OR exported EQUAL 0)
    message(SEND_ERROR "${library}: no symbol is exported")
  endif()
  list(FILTER names EXCLUDE REGEX "^_Z[A-Z]*N[K]?9corescale2v0|^_ZT[A-Z]N9corescale2v0|^corescale_")
  if(names)
    message(SEND_ERROR "${library} exports what is not ours, or not versioned: ${names}")
  endif()
endforeach()

# malloc() shows what it replaces, and nothing else.
set(replaced malloc free cfree free_sized free_aligned_sized calloc realloc reallocarray aligned_alloc memalign posix_memalign valloc pvalloc
    malloc_usable_size malloc_trim malloc_stats mallinfo mallinfo2 __register_atfork __libc_malloc __libc_free __libc_calloc __libc_realloc
    __libc_memalign __posix_memalign __libc_valloc __libc_pvalloc)
foreach(array IN ITEMS w a)  # C++'s own: every operator new, one object or an array, aligned or not, throwing or not
  list(APPEND replaced _Zn${array}m _Zn${array}mRKSt9nothrow_t _Zn${array}mSt11align_val_t _Zn${array}mSt11align_val_tRKSt9nothrow_t)
endforeach()
foreach(array IN ITEMS l a)
  list(APPEND replaced _Zd${array}Pv _Zd${array}Pvm _Zd${array}PvRKSt9nothrow_t _Zd${array}PvSt11align_val_t
       _Zd${array}PvmSt11align_val_t _Zd${array}PvSt11align_val_tRKSt9nothrow_t)
endforeach()
list(SORT replaced)
file(GLOB library ${PREFIX}/lib/libcorescale_malloc.so ${PREFIX}/lib/*/libcorescale_malloc.so)
execute_process(COMMAND ${NM} -D --defined-only ${library} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" names "${symbols}")
list(TRANSFORM names STRIP)
list(SORT names)
if(NOT names STREQUAL replaced)
  message(SEND_ERROR "${library} exports ${names}, and not ${replaced}")
endif()
execute_process(COMMAND ${NM} -D --undefined-only ${library} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
if(symbols MATCHES "[^ ]+@(GLIBCXX|CXXABI)[^\n]*")
  message(SEND_ERROR "${library} needs the C++ library, which each C program would load: ${CMAKE_MATCH_0}")
endif()

# Programs of the README by the components that they include; each component is asked for once. installed.cmake runs the others.
find_program(pkg_config pkg-config REQUIRED)
file(GLOB folder ${PREFIX}/lib/pkgconfig ${PREFIX}/lib/*/pkgconfig)
function(by_pkg_config COMPONENTS SOURCE PATTERN)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${pkg_config} --cflags --libs ${COMPONENTS}
                  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${pkg_config} --variable=libdir corescale_team
                  OUTPUT_VARIABLE libdir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${CXX_FLAGS} ${flags} -Wl,-rpath,${libdir}")
  execute_process(COMMAND ${CXX} -std=c++20 ${SOURCE} ${flags} -o ${SCRATCH}/by_pkg_config COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${SCRATCH}/by_pkg_config OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output MATCHES "${PATTERN}")
    message(SEND_ERROR "${SOURCE}, built by pkg-config with ${COMPONENTS}, printed\n${output}")
  endif()
endfunction()
set(examples ${RUNTIME}/examples)
by_pkg_config("corescale_team;corescale_memory" ${examples}/package/memory.cpp "all returned: yes\n")
by_pkg_config(corescale_tape ${examples}/package/newton.cpp "at 2 is 0.077004\n")
by_pkg_config(corescale_parallel_for ${examples}/drop_in/after.cpp "^[0-9]+\n$")
# It names no malloc(); Debian's gcc drops libraries of which a program names nothing.
file(WRITE ${SCRATCH}/names_no_malloc.cpp [[
#include <cstdio>
#include <cstring>
int main() {
  char line[4096];
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  while (std::fgets(line, sizeof line, maps))
    if (std::strstr(line, "libcorescale_malloc")) return std::puts("loaded") == EOF;
}
]])
by_pkg_config(corescale_malloc ${SCRATCH}/names_no_malloc.cpp "^loaded\n$")
