# SPDX-License-Identifier: Apache-2.0
# The commit that `corescale --version` names: git's word on a checkout; an archive made by git has it in the next line.
set(commit "$Format:%H$")
if(EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND git -c safe.directory=* describe --always --dirty --abbrev=12 --exclude=*
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(commit MATCHES "^[0-9a-f]+(-dirty)?$")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/commit CONTENT "@commit@\n" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/commit DESTINATION corescale)
endif()
