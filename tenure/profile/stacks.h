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

/// "model/encoder" -> model, encoder; then "matmul train.cpp:12".
std::vector<std::string> frames_of(const Origin& origin);

}  // namespace tenure::profile
