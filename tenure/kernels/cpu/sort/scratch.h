#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenure/base/error.h"
#include "tenure/kernels/parallel.h"
#include "tenure/kernels/slots.h"

namespace tenure::kernels::sort {

/// Items in scratch memory need no more alignment than this.
inline constexpr std::size_t kAlignment = 16;

/// The memory that `rows` rows need if each is worked on in `bytes` bytes and several at a time.
/// The kernel takes what it is given: the size decides the parallelism.
inline std::size_t scratch_bytes(std::int64_t rows, std::size_t bytes) {
  const std::int64_t slots = slots_for(rows, bytes);
  const std::size_t slot = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return slots == 0 ? 0 : static_cast<std::size_t>(slots) * slot + kAlignment;
}

/// The aligned part of `workspace`; InternalError if it has less than `bytes` bytes.
inline std::span<std::byte> align(std::span<std::byte> workspace, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
  const std::size_t skip = (kAlignment - address % kAlignment) % kAlignment;
  internal_check(workspace.size() >= skip + bytes, "workspace is large enough");
  return workspace.subspan(skip);
}

/// Calls `f(begin, end, scratch)` on ranges that cover the rows, each with `bytes` bytes of
/// `workspace` of its own.
template <class F>
void for_rows(std::int64_t rows, std::int64_t row_elements, std::size_t bytes,
              std::span<std::byte> workspace, const F& f) {
  if (rows == 0) return;
  constexpr std::int64_t kGrain = 1 << 13;  // elements
  const std::span<std::byte> memory = align(workspace, bytes);
  const std::size_t slot = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  const auto room = std::max<std::int64_t>(static_cast<std::int64_t>(memory.size() / slot), 1);
  const std::int64_t worth = std::max<std::int64_t>(rows * row_elements / kGrain, 1);
  const std::int64_t slots = std::min({room, rows, worth});
  parallel_for(slots, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t s = first; s < last; ++s) {
      f(rows * s / slots, rows * (s + 1) / slots,
        memory.data() + static_cast<std::size_t>(s) * slot);
    }
  });
}

}  // namespace tenure::kernels::sort
