# SPDX-License-Identifier: Apache-2.0
# The OpenMP program and the same with corescale::parallel_for, outside the tree, against the installed package.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
set(folder ${SCRATCH}/drop_in)
step(${CMAKE_COMMAND} -S ${RUNTIME}/examples/drop_in -B ${folder} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
     -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}" -DCMAKE_PREFIX_PATH=${SCRATCH}/installed/prefix)
step(${CMAKE_COMMAND} --build ${folder})
foreach(program IN ITEMS before after)
  execute_process(COMMAND ${folder}/${program} RESULT_VARIABLE result OUTPUT_VARIABLE ${program})
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${program} ended with ${result}")
  endif()
endforeach()
if(before STREQUAL "" OR NOT before STREQUAL after)
  message(FATAL_ERROR "before printed ${before}after printed ${after}")
endif()
