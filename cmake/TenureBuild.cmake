# How every target of this tree is compiled. Nothing here reaches a consumer of the library.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
  # Kernels have -O3, see TenureFolder.cmake; to the rest it gives nothing but time to compile.
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# bin/ and lib/ keep the command `tenure` apart from the folder `tenure` of the build tree.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_CURRENT_LIST_DIR}/cached.sh")
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Its garbage collection takes a tenth of the time, and spares 140 of the 600 to 900 MiB of our units.
  add_compile_options("SHELL:--param ggc-min-expand=100" "SHELL:--param ggc-min-heapsize=524288")
endif()

if(TENURE_SANITIZE)
  add_compile_options(-fsanitize=${TENURE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TENURE_SANITIZE})
  if(TENURE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Checks as calls: they find the same and compile in half the time.
    add_compile_options("SHELL:--param asan-instrumentation-with-call-threshold=0")
  endif()
endif()
if(TENURE_SANITIZE MATCHES "undefined")
  # What AddressSanitizer sees as well, at half of the time to compile; and alignment, which the
  # folders where bytes become objects have nevertheless: see TenureFolder.cmake.
  add_compile_options(-fno-sanitize=null,vptr,object-size,pointer-overflow,alignment)
endif()
if(TENURE_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

# Linked privately by every target of the tree.
add_library(tenure_flags INTERFACE)
target_compile_options(tenure_flags INTERFACE
  -Wall -Wextra -Wpedantic
  # GCC 12 sees overlaps in string concatenations that cannot happen (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # A source that is compiled with others looks like a header, whose types must not be private.
  $<$<BOOL:${CMAKE_UNITY_BUILD}>:-Wno-subobject-linkage>
  $<$<BOOL:${TENURE_WERROR}>:-Werror>)
