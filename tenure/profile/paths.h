#pragma once

#include <string>
#include <string_view>

namespace tenure::profile {

/// `path` as seen from the folder `from`, so that recordings do not tell where a machine keeps its
/// projects: "src/train.cpp", "../lib/model.cpp". What shares no folder with it, as
/// "/usr/include/...", is not somebody's own and stays as it is, as does what is no absolute path.
std::string seen_from(std::string_view from, std::string_view path);

/// Where this program runs; empty if that folder is gone.
std::string current_folder();

}  // namespace tenure::profile
