#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <source_location>
#include <string>

namespace tenure::test {

/// Calls f, which throws an E in the name of `call` from line `line` of the caller's file.
template <class E>
void expect_error(const char* call, std::uint_least32_t line, const std::function<void()>& f,
                  std::source_location here = std::source_location::current()) {
  SCOPED_TRACE(call);
  const std::string file = std::filesystem::path(here.file_name()).filename().string();
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(file + ":" + std::to_string(line)), std::string::npos) << text;
    EXPECT_NE(text.find(call), std::string::npos) << text;
  }
}

}  // namespace tenure::test
