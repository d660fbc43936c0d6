#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/reduce/reduce_plan.h"
#include "tenure/kernels/view.h"

// Targets that are classes, one for each row. In classes.cpp.

namespace tenure::kernels {

class Classes {
 public:
  /// int32 or int64, any strides.
  explicit Classes(const View& targets);

  std::int64_t operator[](std::int64_t row) const { return at(walk_.offset(row)); }
  /// How many rows count. Throws IndexError, in the name of `op`, for one that is neither a class
  /// nor ignored.
  std::int64_t checked(const char* op, std::int64_t classes, std::int64_t ignore_index) const;

 private:
  std::int64_t at(std::int64_t offset) const {
    return targets_.dtype == DType::int64 ? targets_.as<const std::int64_t>()[offset]
                                          : targets_.as<const std::int32_t>()[offset];
  }

  const View& targets_;
  reduce::Walk walk_;
};

/// out = x at the class of each row, over the last axis; 0 where that is the ignored one. Throws
/// as checked() does, before anything is written.
void class_values(const char* op, std::int64_t ignore_index, const View& x, const View& classes,
                  const View& out);

}  // namespace tenure::kernels
