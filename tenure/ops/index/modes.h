#pragma once

#include <cstdint>

namespace tenure {

/// What stands beyond the ends of an axis 'abc': constant 'xx abc xx', edge 'aa abc cc', reflect
/// 'cb abc ba', symmetric 'ba abc cb', wrap 'bc abc ab'. All but constant go on for ever.
enum class PadMode : std::uint8_t { constant, edge, reflect, symmetric, wrap };

/// What scatter does where an element meets an update. Multiply and add wrap around in integer
/// types; maximum and minimum propagate NaN.
enum class ScatterMode : std::uint8_t { assign, add, multiply, maximum, minimum };

}  // namespace tenure
