#include "python/src/arrays/buffer.h"

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>

#include "python/src/arrays/from_object.h"
#include "python/src/arrays/written.h"
#include "python/src/core/errors.h"
#include "python/src/core/numbers.h"
#include "python/src/core/sites.h"
#include "python/src/tensor/object.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/device_error.h"
#include "tenure/tensor/hand_out.h"
#include "tenure/tensor/share.h"

namespace tenure::python {
namespace {

/// How the buffer protocol writes element types; bfloat16 has no letter.
constexpr const char* kFormats[] = {"?", "B", "b", "h", "i", "q", "e", nullptr, "f", "d"};
static_assert(std::size(kFormats) == kDTypes);

/// What a view of a tensor holds until it is released.
struct Export {
  Tensor tensor;
  std::array<Py_ssize_t, kMaxRank> shape{};
  std::array<Py_ssize_t, kMaxRank> strides{};
};

void fill_view(Py_buffer* view, PyObject* owner, const Tensor& tensor, int flags, bool is_writable,
               Site site) {
  const TensorBody& body = tensor.body("numpy()", site);
  const char* const format = kFormats[static_cast<int>(body.dtype)];
  if (format == nullptr) {
    throw DTypeError("numpy",
                     std::string(name_of(body.dtype)) + " is no type of NumPy's: cast() it first");
  }
  if (body.device() != cpu) throw DeviceError::unreadable("numpy()", body.device());
  if ((flags & PyBUF_WRITABLE) != 0 && !is_writable) {
    raise(PyExc_BufferError,
          "the elements of a tensor are read-only; x.numpy(writable=True) gives an array to write "
          "to");
  }
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !body.contiguous) {
    raise(PyExc_BufferError, "the tensor is not contiguous, and the buffer was to be");
  }
  auto held = std::make_unique<Export>();
  held->tensor = share(tensor, "numpy", site, HolderKind::user);
  void* const elements =
      hand_out(held->tensor.body("numpy()", site),
               is_writable ? HandedOut::to_write : HandedOut::to_read, "numpy()", site);
  const auto item = static_cast<Py_ssize_t>(size_of(body.dtype));
  for (int i = 0; i < body.shape.size(); ++i) {
    held->shape[static_cast<std::size_t>(i)] = body.shape[i];
    held->strides[static_cast<std::size_t>(i)] = body.strides[i] * item;
  }
  view->buf = elements;
  view->len = static_cast<Py_ssize_t>(tensor.nbytes(site));
  view->readonly = is_writable ? 0 : 1;
  view->itemsize = item;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  view->ndim = body.shape.size();
  view->shape = (flags & PyBUF_ND) != 0 ? held->shape.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? held->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->obj = Py_NewRef(owner);
  view->internal = held.release();
}

int get_view(PyObject* self, Py_buffer* view, int flags, const Tensor& tensor, bool is_writable) {
  view->obj = nullptr;
  return guarded_status([&] { fill_view(view, self, tensor, flags, is_writable, caller()); });
}
int get_tensor_view(PyObject* self, Py_buffer* view, int flags) {
  return get_view(self, view, flags, tensor_of(self), false);
}
void release_view(PyObject* /*self*/, Py_buffer* view) {
  delete static_cast<Export*>(view->internal);
}

/// What x.numpy(writable=True) is made of: the same, to write to.
struct WritableObject {
  PyObject_HEAD Tensor tensor;
};
int get_writable_view(PyObject* self, Py_buffer* view, int flags) {
  return get_view(self, view, flags, reinterpret_cast<WritableObject*>(self)->tensor, true);
}
void end_writable(PyObject* self) {
  reinterpret_cast<WritableObject*>(self)->tensor.~Tensor();
  Py_TYPE(self)->tp_free(self);
}
PyBufferProcs writable_buffer = {.bf_getbuffer = get_writable_view,
                                 .bf_releasebuffer = release_view};
PyTypeObject writable_type = [] {
  PyTypeObject type = plain_type<WritableObject>("tenure.WritableElements");
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_dealloc = end_writable;
  type.tp_as_buffer = &writable_buffer;
  return type;
}();

std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  if (format == nullptr) return DType::uint8;
  if (std::endian::native == std::endian::little ? *format == '<' : *format == '>') ++format;
  if (*format == '=' || *format == '@') ++format;
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  const char letter = *format == 'l' || *format == 'q' ? (size == 8 ? 'q' : 'i') : *format;
  for (int i = 0; i < kDTypes; ++i) {
    const bool is_it = kFormats[i] != nullptr && kFormats[i][0] == letter;
    if (is_it && static_cast<Py_ssize_t>(size_of(static_cast<DType>(i))) == size) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

/// Elements of any strides, row-major, into memory that is there.
void copy_strided(const Py_buffer& view, int axis, const char* from, char*& to) {
  if (axis == view.ndim) {
    std::memcpy(to, from, static_cast<std::size_t>(view.itemsize));
    to += view.itemsize;
    return;
  }
  for (Py_ssize_t i = 0; i < view.shape[axis]; ++i) {
    copy_strided(view, axis + 1, from + i * view.strides[axis], to);
  }
}

}  // namespace

PyBufferProcs tensor_buffer = {.bf_getbuffer = get_tensor_view, .bf_releasebuffer = release_view};

void add_export_type(PyObject* /*module*/) { check(PyType_Ready(&writable_type)); }

/// What NumPy calls the type of an array's elements; empty of what is no array.
static std::string dtype_name(PyObject* object) {
  const Ref dtype = Ref::take(PyObject_GetAttrString(object, "dtype"));
  const Ref name = dtype ? Ref::take(PyObject_Str(dtype.get())) : Ref();
  const char* const said = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  return said == nullptr ? "" : said;
}

/// What to do with an array whose elements have a type that Tenure has not.
static std::string remedy(std::string_view dtype) {
  if (dtype.starts_with("uint")) return "convert it before: array.astype('int64')";
  if (dtype.starts_with("complex"))
    return "complex numbers are pairs here: np.stack([array.real, array.imag], -1)";
  if (dtype.starts_with("float") || dtype.starts_with("longdouble"))
    return "convert it before: array.astype('float64')";
  const bool has_order = dtype.starts_with(">") || dtype.starts_with("<");
  if (has_order && dtype.find_first_of("fiu") == 1)
    return "its bytes have another order: array.astype(array.dtype.newbyteorder('='))";
  return "elements are numbers or truth values";
}
[[noreturn]] static void refuse_type(const std::string& dtype) {
  throw DTypeError("tensor",
                   "no element type of Tenure's is an array's '" + dtype + "'; " + remedy(dtype));
}

Tensor tensor_in_buffer(PyObject* object, Site site) {
  struct View {
    Py_buffer buffer{};
    ~View() { PyBuffer_Release(&buffer); }
  };
  auto view = std::make_unique<View>();
  if (PyObject_GetBuffer(object, &view->buffer, PyBUF_FULL_RO) < 0) {
    const PythonError refusal;
    const std::string dtype = dtype_name(object);
    if (dtype.empty()) throw PythonError(refusal);
    refuse_type(dtype);
  }
  const Py_buffer& buffer = view->buffer;
  const std::optional<DType> dtype = dtype_of_format(buffer.format, buffer.itemsize);
  if (!dtype) {
    std::string name = dtype_name(object);
    if (name.empty() && buffer.format != nullptr) name = buffer.format;
    refuse_type(name);
  }
  if (buffer.suboffsets != nullptr) raise(PyExc_BufferError, "arrays of pointers are not read");
  std::vector<std::int64_t> sizes(buffer.shape, buffer.shape + buffer.ndim);
  const Shape shape(sizes, site);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(buffer.buf) % size_of(*dtype) == 0;
  if (PyBuffer_IsContiguous(&buffer, 'C') == 0 || !is_aligned || buffer.len == 0) {
    return written(cpu, shape, *dtype, "tensor", site, [&](void* room) {
      auto* to = static_cast<char*>(room);
      if (buffer.len != 0) copy_strided(buffer, 0, static_cast<const char*>(buffer.buf), to);
    });
  }
  // Another view of the same elements, which goes with the tensor's last holder, wherever that is.
  const Ref holder = checked(PyMemoryView_FromObject(object));
  PyObject* const held = holder.get();
  Tensor tensor = from_memory(
      buffer.buf, shape, *dtype, static_cast<std::size_t>(buffer.len),
      [held](void*) { release_later(held); }, site);
  Py_INCREF(held);
  return tensor;
}

Ref numpy_array(const Tensor& tensor, bool is_writable) {
  static_cast<void>(tensor.body("numpy", caller()));  // an empty one has none
  const Ref numpy = checked(PyImport_ImportModule("numpy"));
  Ref source;
  Tensor* held = nullptr;
  if (is_writable) {
    auto* const object = PyObject_New(WritableObject, &writable_type);
    if (object == nullptr) throw PythonError();
    held = new (&object->tensor) Tensor(tensor);
    source = Ref::take(reinterpret_cast<PyObject*>(object));
  } else {
    source = wrap(Tensor(tensor));
    held = &tensor_of(source.get());
  }
  const Ref view = checked(PyMemoryView_FromObject(source.get()));
  *held = Tensor();  // the view holds the data, under a name of its own
  return checked(PyObject_CallMethod(numpy.get(), "asarray", "O", view.get()));
}

Ref bytes_of_elements(const Tensor& tensor, Site site) {
  const Tensor whole = contiguous(Operand(tensor, site));
  Ref bytes;
  visit_dtype(whole.dtype(), [&]<class T>(TypeTag<T>) {
    const std::span<const T> elements = whole.span<T>(site);
    bytes = checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(elements.data()),
                                              static_cast<Py_ssize_t>(elements.size_bytes())));
  });
  return bytes;
}

Tensor tensor_of_bytes(PyObject* bytes, DType dtype, const Shape& shape, Site site) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  check(PyBytes_AsStringAndSize(bytes, &data, &size));
  const std::int64_t n = check_shape(shape, size_of(dtype), "tensor");
  if (size != static_cast<Py_ssize_t>(size_of(dtype)) * n) {
    throw ValueError("tensor: " + std::string(name_of(dtype)) + to_string(shape) +
                     " does not have " + std::to_string(size) + " bytes");
  }
  if (dtype == DType::boolean) {
    for (Py_ssize_t i = 0; i < size; ++i) {
      if (data[i] != 0 && data[i] != 1) throw ValueError("tensor: elements of bool are 0 or 1");
    }
  }
  return written(default_device(), shape, dtype, "tensor", site, [&](void* to) {
    if (size != 0) std::memcpy(to, data, static_cast<std::size_t>(size));
  });
}

}  // namespace tenure::python
