#pragma once

#include <array>
#include <cstddef>

#include "tenure/ops/core/view.h"
#include "tenure/tensor/dtype.h"

namespace tenure::kernels {

/// The inner loop of an elementwise op: reads n elements from each input and writes n to `out`, all
/// contiguous. `out` may be one of the inputs. One body serves eager calls and fused loops alike;
/// whoever calls it brings strided, broadcast or converted inputs into tiles first.
struct Body {
  using Loop = void (*)(const void* const* in, void* out, std::size_t n);

  constexpr Body(Loop loop = nullptr, Loop streamed = nullptr)  // NOLINT: a loop is a body
      : loop(loop), streamed(streamed) {}
  void operator()(const void* const* in, void* out, std::size_t n) const { loop(in, out, n); }
  friend constexpr bool operator==(const Body& body, std::nullptr_t) {
    return body.loop == nullptr;
  }

  Loop loop;
  /// The same, writing past the caches; `out` begins with a cache line and is no input. Null where
  /// the arithmetic takes longer than the memory, so that nothing is gained.
  Loop streamed;
};

/// The bodies of one op, by the type that it computes in. 16-bit floats have none: they are
/// computed with in float32.
using Bodies = std::array<Body, kDTypes>;

/// Elements of a tile: small enough that all tiles of a call stay in the first-level cache.
inline constexpr std::size_t kTile = 1024;
using ops::kMaxArity;

}  // namespace tenure::kernels
