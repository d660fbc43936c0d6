#pragma once

#include <cstddef>

#include "cli/recording.h"

namespace tenure::cli {

/// What made the peak, the `rows` largest; of each device its own, where there are several.
void print_peak(const profile::History& history, profile::GroupBy by, std::size_t rows);

}  // namespace tenure::cli
