#pragma once

#include <string>
#include <vector>

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
  using Layer::remove;

  /// The object that it is a part of, and that outlives it; it owns this.
  void set_object(PyObject* object) { object_ = object; }
  std::string describe() const override;

  /// forward() of whatever arguments, as a call of this layer; `tensors` are those among them.
  py::object call_python(const std::vector<Tensor>& tensors, const py::tuple& arguments,
                         const py::dict& keywords, Site site) const;

 protected:
  Tensor forward(Tensor x) const override;
  std::vector<Tensor> forward_all(std::vector<Tensor> inputs) const override;

 private:
  PyObject* object() const;

  PyObject* object_ = nullptr;
};

}  // namespace tenure::python
