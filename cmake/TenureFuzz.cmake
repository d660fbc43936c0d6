# Fuzzing: libFuzzer, which comes with Clang, on what GCC made. See tests/fuzz/README.md.

set(TENURE_COVERED_FOLDERS base io data profile planner/formats)  # those that read files
set(TENURE_COVERAGE_OPTIONS "")
if(TENURE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  file(GLOB libfuzzer /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-${CMAKE_SYSTEM_PROCESSOR}.a)
  if(libfuzzer)
    list(GET libfuzzer -1 TENURE_LIBFUZZER)
    set(TENURE_COVERAGE_OPTIONS -fsanitize-coverage=trace-pc,trace-cmp)
  endif()
endif()
