#pragma once

#include <span>
#include <vector>

#include "tenure/graph/ir/body.h"
#include "tenure/ops/core/backend.h"

// What a call of a control op is made of, for the rules of these ops (control_ops.cpp) and for
// their kernels (control_kernels.cpp).

namespace tenure::graph {

inline ops::Spec spec_of(const ops::View& view) { return {view.dtype, view.shape}; }

/// Of a scan: how many operands are the carry.
std::size_t carried(const ops::Kernel& kernel);
/// Of a scan: what it goes along, and how long that is.
std::span<const ops::View> scanned_of(const ops::Kernel& kernel);
std::int64_t scan_length(const ops::Kernel& kernel);

/// What the attributes and operands of a call are.
class ControlCall {
 public:
  explicit ControlCall(const ops::Kernel& kernel);
  /// As the bodies get them.
  std::span<const ops::Spec> operands() const {
    return std::span(specs_).first(specs_.size() - captured());
  }
  std::span<const ops::Spec> captures() const { return std::span(specs_).last(captured()); }
  std::size_t captured() const { return bodies.captures(); }
  /// What a body gives. Throws DTypeError or ShapeError unless it was written for such operands.
  std::vector<ops::Spec> infer(std::size_t body) const;

  const BodyPrograms& compiled() const { return compiled_in(kernel.attributes)->programs; }
  /// Where the bodies run.
  ops::Backend& device() const { return ops::backend(compiled()[0]->device()); }
  /// A truth value that a body, or whoever called, has computed there.
  bool read(const void* flag) const;

  const ops::Kernel& kernel;
  const Bodies& bodies;

 private:
  std::vector<ops::Spec> specs_;
};

}  // namespace tenure::graph
