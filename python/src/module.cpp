#include "python/src/arrays/buffer.h"
#include "python/src/arrays/from_object.h"
#include "python/src/core/bind.h"
#include "python/src/core/cells.h"
#include "python/src/core/refusals.h"
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
  } catch (const py::cast_error&) {
    PyErr_SetString(PyExc_TypeError, "an object is not of the type that it must have here");
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

void fill(Module& module) {
  PyObject* const object = module.ptr();
  prepare_for_forks();
  refuse_bare_objects();
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
  refuse_in_sentences(module);
  py::module_::import("atexit").attr("register")(py::cpp_function(&let_threads_end));
  module.def("_set_package_folder",
             [](const std::string& folder) { set_package_folder(folder.c_str()); });
  module.def("_set_refusal_writer",
             [](const py::object& writer) { set_refusal_writer(writer.ptr()); });
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
