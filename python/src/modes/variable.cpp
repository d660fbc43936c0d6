#include "python/src/modes/variable.h"

#include <memory>

#include "python/src/core/bind.h"
#include "tenure/graph/variable.h"

namespace tenure::python {

bool is_variable(PyObject* object) noexcept {
  static const PyTypeObject* const type =
      reinterpret_cast<PyTypeObject*>(py::type::of<Variable>().release().ptr());
  return Py_TYPE(object) == type ||
         PyType_IsSubtype(Py_TYPE(object), const_cast<PyTypeObject*>(type)) != 0;
}

Tensor value_of_variable(PyObject* object) {
  return py::handle(object).cast<const Variable&>().value(caller());
}

void add_variable(Module& module) {
  py::class_<Variable> variable(module, "Variable", R"(A named tensor that can be changed.

It outlives scopes and holds its data until dispose() or until its last reference goes. Ops take it
like the tensor that it holds.)");
  variable
      .def(py::init([](const Tensor& initial, std::string name, bool trainable) {
             return Variable(Operand(initial, caller()), std::move(name), trainable);
           }),
           py::arg("initial"), py::arg("name") = "variable", py::arg("trainable") = true)
      .def_property_readonly("name", &Variable::name,
                             "Its name, with those of the scopes around it.")
      .def_property_readonly("trainable", &Variable::trainable,
                             "Whether tapes watch it without being told.")
      .def_property_readonly("dtype", &Variable::dtype, "Its element type.")
      .def_property_readonly("shape", &Variable::shape, "Its sizes.")
      .def_property_readonly(
          "ndim", [](const Variable& v) { return v.shape().size(); }, "How many axes it has.")
      .def_property_readonly(
          "created", [](const Variable& v) { return to_string(v.created()); },
          "The line that made it.")
      .def_property_readonly("is_disposed", &Variable::is_disposed, "Whether its data is given up.")
      .def_property_readonly(
          "value", [](const Variable& v) { return v.value(caller()); },
          "What it holds now; the tensor stays as it is when it is assigned to.")
      .def(
          "assign",
          [](const Variable& v, const Tensor& value) { v.assign(Operand(value, caller())); },
          py::arg("value"))
      .def(
          "assign_add",
          [](const Variable& v, const Tensor& value) { v.assign_add(Operand(value, caller())); },
          py::arg("value"))
      .def(
          "assign_sub",
          [](const Variable& v, const Tensor& value) { v.assign_sub(Operand(value, caller())); },
          py::arg("value"))
      .def(
          "to",
          [](const py::object& self, const py::object& device) {
            self.cast<const Variable&>().to(device_of(device.ptr(), "to(): device"), caller());
            return self;
          },
          py::arg("device"), "Moves what it holds to a device; gives the variable.")
      .def_property_readonly(
          "device", [](const Variable& v) { return name_of(v.device()); }, "Where its data lies.")
      .def("dispose", [](const Variable& v) { v.dispose(caller()); })
      .def("numpy", [](const Variable& v) { return py::cast(v.value(caller())).attr("numpy")(); })
      .def("item", [](const Variable& v) { return py::cast(v.value(caller())).attr("item")(); })
      .def("__getitem__",
           [](const Variable& v, const py::object& key) {
             return py::cast(v.value(caller()))[key].cast<py::object>();
           })
      .def("__len__", [](const Variable& v) { return py::len(py::cast(v.value(caller()))); })
      .def("__repr__", [](const Variable& v) {
        return "<Variable '" + v.name() + "' " + std::string(name_of(v.dtype())) +
               to_string(v.shape()) + ">";
      });
  // Operators are those of the tensor that it holds.
  for (const char* const name : {"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
                                 "lshift", "rshift", "and", "or", "xor"}) {
    const std::string plain = name;
    const auto with = [](bool is_reflected, const std::string& method) {
      return [is_reflected, method](const Variable& v, const py::object& other) -> py::object {
        const py::object value = py::cast(v.value(caller()));
        static_cast<void>(is_reflected);
        return value.attr(method.c_str())(other);
      };
    };
    variable.def(("__" + plain + "__").c_str(), with(false, "__" + plain + "__"),
                 py::is_operator());
    variable.def(("__r" + plain + "__").c_str(), with(true, "__r" + plain + "__"),
                 py::is_operator());
  }
  for (const char* const name : {"neg", "pos", "abs", "invert"}) {
    const std::string method = std::string("__") + name + "__";
    variable.def(method.c_str(), [method](const Variable& v) -> py::object {
      return py::cast(v.value(caller())).attr(method.c_str())();
    });
  }
  variable.attr("__array_ufunc__") = py::none();
}

}  // namespace tenure::python
