#include <array>

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
  module.def("_set_library_folder",
             [](const std::string& folder) { set_library_folder(folder.c_str()); });
  module.def("_set_refusal_writer",
             [](const py::object& writer) { set_refusal_writer(writer.ptr()); });
  module.def("_set_file_namer", [](const py::object& namer) { set_file_namer(namer.ptr()); });
  module.def("_set_operand_finder",
             [](const py::object& finder) { set_operand_finder(finder.ptr()); });
}

/// Types, errors and lists are the process's: a second interpreter would find those of the first.
/// Who imports it again gets the same module.
PyObject* create(PyObject* spec, PyModuleDef* /*definition*/) {
  static PyObject* module = nullptr;
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "tenure is for the main interpreter of a process, not for subinterpreters");
    return nullptr;
  }
  if (module == nullptr) {
    const Ref name = Ref::take(PyObject_GetAttrString(spec, "name"));
    if (name) module = PyModule_NewObject(name.get());
  }
  Py_XINCREF(module);
  return module;
}

/// What sys.modules has of it after it was forgotten there and imported again.
int list_again(PyObject* module) {
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* key = nullptr;
  PyObject* part = nullptr;
  for (Py_ssize_t i = 0; PyDict_Next(PyModule_GetDict(module), &i, &key, &part) != 0;) {
    if (PyModule_Check(part) == 0) continue;
    const Ref name = Ref::take(PyModule_GetNameObject(part));
    if (!name || PyObject_SetItem(modules, name.get(), part) != 0) return -1;
  }
  return 0;
}

int execute(PyObject* object) {
  static bool is_filled = false;
  if (is_filled) return list_again(object);
  try {
    PYBIND11_ENSURE_INTERNALS_READY
    py::register_exception_translator(translate);
    auto module = py::reinterpret_borrow<Module>(object);
    fill(module);
    is_filled = true;
    return 0;
  } catch (const PythonError& error) {
    error.restore();
  } catch (py::error_already_set& error) {
    py::raise_from(error, PyExc_ImportError, "initialization failed");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
  }
  return -1;
}

std::array slots = {
    PyModuleDef_Slot{Py_mod_create, reinterpret_cast<void*>(create)},
    PyModuleDef_Slot{Py_mod_exec, reinterpret_cast<void*>(execute)},
#if PY_VERSION_HEX >= 0x030C0000
    PyModuleDef_Slot{Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    PyModuleDef_Slot{0, nullptr},
};
PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                          .m_name = "_tenure",
                          .m_doc = nullptr,
                          .m_size = 0,
                          .m_methods = nullptr,
                          .m_slots = slots.data(),
                          .m_traverse = nullptr,
                          .m_clear = nullptr,
                          .m_free = nullptr};

}  // namespace
}  // namespace tenure::python

// Not by PYBIND11_MODULE, which makes a module in any interpreter.
PyMODINIT_FUNC PyInit__tenure() { return PyModuleDef_Init(&tenure::python::definition); }
