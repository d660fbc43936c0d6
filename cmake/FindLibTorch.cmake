# libtorch (a peer in the benchmarks), as the target LibTorch::torch.
#
# Searched by hand: its own config file insists on development packages of dependencies that a
# program using the CPU tensors never touches.

find_path(LibTorch_INCLUDE_DIR ATen/ATen.h)
find_path(LibTorch_API_INCLUDE_DIR torch/torch.h
  HINTS "${LibTorch_INCLUDE_DIR}/torch/csrc/api/include")
set(LibTorch_LIBRARIES)
foreach(library torch torch_cpu c10)
  find_library(LibTorch_${library}_LIBRARY ${library})
  mark_as_advanced(LibTorch_${library}_LIBRARY)
  list(APPEND LibTorch_LIBRARIES "${LibTorch_${library}_LIBRARY}")
endforeach()
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_API_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS
  LibTorch_torch_LIBRARY LibTorch_torch_cpu_LIBRARY LibTorch_c10_LIBRARY
  LibTorch_INCLUDE_DIR LibTorch_API_INCLUDE_DIR)

if(LibTorch_FOUND AND NOT TARGET LibTorch::torch)
  add_library(LibTorch::torch INTERFACE IMPORTED)
  set_target_properties(LibTorch::torch PROPERTIES
    INTERFACE_LINK_LIBRARIES "${LibTorch_LIBRARIES}"
    INTERFACE_INCLUDE_DIRECTORIES "${LibTorch_INCLUDE_DIR};${LibTorch_API_INCLUDE_DIR}")
endif()
