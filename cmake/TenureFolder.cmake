# What AddressSanitizer and UBSan leave out in SIMD code, which would take them four times as long
# to compile: the stack, which its loops keep in registers, and checks of each pointer for null and
# alignment. Bounds of the heap and arithmetic stay.
set(TENURE_SIMD_SANITIZE_OPTIONS "")
if(TENURE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND TENURE_SIMD_SANITIZE_OPTIONS "SHELL:--param asan-stack=0")
endif()
if(TENURE_SANITIZE MATCHES "undefined")
  list(APPEND TENURE_SIMD_SANITIZE_OPTIONS -fno-sanitize=undefined
    -fsanitize=shift,integer-divide-by-zero,signed-integer-overflow,bounds)
endif()

# One instruction set takes half of the time to compile. What is not SIMD stays as it is for all, so
# that numbers are the same.
set(TENURE_ONE_INSTRUCTION_SET "")
if(NOT TENURE_INSTRUCTION_SETS STREQUAL "all")
  set(targets_sse4 HWY_SSE4)
  set(targets_avx2 HWY_AVX2)
  set(targets_avx512 HWY_AVX3)
  if(NOT DEFINED targets_${TENURE_INSTRUCTION_SETS})
    message(FATAL_ERROR "TENURE_INSTRUCTION_SETS is '${TENURE_INSTRUCTION_SETS}'; "
      "there are: all, sse4, avx2, avx512")
  endif()
  set(TENURE_ONE_INSTRUCTION_SET
    HWY_BASELINE_TARGETS=${targets_${TENURE_INSTRUCTION_SETS}} HWY_COMPILE_ONLY_STATIC)
endif()

# Compiled once: they are half of what most sources of the library take. The folder with SIMD code
# has its own copy, as its options differ.
set(TENURE_COMMON_HEADERS
  <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>
  <fmt/format.h>)
set(TENURE_SIMD_HEADERS ${TENURE_COMMON_HEADERS})
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND (TENURE_SANITIZE OR TENURE_ONE_INSTRUCTION_SET))
  # A source for several instruction sets includes it again for each of them.
  list(APPEND TENURE_SIMD_HEADERS
    <hwy/foreach_target.h> <hwy/highway.h> <hwy/contrib/math/math-inl.h>)
endif()

# tenure_unite(UNITS NAME APART SOURCE...)
#
# With CMAKE_UNITY_BUILD, which the presets set, fifteen sources of a folder are compiled as one: what
# they include, and what they make of templates, is compiled once. Those that match APART have names
# of their own in common with other rooms, and are united with those of their room alone. Of those that
# are compiled for several instruction sets three of a room become one, in files that this makes and
# lists in UNITS: Highway's headers, once for each set, are a third of what such a source takes.
function(tenure_unite units name apart)
  set(${units} "" PARENT_SCOPE)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  foreach(source ${ARGN})
    file(STRINGS "${source}" is_simd REGEX "^#include <hwy/foreach_target.h>" LIMIT_COUNT 1)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    if(is_simd)
      list(APPEND simd_${folder} "${source}")
      list(APPEND simd_folders ${folder})
      continue()
    endif()
    if(apart AND source MATCHES "${apart}")
      set(union room_${folder})
    else()
      set(union ${name})
    endif()
    math(EXPR group "${united_${union}}+0")
    math(EXPR united_${union} "${group}+1")
    math(EXPR group "${group}/15")
    set_property(SOURCE "${source}" PROPERTY UNITY_GROUP ${union}_${group})
  endforeach()

  list(REMOVE_DUPLICATES simd_folders)
  foreach(folder ${simd_folders})
    set(number 0)
    while(simd_${folder})
      list(SUBLIST simd_${folder} 0 3 parts)
      list(REMOVE_ITEM simd_${folder} ${parts})
      set(unit "${CMAKE_CURRENT_BINARY_DIR}/simd/${folder}_${number}.cpp")
      math(EXPR number "${number}+1")
      list(TRANSFORM parts REPLACE "(.+)" "#include \"\\1\"" OUTPUT_VARIABLE includes)
      list(JOIN includes "\n" includes)
      # Each source has itself included again for the next set; here it is all of them.
      set(again "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${unit}\"")
      file(CONFIGURE OUTPUT "${unit}" CONTENT
        "${again}\n#include <hwy/foreach_target.h>\n${includes}\n${again}\n" @ONLY)
      set_property(SOURCE ${parts} PROPERTY HEADER_FILE_ONLY ON)
      list(APPEND made "${unit}")
    endwhile()
  endforeach()
  set(${units} "${made}" PARENT_SCOPE)
endfunction()

# tenure_list_objects(NAME)
#
# Writes down the object files of tenure_NAME, for tools/check_links.py.
set(TENURE_OBJECT_LISTS "${PROJECT_BINARY_DIR}/object_lists")
function(tenure_list_objects name)
  file(GENERATE OUTPUT "${TENURE_OBJECT_LISTS}/${name}.txt"
    CONTENT "$<JOIN:$<TARGET_OBJECTS:tenure_${name}>,\n>\n")
endfunction()

# tenure_folder(NAME [ALONE regex] [APART regex] [WITHOUT regex] [DEPENDS folder...])
#
# Makes the current folder, with all sources below it, a part of the library: the target
# tenure_NAME. DEPENDS repeats the arrows that tools/check_includes.py enforces on the includes and
# tools/check_links.py on what object files need.
# ALONE are sources that have names of their own in common with others of their room, and are not
# united; APART those that are united with their room alone; WITHOUT those that have a CMakeLists.txt
# of their own.
function(tenure_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ALONE;APART;WITHOUT" "DEPENDS")
  list(TRANSFORM arg_DEPENDS PREPEND tenure_)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  if(arg_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "${arg_WITHOUT}")
  endif()

  if(NOT sources)  # An object library needs a source; a folder of headers is an interface.
    add_library(tenure_${name} INTERFACE)
    target_include_directories(tenure_${name} INTERFACE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(tenure_${name} INTERFACE ${arg_DEPENDS})
    return()
  endif()

  set(united ${sources})
  if(arg_ALONE)
    list(FILTER united EXCLUDE REGEX "${arg_ALONE}")
  endif()
  tenure_unite(units ${name} "${arg_APART}" ${united})
  add_library(tenure_${name} OBJECT ${sources} ${units})
  set_target_properties(tenure_${name} PROPERTIES UNITY_BUILD_MODE GROUP)
  target_include_directories(tenure_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  if(name STREQUAL "kernels")
    target_compile_options(tenure_${name} PRIVATE
      $<$<CONFIG:Release>:-O3> ${TENURE_SIMD_SANITIZE_OPTIONS})
    tenure_precompile(tenure_${name} simd ${TENURE_SIMD_HEADERS})
  else()
    tenure_precompile(tenure_${name} library ${TENURE_COMMON_HEADERS})
  endif()
  if(TENURE_SANITIZE MATCHES "undefined" AND name MATCHES "^(base|memory|tensor|eager|graph|autograd|io|data|profile)$")
    target_compile_options(tenure_${name} PRIVATE -fsanitize=alignment)  # bytes become objects here
  endif()
  foreach(covered ${TENURE_COVERED_FOLDERS})
    if(covered STREQUAL name)
      target_compile_options(tenure_${name} PRIVATE ${TENURE_COVERAGE_OPTIONS})
    elseif(covered MATCHES "^${name}/")
      set(parts ${sources})
      list(FILTER parts INCLUDE REGEX "/tenure/${covered}/")
      set_property(SOURCE ${parts} APPEND PROPERTY COMPILE_OPTIONS ${TENURE_COVERAGE_OPTIONS})
    endif()
  endforeach()
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    if(TENURE_SANITIZE)
      # Sanitized SIMD code is slow to compile: one instruction set, the most common one.
      target_compile_options(tenure_${name} PRIVATE -march=x86-64-v3 -ffp-contract=off)
      target_compile_definitions(tenure_${name} PRIVATE
        HWY_DISABLE_PCLMUL_AES HWY_COMPILE_ONLY_STATIC)
    else()
      # Highway's run-time dispatch goes from SSE4 (every x86-64 since 2009) over AVX2 to AVX-512;
      # its other targets differ too little to be worth their compile time.
      target_compile_options(tenure_${name} PRIVATE -march=x86-64-v2)
      target_compile_definitions(tenure_${name} PRIVATE
        HWY_DISABLE_PCLMUL_AES "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3_DL)"
        ${TENURE_ONE_INSTRUCTION_SET})
    endif()
  endif()
  target_link_libraries(tenure_${name}
    PUBLIC ${arg_DEPENDS}
    PRIVATE tenure_flags ${TENURE_PRIVATE_LIBRARIES})
  target_sources(tenure PRIVATE $<TARGET_OBJECTS:tenure_${name}>)
  tenure_list_objects(${name})
endfunction()
