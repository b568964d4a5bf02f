# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()

set(programs sum_of_squares process_team memory newton)

# configure_and_build(FOLDER [option]...): the example, in a folder of its own. It is looked at, not timed: without optimisation.
function(configure_and_build FOLDER)
  step(${CMAKE_COMMAND} -S ${RUNTIME}/examples/package -B ${FOLDER} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Debug
       -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS} -g0" ${ARGN})
  step(${CMAKE_COMMAND} --build ${FOLDER} --target ${programs})
endfunction()

function(run_example FOLDER OUTPUT)
  set(all "")
  foreach(program IN LISTS programs)
    execute_process(COMMAND ${FOLDER}/${program} RESULT_VARIABLE result OUTPUT_VARIABLE output)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "${program} ended with ${result}\n${output}")
    endif()
    string(APPEND all "${output}")
  endforeach()
  set(${OUTPUT} "${all}" PARENT_SCOPE)
endfunction()

function(expect OUTPUT PATTERN)
  if(NOT OUTPUT MATCHES "${PATTERN}")
    message(FATAL_ERROR "expected ${PATTERN} in\n${OUTPUT}")
  endif()
endfunction()
