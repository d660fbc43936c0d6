#include <sstream>

#include "python/src/arrays/buffer.h"
#include "python/src/arrays/dlpack.h"
#include "python/src/core/errors.h"
#include "python/src/core/numbers.h"
#include "python/src/core/sites.h"
#include "python/src/tensor/object.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/introspect.h"

// tenure.Tensor: what it knows of itself, and how its elements leave it. Its operators, indices and
// buffers are in files of their own, and its other methods come from ops/function.cpp.

namespace tenure::python {
namespace {

using Get = Ref (*)(const Tensor&, Site);
template <Get get>
PyObject* property(PyObject* self, void* /*unused*/) {
  return guarded([&] { return get(tensor_of(self), caller()); });
}
template <Get get>
PyObject* method(PyObject* self, PyObject* /*unused*/) {
  return guarded([&] { return get(tensor_of(self), caller()); });
}

Ref boolean(bool value) { return Ref::to(value ? Py_True : Py_False); }

/// A size that only a run knows is None.
Ref shape(const Tensor& tensor, Site site) {
  const Shape& sizes = tensor.shape(site);
  Ref tuple = checked(PyTuple_New(sizes.size()));
  for (int i = 0; i < sizes.size(); ++i) {
    Ref size = sizes[i] < 0 ? Ref::to(Py_None) : checked(PyLong_FromLongLong(sizes[i]));
    PyTuple_SET_ITEM(tuple.get(), i, size.release());
  }
  return tuple;
}
Ref strides(const Tensor& tensor, Site site) {
  const Strides& steps = tensor.strides(site);
  return tuple_of(steps.begin(), steps.size());
}
Ref dtype(const Tensor& tensor, Site site) { return wrap(tensor.dtype(site)); }
Ref device(const Tensor& tensor, Site site) { return text(name_of(tensor.device(site))); }
Ref rank(const Tensor& tensor, Site site) { return checked(PyLong_FromLong(tensor.rank(site))); }
Ref size(const Tensor& tensor, Site site) {
  return checked(PyLong_FromLongLong(tensor.size(site)));
}
Ref nbytes(const Tensor& tensor, Site site) {
  return checked(PyLong_FromSize_t(tensor.nbytes(site)));
}
Ref itemsize(const Tensor& tensor, Site site) {
  return checked(PyLong_FromSize_t(size_of(tensor.dtype(site))));
}
Ref id(const Tensor& tensor, Site site) {
  return checked(PyLong_FromUnsignedLongLong(tensor.id(site)));
}
Ref name(const Tensor& tensor, Site site) { return text(tensor.name(site)); }
Ref op(const Tensor& tensor, Site site) { return text(tensor.op(site)); }
Ref created(const Tensor& tensor, Site site) { return text(to_string(tensor.created(site))); }
Ref scope(const Tensor& tensor, Site site) { return text(tensor.scope(site)); }
/// One that donate() has given away is empty: its data is gone, and its metadata with it.
Ref is_disposed(const Tensor& tensor, Site site) {
  return boolean(!tensor.defined() || tensor.is_disposed(site));
}
Ref disposed(const Tensor& tensor, Site site) {
  if (!tensor.defined()) return text("by donate()");
  if (!tensor.is_disposed(site)) return Ref::to(Py_None);
  const TensorBody& body = tensor.body("disposed", site);
  return text(to_string(body.disposed()) + " by " + body.disposed_by());
}
Ref is_symbolic(const Tensor& tensor, Site site) { return boolean(tensor.is_symbolic(site)); }
Ref is_contiguous(const Tensor& tensor, Site site) { return boolean(tensor.is_contiguous(site)); }
/// All axes in reverse, as NumPy has it.
Ref transposed(const Tensor& tensor, Site site) {
  Axes order;
  for (int i = tensor.rank(site) - 1; i >= 0; --i) order.push_back(i);
  return wrap(permute(Operand(tensor, site), order));
}

int set_name(PyObject* self, PyObject* value, void* /*unused*/) {
  return guarded_status([&] {
    if (value == nullptr) raise(PyExc_AttributeError, "a tensor always has a name");
    tensor_of(self).set_name(text_of(value, "the name"), caller());
  });
}

Ref dispose(const Tensor& tensor, Site site) {
  if (tensor.defined()) tensor.dispose(site);
  release_waiting();
  return Ref::to(Py_None);
}
Ref keep_it(const Tensor& tensor, Site site) { return wrap(keep(tensor, site)); }
Ref copy(const Tensor& tensor, Site site) { return wrap(clone(Operand(tensor, site))); }
PyObject* deep_copy(PyObject* self, PyObject* /*memo*/) {
  return guarded([&] { return copy(tensor_of(self), caller()); });
}

PyObject* to(PyObject* self, PyObject* device) {
  return guarded(
      [&] { return wrap(tensor_of(self).to(device_of(device, "to(): device"), caller())); });
}

template <class T>
Ref number(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return boolean(value);
  } else if constexpr (std::is_integral_v<T>) {
    return checked(PyLong_FromLongLong(value));
  } else {
    return checked(PyFloat_FromDouble(static_cast<double>(static_cast<float>(value))));
  }
}
template <>
Ref number(double value) {
  return checked(PyFloat_FromDouble(value));
}

Ref item(const Tensor& tensor, Site site) {
  Ref result;
  visit_dtype(tensor.dtype(site),
              [&]<class T>(TypeTag<T>) { result = number<T>(tensor.item<T>(site)); });
  return result;
}

template <class T>
Ref nested(std::span<const T>& elements, const Shape& shape, int axis) {
  if (axis == shape.size()) {
    Ref result = number<T>(elements.front());
    elements = elements.subspan(1);
    return result;
  }
  Ref list = checked(PyList_New(0));
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    check(PyList_Append(list.get(), nested(elements, shape, axis + 1).get()));
  }
  return list;
}
Ref to_list(const Tensor& tensor, Site site) {
  const Tensor whole = contiguous(Operand(tensor.to(cpu, site), site));
  // Not a span: after the call a budget that evicts may give them up.
  const Pin pin(whole.body("tolist()", site), "tolist()", site);
  const auto n = static_cast<std::size_t>(count(whole.shape(site)));
  Ref result;
  visit_dtype(whole.dtype(), [&]<class T>(TypeTag<T>) {
    std::span<const T> elements(static_cast<const T*>(pin.data()), n);
    result = nested(elements, whole.shape(site), 0);
  });
  return result;
}

PyObject* numpy(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded([&] {
    static const char* const names[] = {"writable", nullptr};
    int is_writable = 0;
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|$p", const_cast<char**>(names),
                                    &is_writable) == 0) {
      throw PythonError();
    }
    return numpy_array(tensor_of(self), is_writable != 0);
  });
}
PyObject* array(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded([&] {
    static const char* const names[] = {"dtype", "copy", nullptr};
    PyObject *type = Py_None, *copies = Py_None;
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO", const_cast<char**>(names), &type,
                                    &copies) == 0) {
      throw PythonError();
    }
    Ref made = numpy_array(tensor_of(self), false);
    if (type != Py_None) return checked(PyObject_CallMethod(made.get(), "astype", "O", type));
    if (copies == Py_True) return checked(PyObject_CallMethod(made.get(), "copy", nullptr));
    return made;
  });
}

/// The tensor where the consumer wants it: as it is, or a copy of a GPU's on the CPU.
Tensor at_dlpack_device(const Tensor& tensor, PyObject* target, bool may_copy,
                        DlpackRequest& request) {
  const std::vector<std::int64_t> wanted = integers_of(target, "__dlpack__(): dl_device");
  const dlpack::Device where = dlpack::device_of(tensor.device(caller()));
  if (wanted == std::vector<std::int64_t>{where.type, where.id}) return tensor;
  if (wanted != std::vector<std::int64_t>{dlpack::kCpu, 0} || !may_copy) {
    raise(PyExc_BufferError, "__dlpack__(): the tensor is on " + name_of(tensor.device(caller())));
  }
  request.is_copied = false;  // it is one
  return tensor.to(cpu, caller());
}

/// The consumer's stream as DLPack numbers them: None is the legacy default stream of a GPU, -1 is
/// none that is to wait.
std::uintptr_t dlpack_stream(Device device, PyObject* stream) {
  if (device == cpu) {
    if (stream != Py_None)
      raise(PyExc_ValueError, "__dlpack__(): the CPU has no streams; stream must be None");
    return 0;
  }
  if (stream == Py_None) return 1;
  const std::int64_t number = integer_of(stream, "__dlpack__(): stream");
  if (number == -1) return 0;
  if (number <= 0) {
    raise(PyExc_ValueError,
          "__dlpack__(): stream is -1, or 1 or 2, or the handle of one; 0 says not which");
  }
  return static_cast<std::uintptr_t>(number);
}

PyObject* dlpack(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded([&] {
    static const char* const names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    PyObject *stream = Py_None, *version = Py_None, *target = Py_None, *copies = Py_None;
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO", const_cast<char**>(names),
                                    &stream, &version, &target, &copies) == 0) {
      throw PythonError();
    }
    DlpackRequest request{.is_copied = copies == Py_True};
    Tensor tensor = tensor_of(self);
    if (target != Py_None) tensor = at_dlpack_device(tensor, target, copies != Py_False, request);
    request.stream = dlpack_stream(tensor.device(caller()), stream);
    if (version != Py_None) {
      const std::vector<std::int64_t> newest = integers_of(version, "__dlpack__(): max_version");
      request.is_versioned = !newest.empty() && newest[0] >= 1;
    }
    return dlpack_capsule(tensor, request, caller());
  });
}
Ref dlpack_device(const Tensor& tensor, Site site) {
  const dlpack::Device where = dlpack::device_of(tensor.device(site));
  return checked(Py_BuildValue("(ii)", where.type, where.id));
}

PyObject* reduce(PyObject* self, PyObject* /*unused*/) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    const Site site = caller();
    const Ref module = checked(PyImport_ImportModule("tenure._tenure"));
    const Ref restore = checked(PyObject_GetAttrString(module.get(), "_tensor_of_bytes"));
    return checked(Py_BuildValue(
        "(N(NNN))", Ref(restore).release(), bytes_of_elements(tensor.to(cpu, site), site).release(),
        text(std::string(name_of(tensor.dtype(site)))).release(), shape(tensor, site).release()));
  });
}
PyObject* restore(PyObject* /*module*/, PyObject* arguments) {
  return guarded([&] {
    PyObject *bytes = nullptr, *type = nullptr, *sizes = nullptr;
    if (PyArg_ParseTuple(arguments, "OOO", &bytes, &type, &sizes) == 0) throw PythonError();
    return wrap(tensor_of_bytes(bytes, dtype_of(type, "dtype"), dims_of(sizes, "shape"), caller()));
  });
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (!tensor.defined()) return text("<empty tensor: donate() gave its data away>");
    if (tensor.is_disposed()) {
      return text("<disposed tensor " + std::to_string(tensor.id()) + ", " +
                  std::string(name_of(tensor.dtype())) + to_string(tensor.shape()) + ">");
    }
    return text(to_string(tensor));
  });
}
PyObject* format(PyObject* self, PyObject* specification) {
  return guarded([&] {
    if (text_of(specification, "the format").empty()) return checked(repr(self));
    return checked(PyObject_Format(item(tensor_of(self), caller()).get(), specification));
  });
}

Py_hash_t hash(PyObject* self) {
  const TensorBody* const body = tensor_of(self).body_or_null();
  return body == nullptr ? 0 : static_cast<Py_hash_t>(body->id());
}

void end(PyObject* self) {
  auto* const object = reinterpret_cast<TensorObject*>(self);
  if (object->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  object->tensor.~Tensor();
  PyObject_Free(self);
  release_waiting();
}

PyObject* refuse_new(PyTypeObject* /*type*/, PyObject* /*arguments*/, PyObject* /*keywords*/) {
  PyErr_SetString(PyExc_TypeError,
                  "tensors are made by tenure.tensor(), tenure.zeros() and their like");
  return nullptr;
}

template <class F>
PyCFunction as_function(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef methods[] = {
    {"dispose", method<dispose>, METH_NOARGS,
     "dispose()\n\nGives up the data: it is freed at once unless a view, an array or a computation "
     "still holds it."},
    {"keep", method<keep_it>, METH_NOARGS,
     "keep()\n\nExcludes it from every scope; gives the tensor."},
    {"item", method<item>, METH_NOARGS, "item()\n\nThe only element, as a number of Python's."},
    {"tolist", method<to_list>, METH_NOARGS, "tolist()\n\nThe elements as nested lists."},
    {"to", to, METH_O,
     "to(device)\n\nThis tensor, if it is on the device (\"cpu\", \"cuda:0\"), else a copy there."},
    {"numpy", as_function(numpy), METH_VARARGS | METH_KEYWORDS,
     "numpy(*, writable=False)\n\nAn array of NumPy's over the elements, without a copy; it holds "
     "the data."},
    {"__array__", as_function(array), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack__", as_function(dlpack), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", method<dlpack_device>, METH_NOARGS, nullptr},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__copy__", method<copy>, METH_NOARGS, nullptr},
    {"__deepcopy__", deep_copy, METH_O, nullptr},
    {"__format__", format, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"shape", property<shape>, nullptr, "Its sizes; None for one that only a run knows.", nullptr},
    {"strides", property<strides>, nullptr, "Its strides, in elements.", nullptr},
    {"dtype", property<dtype>, nullptr, "Its element type.", nullptr},
    {"device", property<device>, nullptr, "Where its data lies.", nullptr},
    {"ndim", property<rank>, nullptr, "How many axes it has.", nullptr},
    {"rank", property<rank>, nullptr, "How many axes it has.", nullptr},
    {"size", property<size>, nullptr, "How many elements it has.", nullptr},
    {"nbytes", property<nbytes>, nullptr, "Bytes of its elements.", nullptr},
    {"itemsize", property<itemsize>, nullptr, "Bytes of one element.", nullptr},
    {"T", property<transposed>, nullptr, "Its axes in reverse order; a view.", nullptr},
    {"id", property<id>, nullptr, "Its number, which no other tensor has.", nullptr},
    {"name", property<name>, set_name, "Its name; empty unless it was given one.", nullptr},
    {"op", property<op>, nullptr, "The op that made it.", nullptr},
    {"created", property<created>, nullptr, "The line that made it.", nullptr},
    {"scope", property<scope>, nullptr, "The named scopes that it was made in.", nullptr},
    {"is_disposed", property<is_disposed>, nullptr, "Whether its data is given up.", nullptr},
    {"disposed", property<disposed>, nullptr,
     "The line that gave up its data, and by what; 'by donate()' of one that is empty since; None "
     "while it has it.",
     nullptr},
    {"is_symbolic", property<is_symbolic>, nullptr, "Whether it stands for a value of a graph.",
     nullptr},
    {"is_contiguous", property<is_contiguous>, nullptr, "Whether it is row-major without gaps.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

/// Methods that are written in Python; a type of C's takes them from nobody else.
PyObject* add_method(PyObject* /*module*/, PyObject* arguments) {
  return guarded([&] {
    PyObject *name = nullptr, *method = nullptr;
    if (PyArg_ParseTuple(arguments, "UO", &name, &method) == 0) throw PythonError();
    check(PyDict_SetItem(tensor_type.tp_dict, name, method));
    PyType_Modified(&tensor_type);
    return Ref::to(Py_None);
  });
}

PyMethodDef functions[] = {{"_tensor_of_bytes", restore, METH_VARARGS, nullptr},
                           {"_add_tensor_method", add_method, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyTypeObject tensor_type = [] {
  PyTypeObject type = plain_type<TensorObject>("tenure.Tensor");
  type.tp_doc = "A tensor: a handle, whose data lives until its last holder goes.";
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_dealloc = end;
  type.tp_new = refuse_new;
  type.tp_repr = repr;
  type.tp_str = repr;
  type.tp_hash = hash;
  type.tp_richcompare = compare_tensors;
  type.tp_weaklistoffset = offsetof(TensorObject, weak_references);
  type.tp_methods = methods;
  type.tp_getset = properties;
  type.tp_as_number = &tensor_operators;
  type.tp_as_mapping = &tensor_indexing;
  type.tp_as_buffer = &tensor_buffer;
  type.tp_as_sequence = &tensor_sequence;
  type.tp_iter = iterate_tensor;
  return type;
}();

Tensor& tensor_of(PyObject* object, const char* what) {
  if (is_tensor(object)) return tensor_of(object);
  raise(PyExc_TypeError, std::string(what) + " must be a Tensor, not " + type_name(object));
}

Ref wrap_all(std::span<const Tensor> tensors) {
  Ref list = checked(PyList_New(0));
  for (const Tensor& tensor : tensors) check(PyList_Append(list.get(), wrap(tensor).get()));
  return list;
}

void add_tensor_type(PyObject* module) {
  check(PyType_Ready(&tensor_type));
  // NumPy leaves the operators to the tensor, and says so when a ufunc is given one.
  check(PyDict_SetItemString(tensor_type.tp_dict, "__array_ufunc__", Py_None));
  check(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(&tensor_type)));
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace tenure::python
