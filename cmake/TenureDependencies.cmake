# What the library is made with. Public headers include the standard library alone, so all of it is
# private: a static installation names it again in tenureConfig.cmake.in and tenure.pc.in.

find_package(fmt REQUIRED)
find_package(Highway REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(Threads REQUIRED)
set(TENURE_PRIVATE_LIBRARIES fmt::fmt Highway::hwy ZLIB::ZLIB PNG::PNG Threads::Threads
  ${CMAKE_DL_LIBS})

if(TENURE_BUILD_CLI OR TENURE_BUILD_BENCH)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
endif()
if(TENURE_BUILD_TESTS)
  find_package(GTest)
  find_package(Python3 COMPONENTS Interpreter)
endif()
if(TENURE_BUILD_BENCH)
  find_package(LibTorch)
  find_package(OneDNN)
  find_package(OpenMP COMPONENTS CXX)  # the peers' threads
endif()
