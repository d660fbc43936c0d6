#include <memory>
#include <optional>

#include "python/src/core/bind.h"
#include "tenure/autograd/custom.h"
#include "tenure/autograd/tape.h"

namespace tenure::python {
namespace {

/// A tape that records from __enter__ to __exit__, and gives gradients also after that.
class TapeBlock {
 public:
  TapeBlock(bool persistent, bool watch_variables)
      : options_{.persistent = persistent, .watch_variables = watch_variables} {}

  TapeBlock& begin() {
    if (tape_) throw ValueError("the tape is entered already; make one for each `with`");
    tape_ = std::make_unique<GradientTape>(options_, caller());
    return *this;
  }
  void end() { pause_.reset(new GradientTape::Pause(tape().stop_recording())); }
  GradientTape& tape() const {
    if (!tape_) throw ValueError("a tape records in its `with`, which has not begun");
    return *tape_;
  }

 private:
  GradientTape::Options options_;
  std::unique_ptr<GradientTape> tape_;
  std::unique_ptr<GradientTape::Pause> pause_;  // ends before the tape
};

Unconnected unconnected_of(const std::string& name) {
  if (name == "error") return Unconnected::error;
  if (name == "zero") return Unconnected::zero;
  if (name == "none") return Unconnected::none;
  throw ValueError("unconnected is '" + name + "'; there are 'error', 'zero', 'none'");
}

std::vector<Tensor> gradients(const TapeBlock& block, const Tensor& target, const py::list& sources,
                              const std::string& unconnected,
                              const std::optional<Tensor>& output_gradient) {
  GradientOptions options{.unconnected = unconnected_of(unconnected)};
  if (output_gradient) options.output_gradient = *output_gradient;
  std::vector<Tensor> tensors;
  std::vector<Variable> variables;
  for (const py::handle source : sources) {
    if (is_tensor(source.ptr())) {
      tensors.push_back(tensor_of(source.ptr()));
    } else {
      variables.push_back(object_of<Variable>(source, "a source", "a Tensor or a Variable"));
    }
  }
  if (!tensors.empty() && !variables.empty()) {
    throw ValueError("the sources of one gradient are tensors or variables, not both");
  }
  const Site site = caller();
  const WithoutLock unlocked;
  if (variables.empty()) return block.tape().gradient(target, tensors, options, site);
  return block.tape().gradient(target, variables, options, site);
}

/// A function of Python's that lives as long as C++ holds it, on whatever thread that ends.
std::shared_ptr<PyObject> held(const py::function& function) {
  return {Py_NewRef(function.ptr()), [](PyObject* object) { release_later(object); }};
}

Ref call(PyObject* function, std::initializer_list<Ref> arguments) {
  std::vector<PyObject*> places;
  for (const Ref& argument : arguments) places.push_back(argument.get());
  return checked(PyObject_Vectorcall(function, places.data(), places.size(), nullptr));
}

/// forward(*inputs) gives (result, saved); backward(saved, gradient) a gradient for each input.
Tensor call_custom(const std::shared_ptr<const ops::Opaque>& identity,
                   const std::vector<Tensor>& inputs, const py::function& forward,
                   const py::function& backward) {
  const std::shared_ptr<PyObject> back = held(backward);
  return autograd::call_custom(
      identity, inputs,
      [&](Saves& saves) {
        const WithLock lock;
        const Ref made = call(forward.ptr(), {wrap_all(inputs)});
        if (PyTuple_Check(made.get()) == 0 || PyTuple_GET_SIZE(made.get()) != 2)
          raise(PyExc_TypeError, "forward must give (result, saved), not " + type_name(made.get()));
        PyObject* const result = PyTuple_GET_ITEM(made.get(), 0);
        PyObject* const saved = PyTuple_GET_ITEM(made.get(), 1);
        for (const Tensor& tensor : From<std::vector<Tensor>>::of(saved, "what is saved"))
          saves(tensor);
        return From<Tensor>::of(result, "the result");
      },
      [back](const std::vector<Tensor>& saved, const Tensor& gradient) {
        const WithLock lock;
        const Ref made = call(back.get(), {wrap_all(saved), wrap(gradient)});
        const Ref items =
            checked(PySequence_Fast(made.get(), "backward gives a list of gradients"));
        std::vector<Tensor> results;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
          PyObject* const item = PySequence_Fast_GET_ITEM(items.get(), i);
          results.push_back(item == Py_None ? Tensor() : From<Tensor>::of(item, "a gradient"));
        }
        return results;
      },
      caller());
}

}  // namespace

void add_tape(Module& module) {
  py::class_<TapeBlock>(module, "_Tape")
      .def(py::init<bool, bool>(), py::arg("persistent"), py::arg("watch_variables"))
      .def("__enter__", &TapeBlock::begin, py::return_value_policy::reference)
      .def("__exit__",
           [](TapeBlock& block, const py::args& /*error*/) {
             block.end();
             return false;
           })
      .def("_watch",
           [](const TapeBlock& block, const py::object& source) {
             if (is_tensor(source.ptr())) {
               block.tape().watch(tensor_of(source.ptr()), caller());
             } else {
               block.tape().watch(object_of<Variable>(source, "a source", "a Tensor or a Variable"),
                                  caller());
             }
           })
      .def("_gradients", gradients, py::arg("target"), py::arg("sources"), py::arg("unconnected"),
           py::arg("output_gradient"))
      .def(
          "jacobian",
          [](const TapeBlock& block, const Tensor& target, const Tensor& source,
             const std::string& unconnected) {
            return block.tape().jacobian(target, source, unconnected_of(unconnected), caller());
          },
          py::arg("target"), py::arg("source"), py::arg("unconnected") = "error",
          "The derivative of every element of the target by every element of the source.")
      .def(
          "saved", [](const TapeBlock& block) { return to_string(block.tape().saved()); },
          "What the tape holds for the way back, a line each.")
      .def_property_readonly(
          "saved_bytes", [](const TapeBlock& block) { return block.tape().saved().bytes; },
          "Bytes that it holds for the gradients.");
  py::class_<ops::Opaque, std::shared_ptr<ops::Opaque>>(module, "_CustomIdentity")
      .def(py::init<>());
  module.def("_call_custom",
             [](const std::shared_ptr<ops::Opaque>& identity, const std::vector<Tensor>& inputs,
                const py::function& forward, const py::function& backward) {
               return call_custom(identity, inputs, forward, backward);
             });
}

}  // namespace tenure::python
