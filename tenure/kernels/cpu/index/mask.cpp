#include "tenure/kernels/cpu/index/mask.h"

#include <array>
#include <cstring>

#include "tenure/kernels/cpu/index/loop.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

using namespace index;

/// The elements of a view cut into ranges, each with the number of true elements before it: what
/// lets threads write their part of a result whose places depend on the values.
struct Parts {
  static constexpr std::int64_t kMax = 64;

  std::int64_t elements = 0;
  std::int64_t parts = 1;
  std::array<std::int64_t, kMax + 1> before{};

  std::int64_t begin(std::int64_t part) const { return elements * part / parts; }
  std::int64_t total() const { return before[static_cast<std::size_t>(parts)]; }

  /// Calls `f(begin, end, before)` for every part.
  template <class F>
  void each(const F& f) const {
    parallel_for(parts, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t p = first; p < last; ++p) {
        f(begin(p), begin(p + 1), before[static_cast<std::size_t>(p)]);
      }
    });
  }
};

/// Calls `f(TypeTag<U>{}, bits)`: an element, read as a U, is true if it has one of these bits.
/// The sign of a float is not among them: -0 is zero.
template <class F>
void visit_truth(DType dtype, F&& f) {
  const auto visit = [&]<class U>(TypeTag<U> tag) {
    const U all = static_cast<U>(~U{0});
    f(tag, is_floating(dtype) ? static_cast<U>(all >> 1) : all);
  };
  switch (size_of(dtype)) {
    case 1:
      return visit(TypeTag<std::uint8_t>{});
    case 2:
      return visit(TypeTag<std::uint16_t>{});
    case 4:
      return visit(TypeTag<std::uint32_t>{});
    default:
      return visit(TypeTag<std::uint64_t>{});
  }
}

template <class U>
U load(const void* data, std::int64_t offset) {
  U value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + offset * std::int64_t{sizeof(U)},
              sizeof(U));
  return value;
}

Parts count_parts(const View& in) {
  Parts result;
  result.elements = in.count();
  result.parts = std::clamp<std::int64_t>(result.elements / kGrain, 1, Parts::kMax);
  const auto loop = make_loop(in.shape, in.strides);
  const std::int64_t step = loop.steps()[0];
  parallel_for(result.parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p) {
      std::int64_t found = 0;
      visit_truth(in.dtype, [&]<class U>(TypeTag<U>, U bits) {
        loop.rows(result.begin(p), result.begin(p + 1), [&](const auto& at, std::int64_t length) {
          for (std::int64_t i = 0; i < length; ++i) {
            found += (load<U>(in.data, at[0] + i * step) & bits) != 0;
          }
        });
      });
      result.before[static_cast<std::size_t>(p + 1)] = found;
    }
  });
  for (std::size_t p = 0; p < static_cast<std::size_t>(result.parts); ++p) {
    result.before[p + 1] += result.before[p];
  }
  return result;
}

/// Calls `f(i)` for the i in [0, length) that `is_true(i)`. Finding them has no branches: random
/// masks would mispredict every other one.
template <class P, class F>
void for_true(std::int64_t length, const P& is_true, const F& f) {
  constexpr std::int64_t kBatch = 256;
  std::array<std::int64_t, kBatch> found;
  for (std::int64_t begin = 0; begin < length; begin += kBatch) {
    const std::int64_t end = std::min(begin + kBatch, length);
    std::size_t n = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      found[n] = i;
      n += is_true(i) ? 1 : 0;
    }
    for (std::size_t k = 0; k < n; ++k) f(found[k]);
  }
}

/// Writes the coordinates of the true elements among the positions [begin, end).
template <class U>
void write_coordinates(const View& in, U bits, std::int64_t begin, std::int64_t end,
                       std::int64_t* out) {
  const int last = in.shape.size() - 1;
  const std::int64_t columns = in.shape[last];
  while (begin < end) {
    Shape at = in.shape;
    std::int64_t rest = begin;
    std::int64_t offset = 0;
    for (int i = last; i >= 0; --i) {
      at[i] = rest % in.shape[i];
      rest /= in.shape[i];
      offset += at[i] * in.strides[i];
    }
    const std::int64_t first = at[last];
    const std::int64_t length = std::min(columns - first, end - begin);
    for_true(
        length,
        [&](std::int64_t i) {
          return (load<U>(in.data, offset + i * in.strides[last]) & bits) != 0;
        },
        [&](std::int64_t i) {
          at[last] = first + i;
          out = std::copy(at.begin(), at.end(), out);
        });
    begin += length;
  }
}

/// Calls `f(offset, place)` for the masked elements of `view`, of which this is the place-th.
template <class F>
void for_masked(const View& view, const View& mask, const Parts& parts, const F& f) {
  const auto loop = make_loop(view.shape, view.strides, mask.strides);
  const std::int64_t step = loop.steps()[0];
  const std::int64_t mask_step = loop.steps()[1];
  parts.each([&](std::int64_t begin, std::int64_t end, std::int64_t place) {
    loop.rows(begin, end, [&](const auto& at, std::int64_t length) {
      const auto* truth = mask.as<const std::uint8_t>() + at[1];
      for_true(
          length, [&](std::int64_t i) { return truth[i * mask_step] != 0; },
          [&](std::int64_t i) { f(at[0] + i * step, place++); });
    });
  });
}

void check_mask(const View& view, const View& mask) {
  internal_check(mask.dtype == boolean && mask.shape == view.shape,
                 "a boolean mask of the tensor's shape");
}

}  // namespace

std::int64_t nonzero_count(const View& in) { return count_parts(in).total(); }

void nonzero(const View& in, const View& out) {
  const Parts parts = count_parts(in);
  internal_check(out.dtype == int64 && out.shape == Shape{parts.total(), in.shape.size()},
                 "nonzero writes an int64 row per true element");
  if (out.count() == 0) return;
  const std::int64_t rank = in.shape.size();
  visit_truth(in.dtype, [&]<class U>(TypeTag<U>, U bits) {
    parts.each([&](std::int64_t begin, std::int64_t end, std::int64_t before) {
      write_coordinates(in, bits, begin, end, out.as<std::int64_t>() + before * rank);
    });
  });
}

void mask_select(const View& in, const View& mask, const View& out) {
  check_mask(in, mask);
  const Parts parts = count_parts(mask);
  internal_check(out.dtype == in.dtype && out.count() == parts.total(),
                 "mask_select writes one element per true one");
  visit_size(size_of(in.dtype), [&]<class T>(TypeTag<T>) {
    for_masked(in, mask, parts,
               [to = out.as<T>(), from = in.as<const T>()](auto offset, auto place) {
                 to[place] = from[offset];
               });
  });
}

void mask_put(const View& out, const View& mask, const View& values) {
  check_mask(out, mask);
  const Parts parts = count_parts(mask);
  internal_check(values.dtype == out.dtype && values.shape == Shape{parts.total()},
                 "mask_put reads one element per true one");
  visit_size(size_of(out.dtype), [&]<class T>(TypeTag<T>) {
    for_masked(out, mask, parts,
               [to = out.as<T>(), from = values.as<const T>(), step = values.strides[0]](
                   auto offset, auto place) { to[offset] = from[place * step]; });
  });
}

}  // namespace tenure::kernels
