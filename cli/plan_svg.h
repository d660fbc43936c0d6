#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenure::cli {

/// A piece of memory for a while.
struct Box {
  std::string label;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

struct Drawing {
  std::string title;
  std::vector<Box> boxes;
  std::int64_t height = 0;
  std::int64_t capacity = 0;  ///< a line across with its name, where it is above 0
  std::int64_t budget = 0;    ///< the same
};

/// The drawing as SVG: time across, offset up; boxes that are large enough have their labels, and
/// all tell their facts when pointed at. Throws
/// std::runtime_error if the file cannot be written.
void write_svg(const Drawing& drawing, const std::string& path);

}  // namespace tenure::cli
