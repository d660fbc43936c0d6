# `cmake --install`: headers, library, find_package(tenure) and pkg-config tenure.

include(CMakePackageConfigHelpers)
set(TENURE_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/tenure")

install(TARGETS tenure EXPORT tenure-targets)
install(EXPORT tenure-targets NAMESPACE tenure:: DESTINATION "${TENURE_CMAKE_DIR}")
install(CODE "
  set(TENURE_SOURCE \"${PROJECT_SOURCE_DIR}\")
  set(TENURE_INCLUDE \"${CMAKE_INSTALL_INCLUDEDIR}\")
  cmake_path(ABSOLUTE_PATH TENURE_INCLUDE BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")")
install(SCRIPT cmake/InstallHeaders.cmake)

configure_package_config_file(cmake/tenureConfig.cmake.in
  "${PROJECT_BINARY_DIR}/package/tenureConfig.cmake"
  INSTALL_DESTINATION "${TENURE_CMAKE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/tenureConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/package/tenureConfig.cmake"
  "${PROJECT_BINARY_DIR}/package/tenureConfigVersion.cmake"
  cmake/FindHighway.cmake
  DESTINATION "${TENURE_CMAKE_DIR}")

# A shared library carries its own dependencies; a static one leaves them to the final link. There is
# never both, so that this needs no --static of pkg-config.
set(TENURE_PC_REQUIRES "")
set(TENURE_PC_LIBS "")
if(NOT BUILD_SHARED_LIBS)
  set(TENURE_PC_REQUIRES "fmt libhwy libpng zlib")
  set(TENURE_PC_LIBS " -pthread")
endif()
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE TENURE_PC_PREFIX)
configure_file(cmake/tenure.pc.in "${PROJECT_BINARY_DIR}/package/tenure.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/tenure.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
