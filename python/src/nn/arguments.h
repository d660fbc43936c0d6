#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/src/core/bind.h"
#include "tenure/data/dataset.h"
#include "tenure/nn/fit.h"
#include "tenure/nn/init.h"
#include "tenure/nn/schedule.h"

// What Python passes to layers, optimizers and training, as C++ takes it.

namespace tenure::python {

/// A callable of Python's in C++'s hands, on whatever thread that ends.
std::shared_ptr<PyObject> held(const py::object& object);

/// A batch's inputs or targets, a model's outputs: a tensor, or several as a tuple.
Ref one_or_tuple(const std::vector<Tensor>& tensors);
std::vector<Tensor> one_or_several(const py::object& object, const char* what);

/// What makes a parameter's first value, and the rate of each step, as Python has them.
struct PythonInitializer {
  nn::Initializer function;
};
struct PythonSchedule {
  nn::Schedule function;
};

/// How a type comes from an object; raises an error that begins with `what`. What ops take too
/// comes as it does there.
template <class T>
struct Argument {
  static T of(const py::object& object, const char* what) {
    return From<T>::of(object.ptr(), what);
  }
};
template <>
struct Argument<std::uint64_t> {
  static std::uint64_t of(const py::object& object, const char* what);
};
/// A path may be whatever os.fspath() takes.
template <>
struct Argument<std::string> {
  static std::string of(const py::object& object, const char* what);
};
/// A name of tn.nn.init, what one of its functions gives, or f(shape, dtype).
template <>
struct Argument<nn::Initializer> {
  static nn::Initializer of(const py::object& object, const char* what);
};
/// What a function of tn.nn.schedule gives, or f(step).
template <>
struct Argument<nn::Schedule> {
  static nn::Schedule of(const py::object& object, const char* what);
};
/// f(prediction, target), which gives one number; where there are several of either, they are
/// tuples.
template <>
struct Argument<nn::Loss> {
  static nn::Loss of(const py::object& object, const char* what);
};
/// A model, whose parameters that are not frozen are meant, or a list of variables.
template <>
struct Argument<std::vector<nn::NamedVariable>> {
  static std::vector<nn::NamedVariable> of(const py::object& object, const char* what);
};
/// A list of objects of one class; None is not one of them.
template <class T>
std::vector<T> list_of(const py::object& object, const char* what, const char* kind) {
  const Ref items = checked(
      PySequence_Fast(object.ptr(), (std::string(what) + " must be a list of " + kind).c_str()));
  std::vector<T> made;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const py::handle item = PySequence_Fast_GET_ITEM(items.get(), i);
    py::detail::make_caster<T> caster;
    if (item.is_none() || !caster.load(item, false)) {
      raise(PyExc_TypeError,
            std::string(what) + " must be a list of " + kind + ", not of " + type_name(item.ptr()));
    }
    made.push_back(py::detail::cast_op<T>(caster));
  }
  return made;
}
template <>
struct Argument<std::vector<nn::Metric>> {
  static std::vector<nn::Metric> of(const py::object& object, const char* what) {
    return list_of<nn::Metric>(object, what, "Metric");
  }
};
template <>
struct Argument<std::vector<std::shared_ptr<nn::Callback>>> {
  static std::vector<std::shared_ptr<nn::Callback>> of(const py::object& object, const char* what);
};
/// "auto", "bar", "lines", "none"
template <>
struct Argument<nn::Progress> {
  static nn::Progress of(const py::object& object, const char* what);
};
template <>
struct Argument<std::optional<nn::LossScale>> {
  static std::optional<nn::LossScale> of(const py::object& object, const char* what);
};
template <>
struct Argument<std::optional<data::Dataset>> {
  static std::optional<data::Dataset> of(const py::object& object, const char* what);
};

/// Sets an option; where None is what it is unless set, that leaves it.
template <class T>
void into(T& option, const py::object& object, const char* what, bool none_leaves_it) {
  if (none_leaves_it && object.is_none()) return;
  option = Argument<T>::of(object, what);
}
/// The same for a number of bytes, or a text like "64 MiB".
inline void into_bytes(std::optional<std::int64_t>& option, const py::object& object,
                       const char* what, bool /*none_leaves_it*/) {
  if (!object.is_none()) option = static_cast<std::int64_t>(bytes_of(object.ptr(), what));
}

}  // namespace tenure::python
