#include "python/src/tensor/indexing.h"

#include "python/src/arrays/from_object.h"
#include "python/src/core/errors.h"
#include "python/src/core/numbers.h"
#include "python/src/core/sites.h"
#include "python/src/modes/variable.h"
#include "python/src/ops/convert.h"
#include "python/src/tensor/object.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::python {
namespace {

std::optional<std::int64_t> bound_of(PyObject* bound) {
  if (bound == Py_None) return std::nullopt;
  // As for Python's own sequences, what is larger than any size means the end.
  const Ref number = checked(PyNumber_Index(bound));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow == 0) return value;
  return overflow > 0 ? std::numeric_limits<std::int64_t>::max()
                      : std::numeric_limits<std::int64_t>::min();
}

Index slice_of(PyObject* object) {
  const auto* const slice = reinterpret_cast<PySliceObject*>(object);
  return Slice{.start = bound_of(slice->start),
               .stop = bound_of(slice->stop),
               .step = bound_of(slice->step).value_or(1)};
}

std::int64_t position_of(PyObject* key) {
  const Py_ssize_t position = PyNumber_AsSsize_t(key, PyExc_IndexError);
  if (position == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return position;
}

/// A list as a tensor where x is: numbers are of no device.
Tensor listed(PyObject* list, const Tensor& x, const char* what,
              std::optional<DType> dtype = std::nullopt) {
  const DeviceScope device(x.defined() ? x.device() : default_device());
  return tensor_from_object(list, what, dtype);
}

Index index_of(PyObject* key, const Tensor& x) {
  if (is_tensor(key)) return tensor_of(key);
  if (PyLong_CheckExact(key) != 0) return position_of(key);
  if (PySlice_Check(key) != 0) return slice_of(key);
  if (key == Py_None) return NewAxis;
  if (key == Py_Ellipsis) return Ellipsis;
  if (PyBool_Check(key) != 0) {
    raise(error_class("IndexError"),
          "an index is True or False; a mask has the shape of what it chooses from");
  }
  if (is_integer(key) && !is_array(key)) return position_of(key);
  if (PyList_Check(key) != 0 || is_array(key)) {
    Tensor tensor = listed(key, x, "an index");
    if (tensor.size() == 0 && is_floating(tensor.dtype()))
      tensor = cast(tensor, DType::int64);  // []
    return tensor;
  }
  raise(error_class("IndexError"),
        "an index must be an int, a slice, None, ..., a mask or an array of ints, not " +
            type_name(key));
}

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded([&] {
    const Operand x(tensor_of(self), caller());
    return wrap(index(x, indices_of(key, x.tensor())));
  });
}

/// What is put into places of x. Numbers, alone or in lists, are of its type: those that it does
/// not hold are refused.
class Values {
 public:
  Values(PyObject* object, const Tensor& x, const char* what, Site site) : site_(site) {
    if (!is_tensor(object) && !is_variable(object)) number_ = scalar_of(object);
    if (number_) return;
    tensor_ = is_sequence(object) ? listed(object, x, what, x.dtype(site))
                                  : From<Tensor>::of(object, what);
  }

  void convert(DType dtype) {
    if (!number_ && tensor_.dtype() != dtype) tensor_ = cast(Operand(tensor_, site_), dtype);
  }

  Operand operand() const { return number_ ? Operand(*number_, site_) : Operand(tensor_, site_); }

 private:
  Site site_;
  std::optional<Scalar> number_;
  Tensor tensor_;
};

/// The object has the new elements from then on; views of the old ones keep those.
int set_item(PyObject* self, PyObject* key, PyObject* value) {
  return guarded_status([&] {
    if (value == nullptr) raise(PyExc_TypeError, "elements of a tensor cannot be deleted");
    const Site site = caller();
    Tensor& tensor = tensor_of(self);
    const std::vector<Index> indices = indices_of(key, tensor);
    Values values(value, tensor, "the value", site);
    values.convert(tensor.dtype());
    tensor = index_update(Operand(std::move(tensor), site), indices, values.operand());
  });
}

Py_ssize_t length_of(const Tensor& tensor, Site site) {
  if (tensor.rank(site) == 0)
    raise(PyExc_TypeError, "a tensor without axes has no len(), and no parts");
  return static_cast<Py_ssize_t>(tensor.dim(0, site));
}

Py_ssize_t length(PyObject* self) {
  try {
    return length_of(tensor_of(self), caller());
  } catch (...) {
    set_error();
    return -1;
  }
}

/// For iteration: element i of the first axis.
PyObject* element(PyObject* self, Py_ssize_t i) {
  return guarded([&] {
    const Site site = caller();
    if (i >= length_of(tensor_of(self), site)) raise(PyExc_IndexError, "the tensor ends");
    return wrap(select(Operand(tensor_of(self), site), 0, i));
  });
}

using Changed = Tensor (*)(const Operand&, const IndexList&, const Operand&);
template <Changed change>
PyObject* changed(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t n) {
  return guarded([&] {
    if (n != 3) raise(PyExc_TypeError, "it takes x, an index and values");
    const Site site = caller();
    const Tensor x = From<Tensor>::of(arguments[0], "x");
    const Values values(arguments[2], x, "values", site);
    return wrap(change(Operand(x, site), indices_of(arguments[1], x), values.operand()));
  });
}

/// `v in x`: whether an element is equal to it, as NumPy has it.
int contains(PyObject* self, PyObject* value) {
  const Ref equal = Ref::take(PyObject_RichCompare(self, value, Py_EQ));
  if (!equal) return -1;
  if (!is_tensor(equal.get())) return PyObject_IsTrue(equal.get());
  const Ref any = Ref::take(PyObject_CallMethod(equal.get(), "any", nullptr));
  return any ? PyObject_IsTrue(any.get()) : -1;
}

PyMethodDef functions[] = {
    {"index_update", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(changed<index_update>)),
     METH_FASTCALL,
     "index_update(x, index, values)\n\nx with `values` in the places of x[index]; the last one of "
     "a "
     "place that occurs twice stays."},
    {"index_add", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(changed<index_add>)),
     METH_FASTCALL,
     "index_add(x, index, values)\n\nx with `values` added to the places of x[index], as often as "
     "a "
     "place occurs."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

std::vector<Index> indices_of(PyObject* key, const Tensor& x) {
  std::vector<Index> indices;
  if (PyTuple_Check(key) == 0) {
    indices.push_back(index_of(key, x));
    return indices;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    indices.push_back(index_of(PyTuple_GET_ITEM(key, i), x));
  }
  return indices;
}

PyMappingMethods tensor_indexing = {
    .mp_length = length, .mp_subscript = get_item, .mp_ass_subscript = set_item};

PySequenceMethods tensor_sequence = [] {
  PySequenceMethods sequence{};
  sequence.sq_length = length;
  sequence.sq_item = element;
  sequence.sq_contains = contains;
  return sequence;
}();

PyObject* iterate_tensor(PyObject* self) {
  return length(self) < 0 ? nullptr : PySeqIter_New(self);
}

void add_index_functions(PyObject* module) { check(PyModule_AddFunctions(module, functions)); }

}  // namespace tenure::python
