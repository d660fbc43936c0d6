#include "python/src/core/refusals.h"

#include <string_view>

namespace tenure::python {
namespace {

Ref& writer() {
  static auto* const function = new Ref;
  return *function;
}

PyCFunctionWithKeywords dispatcher = nullptr;  // pybind11's, for each of its functions
newfunc make_object = nullptr;                 // of what all its classes derive from

/// The TypeError that is set, if pybind11 has lists of signatures in it, as a sentence.
void set_sentence(PyObject* arguments, PyObject* keywords) {
  const PythonError given;
  given.restore();
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Ref words = Ref::take(value == nullptr ? nullptr : PyObject_Str(value));
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  const char* const text = words ? PyUnicode_AsUTF8(words.get()) : nullptr;
  PyErr_Clear();
  if (text != nullptr && std::string_view(text).find("incompatible ") != std::string_view::npos) {
    const Ref names = keywords == nullptr ? Ref::take(PyDict_New()) : Ref::to(keywords);
    const Ref sentence = Ref::take(
        PyObject_CallFunctionObjArgs(writer().get(), words.get(), arguments, names.get(), nullptr));
    if (sentence) return PyErr_SetObject(PyExc_TypeError, sentence.get());
    PyErr_Clear();
  }
  given.restore();
}

PyObject* call(PyObject* self, PyObject* arguments, PyObject* keywords) {
  PyObject* const result = dispatcher(self, arguments, keywords);
  if (result == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0 && writer())
    set_sentence(arguments, keywords);
  return result;
}

PyMethodDef* definition_of(PyObject* function) {
  if (PyInstanceMethod_Check(function)) function = PyInstanceMethod_GET_FUNCTION(function);
  if (PyCFunction_Check(function) == 0) return nullptr;
  return reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
}
PyCFunctionWithKeywords function_of(const PyMethodDef& definition) {
  const auto untyped = reinterpret_cast<void (*)()>(definition.ml_meth);
  return reinterpret_cast<PyCFunctionWithKeywords>(untyped);
}

void wrap_function(const py::handle& object) {
  PyMethodDef* const definition = definition_of(object.ptr());
  if (definition == nullptr || function_of(*definition) != dispatcher) return;
  definition->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call));
}

/// A function of a module, or what a class has: methods, static ones, properties.
void wrap_functions(const py::handle& value) {
  wrap_function(value);
  for (const char* const part : {"__func__", "fget", "fset"}) {
    if (Py_TYPE(value.ptr()) != &PyProperty_Type && Py_TYPE(value.ptr()) != &PyStaticMethod_Type)
      return;
    if (py::hasattr(value, part)) wrap_function(value.attr(part));
  }
}

py::detail::type_info* class_of(const py::handle& value) {
  if (PyType_Check(value.ptr()) == 0) return nullptr;
  return py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr()));
}

/// Of what all classes derive from, and of that alone, there are no objects: pybind11 would end the
/// process. object.__reduce__() asks for one.
PyObject* make_or_refuse(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  if (!py::detail::all_type_info(type).empty()) return make_object(type, arguments, keywords);
  PyErr_SetString(PyExc_TypeError,
                  "what all classes of Tenure derive from has no objects, and copies none");
  return nullptr;
}

void refuse_in(const py::handle& module) {
  for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(module.attr("__dict__"))) {
    if (PyModule_Check(value.ptr()) != 0) refuse_in(value);
    wrap_functions(value);
    py::detail::type_info* const type = class_of(value);
    if (type == nullptr) continue;
    for (const auto& [key, member] : py::dict(value.attr("__dict__"))) wrap_functions(member);
    // An object that was made by __new__() alone (a pickle may say so) has nothing behind it: to
    // use it is an error, where pybind11 would give memory that nobody has filled in.
    type->operator_new = [](std::size_t) -> void* {
      throw ValueError(
          "an object that was never made: its __init__() has not been called; that of a class that "
          "derives from one of Tenure's begins with super().__init__()");
    };
  }
}

}  // namespace

void set_refusal_writer(PyObject* function) { writer() = Ref::to(function); }

void refuse_in_sentences(Module& module) {
  dispatcher = function_of(*definition_of(py::cpp_function([] {}).ptr()));
  refuse_in(module);
}

void refuse_bare_objects() {
  auto* const base = reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base);
  make_object = base->tp_new;
  base->tp_new = make_or_refuse;
}

}  // namespace tenure::python
