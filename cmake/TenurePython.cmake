# Whether the Python package can be built, and with which Python: TENURE_PYTHON, its headers in
# TENURE_PYTHON_INCLUDES, and in TENURE_PYTHON_MISSING why it is not; empty: it is.
#
# Not by FindPython: the first python3 on the path may be one without headers, and Debian's, whose
# packages it takes, is beside it. Any other is named by -DTENURE_PYTHON=.

set(TENURE_PYTHON_MISSING "")
if(TENURE_BUILD_PYTHON STREQUAL "OFF" OR TENURE_SANITIZE OR NOT PROJECT_IS_TOP_LEVEL)
  set(TENURE_PYTHON_MISSING "TENURE_BUILD_PYTHON is off")
  if(TENURE_SANITIZE)
    set(TENURE_PYTHON_MISSING "a sanitizer would have to be in the interpreter")
  endif()
  return()
endif()

find_program(TENURE_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(TENURE_PYTHON NAMES python3)
mark_as_advanced(TENURE_PYTHON)
if(TENURE_PYTHON)
  execute_process(
    COMMAND "${TENURE_PYTHON}" -c
      "import sys, sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX')[1:], sys.version_info >= (3, 9), bool(s.get_config_var('Py_GIL_DISABLED')), sep=';')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(status EQUAL 0)
    list(GET found 0 include)
    list(GET found 1 TENURE_PYTHON_SUFFIX)
    list(GET found 2 is_new)
    list(GET found 3 is_without_lock)
  endif()
  # The one that pip installed for this Python, or the system's.
  execute_process(COMMAND "${TENURE_PYTHON}" -c "import pybind11; print(pybind11.get_include())"
    OUTPUT_VARIABLE pybind11 OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT EXISTS "${TENURE_PYBIND11}/pybind11/pybind11.h")  # pip's is gone after each build
  unset(TENURE_PYBIND11 CACHE)
endif()
find_path(TENURE_PYBIND11 pybind11/pybind11.h HINTS ${pybind11})
mark_as_advanced(TENURE_PYBIND11)

if(NOT TENURE_PYTHON OR NOT include)
  set(TENURE_PYTHON_MISSING "no Python 3")
elseif(NOT is_new STREQUAL "True")
  set(TENURE_PYTHON_MISSING "${TENURE_PYTHON} is older than 3.9")
elseif(is_without_lock STREQUAL "True")
  set(TENURE_PYTHON_MISSING "${TENURE_PYTHON} is one without the interpreter's lock")
elseif(NOT EXISTS "${include}/Python.h")
  set(TENURE_PYTHON_MISSING "no headers of ${TENURE_PYTHON}: python3-dev")
elseif(NOT TENURE_PYBIND11)
  set(TENURE_PYTHON_MISSING "no pybind11: pybind11-dev")
endif()
if(TENURE_BUILD_PYTHON STREQUAL "ON" AND NOT TENURE_PYTHON_MISSING STREQUAL "")
  message(FATAL_ERROR "The Python package cannot be built: ${TENURE_PYTHON_MISSING}")
endif()
set(TENURE_PYTHON_INCLUDES "${include}" "${TENURE_PYBIND11}")
