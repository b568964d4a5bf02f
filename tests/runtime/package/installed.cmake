# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
set(folder ${SCRATCH}/installed)
file(REMOVE_RECURSE ${folder})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${folder}/prefix)
configure_and_build(${folder}/build -DCMAKE_PREFIX_PATH=${folder}/prefix)
run_example(${folder}/build output)
file(WRITE ${folder}/output.txt "${output}")
expect("${output}" "spin +2 333332833333500000\n")
expect("${output}" "1.000000 1.414214 1.732051 2.000000 sequential again\n")

# A component that does not exist is an error of find_package, not of the link.
file(WRITE ${folder}/missing/CMakeLists.txt
     "cmake_minimum_required(VERSION 3.25)\nproject(missing CXX)\nfind_package(corescale REQUIRED COMPONENTS fibres)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${folder}/missing -B ${folder}/missing/build -G ${GENERATOR}
                        -DCMAKE_PREFIX_PATH=${folder}/prefix
                RESULT_VARIABLE result OUTPUT_VARIABLE ignored ERROR_VARIABLE error)
if(result EQUAL 0)
  message(FATAL_ERROR "a missing component was accepted")
endif()
expect("${error}" "fibres")
