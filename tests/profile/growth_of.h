#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tenure/profile/growth.h"
#include "tests/profile/read_recording.h"

namespace tenure::test {

/// Where it is called: of what is made there.
inline Site this_line(Site site = Site::current()) { return site; }

/// The judgement of the only loop.
inline profile::Loop judged(const Recording& r) {
  const std::vector<profile::Loop> loops = profile::growth(r.history);
  EXPECT_EQ(loops.size(), 1u);
  return loops.empty() ? profile::Loop() : loops.front();
}

/// Where what grows is made.
inline std::uint32_t line_of(const Recording& r, const profile::Growth& one) {
  return r.recorded.origin(one.origin).line;
}

}  // namespace tenure::test
