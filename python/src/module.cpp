#include "python/src/arrays/buffer.h"
#include "python/src/arrays/from_object.h"
#include "python/src/core/bind.h"
#include "python/src/core/cells.h"
#include "python/src/ops/function.h"
#include "python/src/tensor/indexing.h"
#include "tenure/ops/core/record.h"

namespace tenure::python {
namespace {

/// What C++ throws through pybind11 becomes the same exceptions as everywhere.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const py::error_already_set&) {
    throw;
  } catch (const py::builtin_exception&) {
    throw;
  } catch (...) {
    set_error();
  }
}

/// What the records say of all ops: name, family, signature, sentence and memory effect.
py::list op_records() {
  py::list records;
  for (const ops::OpRecord* const record : ops::all_ops()) {
    py::dict row;
    row["name"] = record->name;
    row["family"] = record->family;
    row["signature"] = record->signature;
    row["doc"] = record->doc;
    row["memory"] = ops::to_string(record->memory);
    row["has_gradient"] = record->gradient != nullptr || record->expand != nullptr;
    records.append(row);
  }
  return records;
}

/// An object that was made by __new__() alone (a pickle may say so) has nothing behind it: to use
/// it is an error, where pybind11 would give memory that nobody has filled in.
void refuse_unmade(const py::handle& module) {
  for (const auto& [name, value] : module.attr("__dict__").cast<py::dict>()) {
    if (PyModule_Check(value.ptr()) != 0) refuse_unmade(value);
    if (PyType_Check(value.ptr()) == 0) continue;
    auto* const type = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr()));
    if (type == nullptr) continue;
    type->operator_new = [](std::size_t) -> void* {
      throw ValueError("an object that was never made: its __init__() has not been called");
    };
  }
}

void fill(Module& module) {
  PyObject* const object = module.ptr();
  prepare_for_forks();
  add_errors(object);
  add_dtypes(object);
  add_tensor_type(object);
  add_export_type(object);
  add_functions(object);
  add_index_functions(object);
  add_array_functions(object);
  add_generator(module);
  add_memory(module);
  add_lifetimes(module);
  add_variable(module);
  add_tape(module);
  add_function(module);
  add_graph(module);
  add_custom_op(module);
  add_nn(module);
  module.def("op_records", op_records);
  refuse_unmade(module);
  py::module_::import("atexit").attr("register")(py::cpp_function(&let_threads_end));
  module.def("_set_package_folder",
             [](const std::string& folder) { set_package_folder(folder.c_str()); });
  module.def("_set_file_namer", [](const py::object& namer) { set_file_namer(namer.ptr()); });
  module.def("_set_operand_finder",
             [](const py::object& finder) { set_operand_finder(finder.ptr()); });
}

}  // namespace
}  // namespace tenure::python

PYBIND11_MODULE(_tenure, module) {
  pybind11::register_exception_translator(tenure::python::translate);
  try {
    tenure::python::fill(module);
  } catch (const tenure::python::PythonError& error) {
    error.restore();
    throw pybind11::error_already_set();
  }
}
