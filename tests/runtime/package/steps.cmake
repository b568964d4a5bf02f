# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()

# configure_and_build(FOLDER [option]...): the example, in a folder of its own.
function(configure_and_build FOLDER)
  step(${CMAKE_COMMAND} -S ${RUNTIME}/examples/package -B ${FOLDER} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
       -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}" ${ARGN})
  step(${CMAKE_COMMAND} --build ${FOLDER})
endfunction()

function(run_example FOLDER OUTPUT)
  set(all "")
  foreach(program IN ITEMS sum_of_squares process_team memory newton)
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
