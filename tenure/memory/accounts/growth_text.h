#pragma once

#include <string>
#include <string_view>

// How growth is said: by a LeakGuard, and by whoever reads recordings.

namespace tenure::mem {

/// "1.5 more graph nodes".
std::string more_text(double number, std::string_view what);
/// "grows 87 KiB a step", or without bytes "keeps 1.5 more graph nodes a step".
std::string growth_a_step(double bytes, double number, std::string_view what);

/// "train grows 87 KiB a step at model.cpp:41 in Model::run, called by load at data.cpp:7, held by
/// slice at model.cpp:23"; what is empty is left out.
struct GrowthSentence {
  std::string name;    ///< of the loop
  std::string amount;  ///< "grows 87 KiB a step"
  std::string place{};
  std::string function{};  ///< that the place is in
  std::string caller{};
  std::string holder{};
};
std::string text_of(const GrowthSentence& sentence);

}  // namespace tenure::mem
