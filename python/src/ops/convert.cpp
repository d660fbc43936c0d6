#include "python/src/ops/convert.h"

#include <limits>

#include "python/src/arrays/from_object.h"
#include "python/src/modes/variable.h"
#include "python/src/ops/generator.h"
#include "python/src/tensor/object.h"

namespace tenure::python {

int From<int>::of(PyObject* object, const char* what) {
  const std::int64_t value = integer_of(object, what);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    raise(PyExc_OverflowError, std::string(what) + " does not fit in 32 bits");
  }
  return static_cast<int>(value);
}

From<std::vector<std::pair<std::int64_t, std::int64_t>>>::Pairs
From<std::vector<std::pair<std::int64_t, std::int64_t>>>::of(PyObject* object, const char* what) {
  if (!is_integers(object))
    raise(PyExc_TypeError, std::string(what) + " must be a list of pairs of ints");
  const Ref items = checked(PySequence_Fast(object, ""));
  Pairs pairs;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (is_integer(item)) {
      pairs.emplace_back(integer_of(item, what), integer_of(item, what));
      continue;
    }
    const std::vector<std::int64_t> sides = integers_of(item, what);
    if (sides.size() != 2)
      raise(PyExc_ValueError, std::string(what) + " must have pairs (before, after)");
    pairs.emplace_back(sides[0], sides[1]);
  }
  return pairs;
}

AxisList From<AxisList>::of(PyObject* object, const char* what) {
  if (object == Py_None) return {};
  if (is_integer(object)) return {integer_of(object, what)};
  const Dims axes = dims_of(object, what);
  if (axes.empty())
    raise(PyExc_ValueError, std::string(what) + " is empty; None stands for all axes");
  return {axes};
}

SpatialSizes From<SpatialSizes>::of(PyObject* object, const char* what) {
  if (is_integer(object)) return SpatialSizes(integer_of(object, what));
  return SpatialSizes(dims_of(object, what));
}

Padding From<Padding>::of(PyObject* object, const char* what) {
  if (PyUnicode_Check(object) != 0) {
    if (text_of(object, what) == "same") return Padding::same();
    raise(PyExc_ValueError, std::string(what) + " must be ints, or 'same'");
  }
  if (is_integer(object)) return Padding(integer_of(object, what));
  return Padding(dims_of(object, what));
}

bool From<Tensor>::fits(PyObject* object) noexcept {
  return is_tensor(object) || is_variable(object) || is_array(object);
}

Tensor From<Tensor>::of(PyObject* object, const char* what) {
  if (is_tensor(object)) return tensor_of(object);
  if (is_variable(object)) return value_of_variable(object);
  if (object == Py_None) raise(PyExc_TypeError, std::string(what) + " must be a Tensor, not None");
  return tensor_from_object(object, what);
}

std::vector<Tensor> From<std::vector<Tensor>>::of(PyObject* object, const char* what) {
  const Ref items =
      checked(PySequence_Fast(object, (std::string(what) + " must be a list of tensors").c_str()));
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    tensors.push_back(From<Tensor>::of(PySequence_Fast_GET_ITEM(items.get(), i), what));
  }
  return tensors;
}

LstmState From<LstmState>::of(PyObject* object, const char* what) {
  if (object == Py_None) return {};
  std::vector<Tensor> parts = From<std::vector<Tensor>>::of(object, what);
  if (parts.size() != 2) raise(PyExc_ValueError, std::string(what) + " must be a pair (h, c)");
  return {.h = std::move(parts[0]), .c = std::move(parts[1])};
}

bool From<Generator*>::fits(PyObject* object) noexcept {
  return object == Py_None || is_generator(object);
}

Generator* From<Generator*>::of(PyObject* object, const char* what) {
  if (object == Py_None) return nullptr;
  if (is_generator(object)) return &generator_of(object);
  raise(PyExc_TypeError, std::string(what) + " must be a Generator, not " + type_name(object));
}

}  // namespace tenure::python
