#include "tenure/tensor/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <ostream>

#include "tenure/base/error.h"
#include "tenure/memory/threads/call.h"
#include "tenure/tensor/sizes.h"

namespace tenure {
namespace {

/// Without a site, the op that makes the shape adds its name and line.
[[noreturn]] void throw_rank(std::size_t rank, Site site = {}) {
  ShapeError error("Shape", fmt::format("rank {} is above the limit of {}", rank, kMaxRank));
  mem::name_call(error, "Shape", site);
  throw error;
}

}  // namespace

Dims::Dims(const std::int64_t* values, std::size_t n, Site site) {
  if (n > kMaxRank) throw_rank(n, site);
  std::copy(values, values + n, values_.begin());
  rank_ = static_cast<std::uint8_t>(n);
}

Dims Dims::filled(int rank, std::int64_t value) {
  if (rank < 0 || rank > kMaxRank) throw_rank(static_cast<std::size_t>(rank));
  Dims dims;
  dims.rank_ = static_cast<std::uint8_t>(rank);
  std::fill(dims.begin(), dims.end(), value);
  return dims;
}

void Dims::throw_too_long() { throw_rank(kMaxRank + 1); }

void Dims::insert(int at, std::int64_t value) {
  if (rank_ == kMaxRank) throw_too_long();
  std::copy_backward(begin() + at, end(), end() + 1);
  ++rank_;
  (*this)[at] = value;
}

void Dims::erase(int at) {
  std::copy(begin() + at + 1, end(), begin() + at);
  --rank_;
}

std::string to_string(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << to_string(dims); }

std::int64_t check_large_shape(const Shape& shape, std::size_t element_size, std::string_view op) {
  std::int64_t n = static_cast<std::int64_t>(element_size);
  bool zero = false;
  for (std::int64_t d : shape) {
    if (d < 0) {
      throw ShapeError(op, fmt::format("shape {} has a negative dimension", to_string(shape)),
                       {shape.to_vector()});
    }
    zero |= d == 0;
  }
  // Strides multiply the other dimensions of an empty tensor too.
  for (std::int64_t d : shape) {
    if (d != 0 && __builtin_mul_overflow(n, d, &n)) {
      throw ShapeError(
          op, fmt::format("shape {} has more bytes than 63 bits can count", to_string(shape)),
          {shape.to_vector()});
    }
  }
  return zero ? 0 : n / static_cast<std::int64_t>(element_size);
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  if (count(shape) == 0) return true;
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

Shape broadcast(const Shape& a, const Shape& b, std::string_view op) {
  Shape result = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const int lead = result.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    const std::int64_t d = shorter[i];
    std::int64_t& r = result[lead + i];
    if (d == r || d == 1) continue;
    // A size of 1 gives way to the other, and to any other size than 1 an unknown one must.
    if (r == 1 || r == kUnknown) {
      r = d;
    } else if (d != kUnknown) {
      throw ShapeError(op,
                       fmt::format("shapes {} and {} do not broadcast", to_string(Sizes(a)),
                                   to_string(Sizes(b))),
                       {a.to_vector(), b.to_vector()});
    }
  }
  return result;
}

Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& to) {
  Strides result = Strides::filled(to.size(), 0);
  const int lead = to.size() - shape.size();
  for (int i = 0; i < shape.size(); ++i) {
    result[lead + i] = shape[i] == 1 && to[lead + i] != 1 ? 0 : strides[i];
  }
  return result;
}

int normalize_axis(std::int64_t axis, int rank, std::string_view op) {
  if (axis < -rank || axis >= rank) {
    throw IndexError(op, fmt::format("axis {} is outside a tensor of rank {}", axis, rank), axis,
                     rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Axes normalize_axes(const Axes& axes, int rank, std::string_view op) {
  Axes result;
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (std::int64_t axis : axes) result.push_back(normalize_axis(axis, rank, op));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    throw ValueError(fmt::format("{}: axes {} name one axis twice", op, to_string(axes)));
  }
  return result;
}

}  // namespace tenure
