#pragma once

#include <cstdint>
#include <initializer_list>

#include "tenure/base/site.h"

namespace tenure::nn {

/// Throws ValueError in the name of `what`, called at `site`, unless every size is positive. An
/// unknown site leaves it to the caller to name the line.
void require_positive(const char* what, std::initializer_list<std::int64_t> sizes,
                      Site site = Site());

}  // namespace tenure::nn
