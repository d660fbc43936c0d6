#include "tenure/kernels/cpu/index/within.h"

#include <fmt/format.h>

#include <limits>

#include "tenure/kernels/cpu/index/loop.h"
#include "tenure/ops/index/attributes.h"

namespace tenure::kernels {
namespace {

using Names = ops::WithinAttributes;

/// The place of element `i`, counted in the order of rows.
Dims place_of(std::int64_t i, const Shape& shape) {
  Dims place = Dims::filled(shape.size(), 0);
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    place[axis] = i % shape[axis];
    i /= shape[axis];
  }
  return place;
}

[[noreturn]] void refuse(const ops::Kernel& k, const std::string& element, std::int64_t value,
                         std::int64_t i) {
  const double low = k.attributes.number(Names::low);
  const double high = k.attributes.number(Names::high);
  const bool is_open = high == std::numeric_limits<double>::max();
  const std::string wanted = is_open ? fmt::format("no finite number from {} on", low)
                                     : fmt::format("not in [{}, {}]", low, high);
  const Shape& shape = k.in[0].shape;
  const std::string text =
      fmt::format("{}{}{} is {}", k.attributes.text(Names::subject), element,
                  shape.empty() ? "" : " at " + to_string(place_of(i, shape)), wanted);
  const std::string& op = k.attributes.text(Names::op);
  if (k.attributes.flag(Names::is_index)) {
    throw IndexError(op, text, value, static_cast<std::int64_t>(high) + 1);
  }
  throw ValueError(op + ": " + text);
}

}  // namespace

void check_within(const ops::Kernel& k) {
  const View& x = k.in[0];
  const double low = k.attributes.number(Names::low);
  const double high = k.attributes.number(Names::high);
  const auto loop = index::make_loop(x.shape, x.strides);
  const std::int64_t step = loop.steps()[0];
  std::int64_t seen = 0;
  visit_dtype(x.dtype, [&]<class T>(TypeTag<T>) {
    loop.rows(0, loop.count(), [&](const auto& at, std::int64_t length) {
      const T* const row = x.as<const T>() + at[0];
      for (std::int64_t i = 0; i < length; ++i) {
        const auto value = static_cast<double>(row[i * step]);
        if (value >= low && value <= high) continue;
        if constexpr (std::is_integral_v<T>) {
          const auto element = static_cast<std::int64_t>(row[i * step]);
          refuse(k, fmt::format("{}", element), element, seen + i);
        } else {
          refuse(k, fmt::format("{}", value), 0, seen + i);
        }
      }
      seen += length;
    });
  });
}

}  // namespace tenure::kernels
