#pragma once

#include <cstdint>
#include <initializer_list>

namespace tenure::nn {

/// Throws ValueError in the name of `what` unless every size is positive.
void require_positive(const char* what, std::initializer_list<std::int64_t> sizes);

}  // namespace tenure::nn
