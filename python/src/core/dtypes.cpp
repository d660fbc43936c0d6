#include <string>

#include "python/src/core/errors.h"
#include "python/src/core/numbers.h"
#include "tenure/tensor/dtype.h"

// tenure.float32 and its like: one object each.

namespace tenure::python {
namespace {

struct DTypeObject {
  PyObject_HEAD DType dtype;
};

extern PyTypeObject dtype_type;
Ref (&objects())[kDTypes] {
  static auto* const all = new Ref[1][kDTypes];
  return all[0];
}

DType of(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->dtype; }

PyObject* repr(PyObject* self) {
  return guarded([&] { return text("tenure." + std::string(name_of(of(self)))); });
}
PyObject* str(PyObject* self) {
  return guarded([&] { return text(std::string(name_of(of(self)))); });
}
PyObject* reduce(PyObject* self, PyObject* /*unused*/) {
  return guarded([&] { return text(std::string(name_of(of(self)))); });  // a global of the module
}
PyObject* name(PyObject* self, void* /*unused*/) { return str(self); }
PyObject* itemsize(PyObject* self, void* /*unused*/) {
  return PyLong_FromSize_t(size_of(of(self)));
}
PyObject* floating(PyObject* self, void* /*unused*/) {
  return PyBool_FromLong(is_floating(of(self)) ? 1 : 0);
}

/// Also equal to what else names the type: "float32", numpy.float32.
PyObject* compare(PyObject* self, PyObject* other, int comparison) {
  if ((comparison != Py_EQ && comparison != Py_NE) || !is_dtype(other)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] {
    bool is_equal = false;
    try {
      is_equal = dtype_of(other, "dtype") == of(self);
    } catch (const PythonError&) {
    }
    return Ref::to(is_equal == (comparison == Py_EQ) ? Py_True : Py_False);
  });
}
Py_hash_t hash(PyObject* self) {
  try {
    return PyObject_Hash(text(std::string(name_of(of(self)))).get());
  } catch (...) {
    set_error();
    return -1;
  }
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {
    {"name", name, nullptr, "Its name: 'float32'.", nullptr},
    {"itemsize", itemsize, nullptr, "Bytes of an element.", nullptr},
    {"is_floating", floating, nullptr, "Whether its elements are floats.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyTypeObject dtype_type = [] {
  PyTypeObject type = plain_type<DTypeObject>("tenure.DType");
  type.tp_doc = "An element type: tenure.float32 and its like.";
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_repr = repr;
  type.tp_str = str;
  type.tp_richcompare = compare;
  type.tp_hash = hash;
  type.tp_methods = methods;
  type.tp_getset = properties;
  return type;
}();

}  // namespace

Ref wrap(DType dtype) { return objects()[static_cast<int>(dtype)]; }

bool is_dtype(PyObject* object) noexcept {
  return Py_TYPE(object) == &dtype_type || PyUnicode_Check(object) != 0 ||
         PyType_Check(object) != 0 ||
         std::string_view(Py_TYPE(object)->tp_name).find("dtype") != std::string_view::npos;
}

DType dtype_of(PyObject* object, const char* what) {
  if (Py_TYPE(object) == &dtype_type) return of(object);
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::float32;
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int64;
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
  std::string name;
  if (PyUnicode_Check(object) != 0) {
    name = text_of(object, what);
  } else if (is_dtype(object)) {  // numpy.dtype has a name, numpy.float32 is a class of that name
    const char* const attribute = PyType_Check(object) != 0 ? "__name__" : "name";
    const Ref found = checked(PyObject_GetAttrString(object, attribute));
    name = text_of(found.get(), what);
  } else {
    raise(PyExc_TypeError, std::string(what) +
                               " must be an element type such as tenure.float32, not " +
                               type_name(object));
  }
  if (name == "bool_") name = "bool";
  for (int i = 0; i < kDTypes; ++i) {
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  std::string there;
  for (int i = 0; i < kDTypes; ++i) {
    there += (i == 0 ? "" : ", ") + std::string(name_of(static_cast<DType>(i)));
  }
  raise(error_class("DTypeError"),
        std::string(what) + ": '" + name + "' is no element type of Tenure's; there are " + there);
}

void add_dtypes(PyObject* module) {
  check(PyType_Ready(&dtype_type));
  check(PyModule_AddObjectRef(module, "DType", reinterpret_cast<PyObject*>(&dtype_type)));
  for (int i = 0; i < kDTypes; ++i) {
    auto* const object = PyObject_New(DTypeObject, &dtype_type);
    if (object == nullptr) throw PythonError();
    object->dtype = static_cast<DType>(i);
    objects()[i] = Ref::take(reinterpret_cast<PyObject*>(object));
    const std::string name(name_of(object->dtype));
    check(PyObject_SetAttrString(module, name.c_str(), objects()[i].get()));
  }
}

}  // namespace tenure::python
