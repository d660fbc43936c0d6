#pragma once

#include <cstddef>

#include "tenure/profile/queries.h"

namespace tenure::cli {

/// What is live at the end and who holds it: what is alike is one entry, the `rows` largest.
void print_held(const profile::History& history, std::size_t rows);

}  // namespace tenure::cli
