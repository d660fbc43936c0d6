#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "tenure/tensor/shape.h"

namespace tenure {

/// A dimension of a symbolic tensor that is known only when it runs.
inline constexpr std::int64_t kUnknown = -1;

/// The sizes of a tensor. Of a symbol some may be unknown until a graph runs: those are no numbers,
/// so to read one throws GraphError, which says what to do. Everything else is as of any Shape,
/// in which they are kUnknown.
class Sizes : public Shape {
 public:
  explicit Sizes(const Shape& shape) : Shape(shape) {}

  bool is_known(int i) const { return Shape::operator[](i) >= 0; }
  bool is_known() const {
    std::int64_t signs = 0;
    for (int i = 0; i < size(); ++i) signs |= Shape::operator[](i);
    return signs >= 0;
  }

  std::int64_t operator[](int i) const {
    if (!is_known(i)) [[unlikely]]
      throw_unknown(i);
    return Shape::operator[](i);
  }
  std::int64_t back() const { return (*this)[size() - 1]; }
  const std::int64_t* begin() const {
    if (!is_known()) [[unlikely]]
      throw_unknown(first_unknown());
    return Shape::begin();
  }
  const std::int64_t* end() const { return Shape::end(); }

 private:
  int first_unknown() const;
  [[noreturn]] void throw_unknown(int i) const;
};

/// "[?, 3]"
std::string to_string(const Sizes& sizes);
std::ostream& operator<<(std::ostream& out, const Sizes& sizes);

/// Whether a size is known only in a run.
inline bool has_unknown(const Shape& shape) {
  std::int64_t signs = 0;
  for (int i = 0; i < shape.size(); ++i) signs |= shape[i];
  return signs < 0;
}

}  // namespace tenure
