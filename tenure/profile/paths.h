#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenure/base/site.h"

namespace tenure::profile {

/// `path` as seen from the folder `from`, so that recordings do not tell where a machine keeps its
/// projects: "src/train.cpp", "../lib/model.cpp". What shares no folder with it, as
/// "/usr/include/...", is not somebody's own and stays as it is, as does what is no absolute path.
std::string seen_from(std::string_view from, std::string_view path);

/// Where a call stands, as recordings have it: what the standard library calls has no line of the
/// program, and says so in place of a file.
struct RecordedPlace {
  std::string_view file;
  std::uint32_t line = 0;
};
RecordedPlace recorded_place(Site site) noexcept;

/// Where this program runs; empty if that folder is gone.
std::string current_folder();

}  // namespace tenure::profile
