# tenure_precompile(TARGET GROUP HEADER...)
#
# Compiles the headers once for all targets of GROUP, whose compile options must be the same.
function(tenure_precompile target group)
  get_property(owner GLOBAL PROPERTY TENURE_PRECOMPILED_${group})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY TENURE_PRECOMPILED_${group} ${target})
  endif()
endfunction()
