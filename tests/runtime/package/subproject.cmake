# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
set(folder ${SCRATCH}/subproject)
configure_and_build(${folder} -DCORESCALE_SOURCE=${RUNTIME} -DBUILD_SHARED_LIBS=OFF
                    -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON
                    -DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON -DCORESCALE_HWLOC=OFF)
run_example(${folder} output)
expect("${output}" "spin +2 333332833333500000\n")
expect("${output}" "1.000000 1.414214 1.732051 2.000000 sequential again\n")
expect("${output}" "openmp +absent: needs libgomp1")
expect("${output}" "boost +absent: needs libboost-thread-dev")
expect("${output}" "tbb +absent: needs libtbb-dev")

# The host's own libraries stay what they are: nothing that CMake reads for them is set by the subproject.
file(WRITE ${folder}_host/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(host LANGUAGES C CXX)
add_subdirectory(${RUNTIME} corescale)
get_property(names DIRECTORY PROPERTY CACHE_VARIABLES)
foreach(name IN ITEMS BUILD_SHARED_LIBS CMAKE_POSITION_INDEPENDENT_CODE CMAKE_CXX_STANDARD)
  if(name IN_LIST names)
    message(FATAL_ERROR \"the subproject set a variable of the host\")
  endif()
endforeach()
")
step(${CMAKE_COMMAND} -S ${folder}_host -B ${folder}_host/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX})
