#pragma once

#include <cstddef>

#include "tenure/tensor/dtype.h"

namespace tenure::kernels {

/// The inner loop of an elementwise op: reads n elements from each input and writes n to `out`, all
/// contiguous. `out` may be one of the inputs. One body serves eager calls and fused loops alike;
/// whoever calls it brings strided, broadcast or converted inputs into tiles first.
using Body = void (*)(const void* const* in, void* out, std::size_t n);

/// Elements of a tile: small enough that all tiles of a call stay in the first-level cache.
inline constexpr std::size_t kTile = 1024;
inline constexpr int kMaxArity = 3;

}  // namespace tenure::kernels
