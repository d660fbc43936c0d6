#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "tenure/ops/core/view.h"

namespace tenure::ops {

/// Room for n views, undefined until they are written: clearing it would cost more than a small op.
template <std::size_t n>
class ViewRoom {
 public:
  ViewRoom() noexcept {}  // NOLINT(modernize-use-equals-default)
  View* data() noexcept { return std::launder(reinterpret_cast<View*>(bytes_)); }
  View& operator[](std::size_t i) noexcept { return data()[i]; }
  void write(std::size_t i, const View& view) noexcept {
    new (bytes_ + i * sizeof(View)) View(view);
  }

 private:
  static_assert(std::is_trivially_destructible_v<View>);
  alignas(View) std::byte bytes_[n * sizeof(View)];
};

}  // namespace tenure::ops
