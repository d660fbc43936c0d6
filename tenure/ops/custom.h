#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/operand.h"

namespace tenure {

/// An op from outside the library. It runs wherever ops run: now, in graphs and functions, and
/// under a tape if its record has a gradient.
class CustomOp {
 public:
  explicit CustomOp(const ops::OpRecord& record);

  /// The first result of a call without attributes. Throws what infer and run throw.
  template <class... Rest>
  Tensor operator()(const Operand& first, const Rest&... rest) const {
    const std::array operands{first, operand(rest, first.site())...};
    return std::move(call(operands).front());
  }
  /// All results. Throws ValueError for fewer operands than any of its samples has.
  std::vector<Tensor> call(std::span<const Operand> operands,
                           const ops::Attributes& attributes = ops::kNoAttributes,
                           Site site = Site::current()) const;

  const ops::OpRecord& record() const { return *record_; }

 private:
  static Operand operand(const Operand& o, Site) { return o; }
  template <class T>
  static Operand operand(const T& value, Site site) {
    return Operand(value, site);
  }

  const ops::OpRecord* record_;
  std::size_t least_operands_;  // of its samples
};

/// Makes an op of a record (see ops/core/record.h), whose texts are copied, and of what computes it
/// on the CPU, unless it is a view or written in other ops. It lasts as long as the process. Throws
/// ValueError, which says what is missing or does not fit, or that an op of the name exists, and
/// since which line.
///
///     const CustomOp twice = define_op({.name = "twice",
///                                       .signature = "twice(x)",
///                                       .doc = "2 x",
///                                       .memory = ops::reuses(1),
///                                       .dtypes = ops::kFloatTypes,
///                                       .infer = ..., .samples = ...},
///                                      {.run = ...});
CustomOp define_op(const ops::OpRecord& record, const ops::KernelSlot& kernel = {},
                   Site site = Site::current());

/// All that were defined, the first one first.
std::vector<CustomOp> custom_ops();

}  // namespace tenure
