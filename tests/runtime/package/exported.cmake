# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# The installed libraries show our own symbols alone, all of them in the namespace of the binary interface;
# and a program finds them by pkg-config too.
file(GLOB libraries ${PREFIX}/lib/libcorescale_*.so ${PREFIX}/lib/*/libcorescale_*.so ${PREFIX}/lib/libcorescale_*.so.0 ${PREFIX}/lib/*/libcorescale_*.so.0)
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

find_program(pkg_config pkg-config REQUIRED)
file(GLOB folder ${PREFIX}/lib/pkgconfig ${PREFIX}/lib/*/pkgconfig)
execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${pkg_config} --cflags --libs corescale_team
                OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${pkg_config} --variable=libdir corescale_team
                OUTPUT_VARIABLE libdir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${CXX_FLAGS} ${flags} -Wl,-rpath,${libdir}")
execute_process(COMMAND ${CXX} -std=c++20 ${SOURCE} ${flags} -o ${SCRATCH}/by_pkg_config COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/by_pkg_config OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "spin     2 333332833333500000\n")
  message(FATAL_ERROR "the program that pkg-config helped to build printed\n${output}")
endif()
