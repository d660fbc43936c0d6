#pragma once

#include <vector>

#include "cli/recording.h"
#include "tenure/profile/growth.h"

namespace tenure::cli {

/// {"verdict": "grows", "loops": [...]}: what `tenure leaks` says.
Json growth_json(const profile::History& history, const std::vector<profile::Loop>& loops);

}  // namespace tenure::cli
