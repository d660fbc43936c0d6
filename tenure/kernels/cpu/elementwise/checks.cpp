#include "tenure/kernels/cpu/elementwise/checks.h"

#include <fmt/format.h>

#include "tenure/base/error.h"
#include "tenure/tensor/strided.h"

namespace tenure::kernels {
namespace {

View as_bytes(View view) {
  view.dtype = DType::uint8;
  return view;
}

template <class Bad>
bool contains(const View& view, const Bad& is_bad) {
  if (view.dtype == DType::boolean) return contains(as_bytes(view), is_bad);
  bool found = false;
  visit_dtype(view.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!std::is_same_v<T, bool>) {
      for_each_offset(view.shape, view.strides,
                      [&](std::int64_t i) { found |= is_bad(view.as<const T>()[i]); });
    }
  });
  return found;
}

}  // namespace

void reject_zero(const char* op, DType compute, const ops::LoopInputs& in) {
  if (!is_integral(compute)) return;
  if (contains(in.views.back(), [](auto value) { return !(value < 0) && !(value > 0); })) {
    throw ValueError(fmt::format("{}: integer division by zero", op));
  }
}

void reject_negative(const char* op, DType compute, const ops::LoopInputs& in) {
  if (!is_integral(compute)) return;
  if (contains(in.views.back(), [](auto value) { return value < 0; })) {
    throw ValueError(
        fmt::format("{}: an integer has no negative integer power; convert it to a float", op));
  }
}

}  // namespace tenure::kernels
