#include "python/src/nn/arguments.h"

namespace tenure::python {
namespace {

/// f(arguments...) on a thread that need not have the interpreter's lock.
template <class... Arguments>
Ref call_held(PyObject* function, Arguments... arguments) {
  PyObject* const places[] = {arguments.get()...};
  return checked(PyObject_Vectorcall(function, places, sizeof...(Arguments), nullptr));
}

void require_callable(const py::object& object, const char* what, const char* kind) {
  if (PyCallable_Check(object.ptr()) != 0) return;
  raise(PyExc_TypeError,
        std::string(what) + " must be " + kind + ", not " + type_name(object.ptr()));
}

}  // namespace

std::shared_ptr<PyObject> held(const py::object& object) {
  return {Py_NewRef(object.ptr()), [](PyObject* held) { release_later(held); }};
}

std::uint64_t Argument<std::uint64_t>::of(const py::object& object, const char* what) {
  const std::int64_t value = integer_of(object.ptr(), what);
  if (value < 0) raise(PyExc_ValueError, std::string(what) + " must not be negative");
  return static_cast<std::uint64_t>(value);
}

std::string Argument<std::string>::of(const py::object& object, const char* what) {
  if (PyUnicode_Check(object.ptr()) != 0) return text_of(object.ptr(), what);
  const Ref path = Ref::take(PyOS_FSPath(object.ptr()));
  if (!path) {
    PyErr_Clear();
    return text_of(object.ptr(), what);  // says what it must be
  }
  return text_of(path.get(), what);
}

nn::Initializer Argument<nn::Initializer>::of(const py::object& object, const char* what) {
  if (py::isinstance<PythonInitializer>(object))
    return object.cast<const PythonInitializer&>().function;
  if (PyUnicode_Check(object.ptr()) != 0) {
    const std::string name = text_of(object.ptr(), what);
    const py::object all = py::module_::import("tenure._tenure").attr("_nn").attr("init");
    if (name.starts_with('_') || !py::hasattr(all, name.c_str()))
      throw ValueError(std::string(what) + " is '" + name +
                       "'; tn.nn.init has 'glorot_uniform', 'he_normal' and others");
    return of(all.attr(name.c_str())(), what);
  }
  require_callable(object, what, "a name, a function f(shape, dtype) or one of tn.nn.init");
  return [f = held(object)](const Shape& shape, nn::Fans /*fans*/, DType dtype, Site /*site*/) {
    const WithLock lock;
    const Ref made = call_held(f.get(), tuple_of(shape.begin(), shape.size()), wrap(dtype));
    return From<Tensor>::of(made.get(), "what an initializer gives");
  };
}

nn::Schedule Argument<nn::Schedule>::of(const py::object& object, const char* what) {
  if (py::isinstance<PythonSchedule>(object)) return object.cast<const PythonSchedule&>().function;
  require_callable(object, what, "a function f(step) or one of tn.nn.schedule");
  return [f = held(object)](std::int64_t step) {
    const WithLock lock;
    const Ref made = call_held(f.get(), checked(PyLong_FromLongLong(step)));
    return number_of(made.get(), "what a schedule gives");
  };
}

nn::Loss Argument<nn::Loss>::of(const py::object& object, const char* what) {
  require_callable(object, what, "a function f(prediction, target)");
  const auto of_all = [f = held(object)](const nn::Tensors& predictions,
                                         const nn::Tensors& targets) {
    const WithLock lock;
    const Ref made = call_held(f.get(), one_or_tuple(predictions), one_or_tuple(targets));
    return From<Tensor>::of(made.get(), "a loss");
  };
  return {[of_all](const Tensor& prediction, const Tensor& target) {
            return of_all({prediction}, {target});
          },
          of_all};
}

Ref one_or_tuple(const std::vector<Tensor>& tensors) {
  if (tensors.size() == 1) return wrap(tensors.front());
  Ref all = checked(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), wrap(tensors[i]).release());
  }
  return all;
}

std::vector<Tensor> one_or_several(const py::object& object, const char* what) {
  if (PyTuple_Check(object.ptr()) == 0) return {From<Tensor>::of(object.ptr(), what)};
  std::vector<Tensor> all;
  for (const py::handle item : object) all.push_back(From<Tensor>::of(item.ptr(), what));
  return all;
}

std::vector<nn::NamedVariable> Argument<std::vector<nn::NamedVariable>>::of(
    const py::object& object, const char* what) {
  if (py::isinstance<nn::Layer>(object)) return object.cast<const nn::Layer&>().trainable();
  const Ref items = checked(PySequence_Fast(
      object.ptr(), (std::string(what) + " must be a layer or a list of variables").c_str()));
  std::vector<nn::NamedVariable> variables;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const py::handle item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (py::isinstance<nn::NamedVariable>(item)) {
      variables.push_back(item.cast<nn::NamedVariable>());
    } else if (py::isinstance<Variable>(item)) {
      const auto& variable = item.cast<const Variable&>();
      variables.push_back({variable.name(), variable});
    } else {
      raise(PyExc_TypeError, std::string(what) +
                                 " must be a layer or a list of variables, not of " +
                                 type_name(item.ptr()));
    }
  }
  return variables;
}

std::optional<nn::LossScale> Argument<std::optional<nn::LossScale>>::of(const py::object& object,
                                                                        const char* what) {
  if (object.is_none()) return std::nullopt;
  return object_of<nn::LossScale>(object, what, "a LossScale");
}

std::optional<data::Dataset> Argument<std::optional<data::Dataset>>::of(const py::object& object,
                                                                        const char* what) {
  if (object.is_none()) return std::nullopt;
  return object_of<data::Dataset>(object, what, "a Dataset");
}

}  // namespace tenure::python
