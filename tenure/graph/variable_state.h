#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "tenure/tensor/tensor.h"

namespace tenure::graph {

/// What the copies of a variable share. Any thread may use it.
class VariableState {
 public:
  /// `value` is contiguous and nobody else's.
  VariableState(std::string name, bool trainable, Tensor value, Site site);

  const std::uint64_t number;  ///< no two variables of a process have the same
  const std::string name;
  const bool trainable;
  const DType dtype;
  const Shape shape;
  const Site created;

  /// What it holds now.
  Tensor value() const;
  /// Takes over a tensor that is contiguous and nobody else's. Throws ShapeError or DTypeError, and
  /// DisposedError if the variable was disposed.
  void replace(Tensor value, Site site);
  /// Throws ShapeError or DTypeError unless such a tensor may be assigned.
  void require_fit(DType type, const Shape& dims) const;
  void dispose(Site site) const;

 private:
  static Tensor prepared(Tensor value, const std::string& name);

  mutable std::mutex mutex_;
  Tensor value_;
};

}  // namespace tenure::graph
