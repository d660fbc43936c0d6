#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "tenure/ops/core/backend.h"

namespace tenure::kernels::cuda {

/// Which parts of some work have to be done before a part is begun: those that wrote what it
/// touches, and those that touch what it writes. It is told of one after the other.
class PartOrder {
 public:
  /// Those that the next part comes after, the latest first; not those that come before one of
  /// them anyway. The same until the next call.
  std::span<const std::size_t> add(std::span<const ops::Touched> touched);

 private:
  /// Memory that the same parts touched, from its key in `memory_` to `end`.
  struct Piece {
    std::uintptr_t end = 0;
    std::size_t writer = kNobody;      ///< the last one
    std::vector<std::size_t> readers;  ///< since then
  };
  using Pieces = std::map<std::uintptr_t, Piece>;
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  /// The first piece of what begins there, with a border at its begin.
  Pieces::iterator cut(std::uintptr_t at);
  void touch(const ops::Touched& touched, std::size_t part);
  /// Leaves those that no other one of them comes after.
  void keep_last();
  bool comes_before(std::size_t part, std::size_t later) const;

  Pieces memory_;
  /// Of each part, a bit for each part that comes before it.
  std::vector<std::vector<std::uint64_t>> before_;
  std::vector<std::size_t> found_;
};

}  // namespace tenure::kernels::cuda
