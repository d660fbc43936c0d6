#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/tenure.h"

// Every public call that is wrong says so with a line of the program: where the call stands, or
// where the object was made whose call has no line of its own. Tables for all that is no op; ops
// have theirs in eager/error_site_test.cpp and in the harness.

namespace tenure::test {

inline constexpr std::uint_least32_t kLongestCall = 4;  // lines that one call in a table takes

/// The lines of a file that a text names.
inline std::vector<std::uint_least32_t> lines_in(std::string_view text, std::string_view path) {
  const std::string file = std::string(path.substr(path.find_last_of('/') + 1)) + ":";
  std::vector<std::uint_least32_t> lines;
  for (std::size_t at = 0; (at = text.find(file, at)) != std::string_view::npos;) {
    at += file.size();
    std::uint_least32_t line = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), line);
    lines.push_back(line);
  }
  return lines;
}

/// Calls `f`, written there, which throws an E that names that line or line `made`.
template <class E, class F>
void expect_line(const F& f, std::uint_least32_t made = 0, Site here = Site::current()) {
  SCOPED_TRACE("call at line " + std::to_string(here.line()));
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& error) {
    bool is_named = false;
    for (const std::uint_least32_t line : lines_in(error.what(), here.file_name())) {
      const bool is_call = line >= here.line() && line < here.line() + kLongestCall;
      is_named |= is_call || (made != 0 && line == made);
    }
    EXPECT_TRUE(is_named) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another type was thrown: " << error.what();
  }
}

/// Leaves a handle empty, as a move does.
template <class T>
T& emptied(T& handle) {
  const T taken = std::move(handle);
  return handle;
}

}  // namespace tenure::test
