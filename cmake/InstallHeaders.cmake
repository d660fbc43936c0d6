# Run by `cmake --install`: the headers for users, and whatever these include. The others stay inside.
# TENURE_SOURCE is the tree, TENURE_INCLUDE where headers go.
cmake_policy(PUSH)
cmake_policy(SET CMP0057 NEW)  # if(IN_LIST)

set(pending
  tenure/tenure.h
  # Read files safely, and count an op's elements whatever their strides.
  tenure/base/file.h
  tenure/tensor/strided.h
  # Plans of programs that are not Tenure's.
  tenure/planner/arrange.h
  tenure/planner/formats.h
  tenure/planner/lifetimes.h
  tenure/planner/offsets.h
  tenure/planner/order.h
  tenure/planner/remat.h
  # Recordings: reading them, asking them, making pages and other formats of them.
  tenure/profile/exports.h
  tenure/profile/history.h
  tenure/profile/queries.h
  tenure/profile/recorded.h
  tenure/profile/report.h
  # What the machine has.
  tenure/kernels/instruction_set.h)
set(public "")
while(pending)
  list(POP_FRONT pending header)
  if(header IN_LIST public)
    continue()
  endif()
  list(APPEND public ${header})
  file(STRINGS "${TENURE_SOURCE}/${header}" includes REGEX "^#include \"tenure/")
  foreach(include ${includes})
    string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" included "${include}")
    list(APPEND pending ${included})
  endforeach()
endwhile()
foreach(header ${public})
  cmake_path(GET header PARENT_PATH folder)
  file(INSTALL "${TENURE_SOURCE}/${header}" DESTINATION "${TENURE_INCLUDE}/${folder}")
endforeach()
cmake_policy(POP)
