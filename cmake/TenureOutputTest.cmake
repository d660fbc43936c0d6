# tenure_output_test(NAME TARGET EXPECTED_FILE)
#
# A test that runs TARGET and requires exit status 0 and, where EXPECTED_FILE exists, exactly that
# text on standard output.
set(TENURE_RUN_AND_COMPARE "${CMAKE_CURRENT_LIST_DIR}/RunAndCompare.cmake")

function(tenure_output_test name target expected)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND}
    -DPROGRAM=$<TARGET_FILE:${target}> -DEXPECTED=${expected} -P "${TENURE_RUN_AND_COMPARE}")
endfunction()
