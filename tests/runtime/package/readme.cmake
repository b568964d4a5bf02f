# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# Each fenced block of the README that follows a line <!-- FILE --> is that file of the examples, without its SPDX line; the one
# after <!-- output --> is what the example printed (compared where this build has every system).
file(READ ${README} readme)

function(block_after MARK RESULT)
  string(FIND "${readme}" "<!-- ${MARK} -->" start)
  if(start EQUAL -1)
    message(FATAL_ERROR "the README has no block <!-- ${MARK} -->")
  endif()
  string(SUBSTRING "${readme}" ${start} -1 rest)
  string(REGEX REPLACE "^[^\n]*\n```[a-z]*\n" "" rest "${rest}")
  string(FIND "${rest}" "```" end)
  string(SUBSTRING "${rest}" 0 ${end} block)
  set(${RESULT} "${block}" PARENT_SCOPE)
endfunction()

foreach(file IN ITEMS package/main.cpp package/CMakeLists.txt package/process_team.cpp package/memory.cpp
        package/newton.cpp)
  block_after(${file} block)
  file(READ ${EXAMPLES}/${file} code)
  string(REGEX REPLACE "^[^\n]*SPDX[^\n]*\n" "" code "${code}")
  if(NOT block STREQUAL code)
    message(SEND_ERROR "the README's ${file} is not the file of the examples")
  endif()
endforeach()

block_after(output block)
file(READ ${OUTPUT} output)
if(NOT output MATCHES "absent" AND NOT block STREQUAL output)
  message(SEND_ERROR "the README says\n${block}and the example printed\n${output}")
endif()
