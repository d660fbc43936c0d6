#include "python/src/arrays/from_object.h"

#include <optional>
#include <vector>

#include "python/src/arrays/buffer.h"
#include "python/src/arrays/written.h"
#include "python/src/core/errors.h"
#include "python/src/core/numbers.h"
#include "python/src/core/sites.h"
#include "python/src/modes/variable.h"
#include "python/src/tensor/object.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/half.h"

namespace tenure::python {

bool is_sequence(PyObject* object) noexcept {
  return PyList_Check(object) != 0 || PyTuple_Check(object) != 0 || PyRange_Check(object) != 0;
}

namespace {

bool has(PyObject* object, const char* attribute) noexcept {
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  const bool found = PyObject_HasAttrString(type, attribute) != 0;
  return found;
}

/// Numbers of nested lists, in row-major order.
class Lists {
 public:
  explicit Lists(const char* what) : what_(what) {}

  void read(PyObject* object, int depth) {
    if (!is_sequence(object)) return read_leaf(object, depth);
    if (depth >= kMaxRank)
      raise(error_class("ShapeError"), std::string(what_) + ": lists are nested too deep");
    const Ref items = checked(PySequence_Fast(object, ""));
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
    enter(depth, n);
    // A list may change while what it has is asked for its value.
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (i >= PySequence_Fast_GET_SIZE(items.get()))
        raise(error_class("ValueError"), std::string(what_) + ": the list changed its size");
      read(Ref::to(PySequence_Fast_GET_ITEM(items.get(), i)).get(), depth + 1);
    }
  }

  Tensor tensor(std::optional<DType> dtype, Site site) const {
    const Shape shape{std::vector<std::int64_t>(sizes_)};
    if (!dtype) dtype = numbers_.empty() ? DType::float32 : common_dtype();
    return written(default_device(), shape, *dtype, "tensor", site, [&](void* to) {
      visit_dtype(*dtype, [&]<class T>(TypeTag<T>) { fill(static_cast<T*>(to)); });
    });
  }

 private:
  DType common_dtype() const {
    DType dtype = DType::boolean;
    for (const Scalar& number : numbers_) dtype = promote(dtype, number.dtype());
    return dtype;
  }

  template <class T>
  void fill(T* elements) const {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const Scalar& number = numbers_[i];
      if constexpr (std::is_same_v<T, bool>) {
        elements[i] =
            number.kind == Scalar::Kind::floating ? number.floating != 0 : number.integer != 0;
      } else if constexpr (NarrowFloat<T>) {
        elements[i] = round_to<T>(number.floating);
      } else if constexpr (std::is_floating_point_v<T>) {
        elements[i] = static_cast<T>(number.floating);
      } else {
        elements[i] = whole<T>(number);
      }
    }
  }
  template <class T>
  T whole(const Scalar& number) const {
    const bool is_whole = number.kind != Scalar::Kind::floating && !number.is_beyond_int64;
    if (is_whole && std::in_range<T>(number.integer)) return static_cast<T>(number.integer);
    raise(error_class("ValueError"), std::string(what_) + ": " + text_of(number) +
                                         " is no element of " +
                                         std::string(name_of(tenure::dtype_of<T>())));
  }

  static std::string text_of(const Scalar& number) {
    if (number.kind == Scalar::Kind::floating) return std::to_string(number.floating);
    if (number.is_beyond_int64) return std::to_string(static_cast<std::uint64_t>(number.integer));
    return std::to_string(number.integer);
  }

  void enter(int depth, Py_ssize_t n) {
    if (static_cast<std::size_t>(depth) == sizes_.size() && !has_leaf_) {
      sizes_.push_back(n);
    } else if (static_cast<std::size_t>(depth) >= sizes_.size() ||
               sizes_[static_cast<std::size_t>(depth)] != n) {
      raise(error_class("ShapeError"), std::string(what_) + ": lists of unequal lengths");
    }
  }
  void read_leaf(PyObject* object, int depth) {
    if (static_cast<std::size_t>(depth) != sizes_.size()) {
      raise(error_class("ShapeError"), std::string(what_) + ": lists of unequal lengths");
    }
    has_leaf_ = true;
    const std::optional<Scalar> number = scalar_of(object);
    if (!number) {
      raise(PyExc_TypeError,
            std::string(what_) + " has a " + type_name(object) + ", which is no number");
    }
    numbers_.push_back(*number);
  }

  const char* what_;
  std::vector<std::int64_t> sizes_;
  std::vector<Scalar> numbers_;
  bool has_leaf_ = false;
};

/// Whether lists end in tensors or arrays, which are stacked.
bool is_list_of_arrays(PyObject* object, int depth = 0) {
  if (!is_sequence(object) || depth > kMaxRank) return false;
  const Ref items = checked(PySequence_Fast(object, ""));
  if (PySequence_Fast_GET_SIZE(items.get()) == 0) return false;
  PyObject* const first = PySequence_Fast_GET_ITEM(items.get(), 0);
  if (is_sequence(first)) return is_list_of_arrays(first, depth + 1);
  return is_tensor(first) || is_variable(first) || (is_array(first) && !scalar_of(first));
}

Tensor made_of(PyObject* object, std::optional<DType> dtype, bool is_copy, const char* what,
               Site site);

Tensor stacked(PyObject* object, std::optional<DType> dtype, const char* what, Site site) {
  const Ref items = checked(PySequence_Fast(object, ""));
  std::vector<Tensor> parts;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    parts.push_back(made_of(PySequence_Fast_GET_ITEM(items.get(), i), dtype, false, what, site));
  }
  return stack(OperandList(parts, site));
}

/// `is_copy`: in memory of its own, whatever the object is.
Tensor made_of(PyObject* object, std::optional<DType> dtype, bool is_copy, const char* what,
               Site site) {
  Tensor made;
  bool is_own = true;
  if (is_tensor(object)) {
    made = tensor_of(object);
    static_cast<void>(made.body(what, site));  // an empty one has none
    is_own = false;
  } else if (is_variable(object)) {
    made = value_of_variable(object);
    is_own = false;
  } else if (is_list_of_arrays(object)) {
    made = stacked(object, dtype, what, site);
  } else if (is_sequence(object) || scalar_of(object)) {
    Lists lists(what);
    lists.read(object, 0);
    return lists.tensor(dtype, site);
  } else if (PyObject_CheckBuffer(object) != 0 && PyBytes_Check(object) == 0) {
    made = tensor_in_buffer(object, site);
    is_own = false;
  } else if (has(object, "__dlpack__")) {
    made = tensor_from_dlpack(object, site);
    is_own = false;
  } else if (has(object, "__array__")) {
    const Ref array = checked(PyObject_CallMethod(object, "__array__", nullptr));
    if (PyObject_CheckBuffer(array.get()) == 0) raise(PyExc_TypeError, "__array__ gave no array");
    made = tensor_in_buffer(array.get(), site);
  } else {
    raise(PyExc_TypeError, std::string(what) +
                               " must be a Tensor, a number, an array or a list of numbers, not " +
                               type_name(object));
  }
  if (dtype && made.dtype() != *dtype) {
    made = cast(Operand(made, site), *dtype);
    is_own = true;
  }
  if (!is_copy) return made;
  const bool is_array = !is_tensor(object) && !is_variable(object);
  if (is_array && made.device() == cpu && default_device() != cpu)
    return copy_to(Operand(made, site), default_device());
  // What is strided, or lies badly, was copied as it was read.
  if (is_own || (is_array && made.is_sole_holder(site))) return made;
  return clone(Operand(made, site));
}

/// An array that nobody else has, and whose memory nobody else has: the tensor may take it over.
bool is_dying_array(PyObject* const* place) {
  PyObject* const object = *place;
  if (is_tensor(object) || PyObject_CheckBuffer(object) == 0 || !is_dying_argument(place))
    return false;
  if (std::string_view(Py_TYPE(object)->tp_name) != "numpy.ndarray") return false;
  const auto* const weak_references = reinterpret_cast<PyObject* const*>(
      reinterpret_cast<const char*>(object) + Py_TYPE(object)->tp_weaklistoffset);
  if (*weak_references != nullptr) return false;  // who has one may ask for it
  const Ref base = checked(PyObject_GetAttrString(object, "base"));
  return base.get() == Py_None;
}

PyObject* make(PyObject* const* arguments, Py_ssize_t n, PyObject* keywords, bool is_copy) {
  return guarded([&] {
    std::optional<DType> dtype;
    const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    if (n < 1 || n > 2 || n + named > 2) raise(PyExc_TypeError, "it takes an object and a dtype");
    if (named == 1 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "dtype") != 0) {
      raise(PyExc_TypeError, "it takes an object and dtype=");
    }
    if (n + named == 2 && arguments[1] != Py_None) dtype = dtype_of(arguments[1], "dtype");
    const bool may_share = is_copy && default_device() == cpu && is_dying_array(arguments);
    return wrap(made_of(arguments[0], dtype, is_copy && !may_share, "tensor()", caller()));
  });
}
PyObject* make_tensor(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t n,
                      PyObject* keywords) {
  return make(arguments, n, keywords, true);
}
PyObject* make_shared(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t n,
                      PyObject* keywords) {
  return make(arguments, n, keywords, false);
}
PyObject* make_from_dlpack(PyObject* /*module*/, PyObject* object) {
  return guarded([&] { return wrap(tensor_from_dlpack(object, caller())); });
}

template <class F>
PyCFunction as_function(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef functions[] = {
    {"tensor", as_function(make_tensor), METH_FASTCALL | METH_KEYWORDS,
     "tensor(object, dtype=None)\n\nA tensor of numbers, nested lists, an array or another tensor, "
     "in "
     "memory of its own. An array that is a temporary and owns its memory gives that to the tensor "
     "instead of being copied."},
    {"asarray", as_function(make_shared), METH_FASTCALL | METH_KEYWORDS,
     "asarray(object, dtype=None)\n\nThe same without a copy where there is a choice: the tensor "
     "lies in "
     "the array's memory and holds it. What is written to the array is seen in the tensor."},
    {"from_dlpack", make_from_dlpack, METH_O,
     "from_dlpack(object)\n\nA tensor in the memory of an object that speaks DLPack; it holds it."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool is_array(PyObject* object) noexcept {
  if (PyBytes_Check(object) != 0 || PyUnicode_Check(object) != 0 || PyType_Check(object) != 0)
    return false;
  return PyObject_CheckBuffer(object) != 0 || has(object, "__dlpack__") || has(object, "__array__");
}

Tensor tensor_from_object(PyObject* object, const char* what, std::optional<DType> dtype) {
  return made_of(object, dtype, false, what, caller());
}

void add_array_functions(PyObject* module) { check(PyModule_AddFunctions(module, functions)); }

}  // namespace tenure::python
