#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenure/profile/history.h"

namespace tenure::profile {

/// All storages of one origin: how many there were, and how many at the peak.
struct Stack {
  std::uint32_t origin = 0;
  std::int64_t allocations = 0;
  std::int64_t allocated_bytes = 0;
  std::int64_t peak_storages = 0;
  std::int64_t peak_bytes = 0;
};
/// In the order of their numbers.
std::vector<Stack> stacks(const History& history);

struct StackFrame {
  std::string name;
  std::string_view file{};  ///< the recording's; empty: it is no line
  std::uint32_t line = 0;
};
/// The calls that led to an origin, or where they were not recorded the scopes around it:
/// "model/encoder" -> model, encoder; then "matmul train.cpp:12".
std::vector<StackFrame> frames_of(const Recorded& recorded, const Origin& origin);

}  // namespace tenure::profile
