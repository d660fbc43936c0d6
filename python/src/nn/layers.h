#pragma once

#include <string>

#include "python/src/core/bind.h"
#include "tenure/nn/layer.h"

namespace tenure::python {

/// A layer that is written in Python: applying it calls the object's forward().
class PythonLayer : public nn::Layer {
 public:
  PythonLayer(std::string kind, Site site) : Layer(std::move(kind), site) {}

  using Layer::add;
  using Layer::add_buffer;
  using Layer::add_parameter;

  /// The object that it is a part of, and that outlives it; it owns this.
  void set_object(PyObject* object) { object_ = object; }
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  PyObject* object_ = nullptr;
};

}  // namespace tenure::python
