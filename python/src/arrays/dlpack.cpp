#include "python/src/arrays/dlpack.h"

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/src/arrays/from_object.h"
#include "python/src/arrays/written.h"
#include "python/src/core/errors.h"
#include "python/src/core/sites.h"
#include "tenure/kernels/cuda/cuda.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/device_error.h"
#include "tenure/tensor/hand_out.h"
#include "tenure/tensor/share.h"

namespace tenure::python {
namespace {

using dlpack::Array;
using dlpack::DataType;

constexpr const char* kName = "dltensor";
constexpr const char* kUsed = "used_dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";
constexpr const char* kVersionedUsed = "used_dltensor_versioned";

// Streams that are there without being made, by DLPack's numbers and CUDA's.
constexpr std::uintptr_t kLegacyStream = 1;
constexpr std::uintptr_t kThreadStream = 2;

DataType type_of(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  if (dtype == DType::boolean) return {.code = 6, .bits = 8};
  if (dtype == DType::bfloat16) return {.code = 4, .bits = bits};
  if (is_floating(dtype)) return {.code = 2, .bits = bits};
  return {.code = static_cast<std::uint8_t>(is_unsigned(dtype) ? 1 : 0), .bits = bits};
}

DType dtype_of(DataType type) {
  for (int i = 0; i < kDTypes; ++i) {
    const DataType known = type_of(static_cast<DType>(i));
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1)
      return static_cast<DType>(i);
  }
  throw DTypeError("from_dlpack", "DLPack's type of code " + std::to_string(type.code) + " and " +
                                      std::to_string(type.bits) + " bits is none of Tenure's");
}

/// What a capsule of ours owns.
template <class M>
struct Export {
  M managed;
  std::uintptr_t stream = 0;  ///< whose work has to come before the memory is another's
  Tensor tensor;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};
};

template <class M>
void end_export(M* managed) {
  auto* const held = static_cast<Export<M>*>(managed->context);
  // Streams that were made may be gone: of those the consumer has waited for what it queued.
  if (held->stream == kLegacyStream || held->stream == kThreadStream) {
    try {
      cuda_wait_for(held->stream, held->tensor.device());
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): of a GPU that was lost
    }
  }
  delete held;
}

/// A capsule that nobody took.
template <class M>
void end_capsule(PyObject* capsule) {
  constexpr bool is_versioned = std::is_same_v<M, dlpack::ManagedVersioned>;
  const char* const name = is_versioned ? kVersionedName : kName;
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* const managed = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

template <class M>
Ref capsule_of(const Tensor& tensor, const char* name, Site site, std::uint64_t flags,
               std::uintptr_t stream) {
  auto held = std::make_unique<Export<M>>();
  held->stream = stream;
  held->tensor = share(tensor, "dlpack", site, HolderKind::user);
  // Who takes a capsule without versions cannot be told not to write.
  const bool is_read_only =
      std::is_same_v<M, dlpack::ManagedVersioned> && (flags & dlpack::kReadOnly) != 0;
  TensorBody& body = held->tensor.body("__dlpack__()", site);
  void* const elements =
      hand_out(body, is_read_only ? HandedOut::to_read : HandedOut::to_write, "__dlpack__()", site);
  for (int i = 0; i < body.shape.size(); ++i) {
    held->shape[static_cast<std::size_t>(i)] = body.shape[i];
    held->strides[static_cast<std::size_t>(i)] = body.strides[i];
  }
  Array& array = held->managed.array;
  array.data = elements;
  array.device = dlpack::device_of(body.device());
  array.rank = body.shape.size();
  array.dtype = type_of(body.dtype);
  array.shape = held->shape.data();
  array.strides = held->strides.data();
  if constexpr (std::is_same_v<M, dlpack::ManagedVersioned>) {
    held->managed.flags = flags;
  }
  held->managed.deleter = end_export<M>;
  held->managed.context = held.get();
  Ref capsule = checked(PyCapsule_New(&held->managed, name, end_capsule<M>));
  static_cast<void>(held.release());
  return capsule;
}

bool is_contiguous(const Array& array) {
  std::int64_t step = 1;
  for (int i = array.rank - 1; array.strides != nullptr && i >= 0; --i) {
    if (array.shape[i] > 1 && array.strides[i] != step) return false;
    step *= array.shape[i];
  }
  return true;
}

void copy_strided(const Array& array, std::size_t item, int axis, const char* from, char*& to) {
  if (axis == array.rank) {
    std::memcpy(to, from, item);
    to += item;
    return;
  }
  for (std::int64_t i = 0; i < array.shape[axis]; ++i) {
    copy_strided(array, item, axis + 1,
                 from + i * array.strides[axis] * static_cast<std::int64_t>(item), to);
  }
}

/// A copy: memory of another's pool is in no ledger, and may end before work that is queued here.
Tensor copy_of_gpu(const Array& array, const Shape& shape, DType dtype, Site site) {
  const Device device = cuda(array.device.id, site);
  const DeviceScope scope(device, site);
  Tensor copy = empty(shape, dtype, site);
  const Strides strides =
      array.strides == nullptr
          ? contiguous_strides(shape)
          : Strides{std::vector<std::int64_t>(array.strides, array.strides + array.rank)};
  const Pin to(copy.body("from_dlpack", site), "from_dlpack", site);
  ops::Backend& backend = ops::backend(device);
  backend.copy(
      {.dtype = dtype, .shape = shape, .strides = contiguous_strides(shape), .data = to.data()},
      {.dtype = dtype,
       .shape = shape,
       .strides = strides,
       .data = static_cast<char*>(array.data) + array.offset});
  backend.wait();
  return copy;
}

template <class M>
Tensor take(M* managed, Site site) {
  const Array& array = managed->array;
  if (array.device.type != dlpack::kCpu && array.device.type != dlpack::kCuda)
    raise(PyExc_BufferError, "from_dlpack: the array is in memory neither of the CPU nor of a GPU");
  if (array.rank < 0 || array.rank > kMaxRank) {
    throw ShapeError("from_dlpack", "an array of " + std::to_string(array.rank) + " dimensions");
  }
  const DType dtype = dtype_of(array.dtype);
  const Shape shape{std::vector<std::int64_t>(array.shape, array.shape + array.rank)};
  const auto bytes =
      static_cast<std::size_t>(check_shape(shape, size_of(dtype), "from_dlpack")) * size_of(dtype);
  char* const data = static_cast<char*>(array.data) + array.offset;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) == 0;
  const auto end = [managed] {
    if (managed->deleter != nullptr) managed->deleter(managed);
  };
  if (array.device.type == dlpack::kCuda) {
    Tensor copy = copy_of_gpu(array, shape, dtype, site);
    end();
    return copy;
  }
  if (bytes == 0 || !is_contiguous(array) || !is_aligned) {
    Tensor copy = written(cpu, shape, dtype, "from_dlpack", site, [&](void* room) {
      auto* to = static_cast<char*>(room);
      if (bytes != 0 && array.strides != nullptr) {
        copy_strided(array, size_of(dtype), 0, data, to);
      } else if (bytes != 0) {
        std::memcpy(to, data, bytes);
      }
    });
    end();
    return copy;
  }
  // Its deleter may need the interpreter: a capsule has it called where that is at hand.
  const Ref guard = checked(PyCapsule_New(managed, nullptr, [](PyObject* capsule) {
    auto* const held = static_cast<M*>(PyCapsule_GetPointer(capsule, nullptr));
    if (held != nullptr && held->deleter != nullptr) held->deleter(held);
  }));
  PyObject* const held = guard.get();
  Tensor tensor = from_memory(
      data, shape, dtype, bytes, [held](void*) { release_later(held); }, site);
  Py_INCREF(held);
  return tensor;
}

/// Takes what a capsule has; it is used up.
Tensor take_capsule(PyObject* capsule, Site site) {
  if (PyCapsule_IsValid(capsule, kVersionedName) != 0) {
    auto* const managed =
        static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, kVersionedName));
    if (managed->version.major > 1) {
      raise(PyExc_BufferError,
            "from_dlpack: DLPack " + std::to_string(managed->version.major) + " is newer than 1");
    }
    check(PyCapsule_SetName(capsule, kVersionedUsed));
    return take(managed, site);
  }
  if (PyCapsule_IsValid(capsule, kName) != 0) {
    auto* const managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, kName));
    check(PyCapsule_SetName(capsule, kUsed));
    return take(managed, site);
  }
  if (PyCapsule_IsValid(capsule, kUsed) != 0 || PyCapsule_IsValid(capsule, kVersionedUsed) != 0) {
    raise(PyExc_ValueError, "from_dlpack: the capsule was used before; each can be taken once");
  }
  raise(PyExc_TypeError, "from_dlpack: __dlpack__ gave no capsule of DLPack's");
}

}  // namespace

dlpack::Device dlpack::device_of(tenure::Device device) {
  return {.type = device.kind == tenure::Device::Kind::cuda ? kCuda : kCpu, .id = device.index};
}

Ref dlpack_capsule(const Tensor& tensor, const DlpackRequest& request, Site site) {
  const Device device = tensor.device(site);
  if (device != cpu && device.kind != Device::Kind::cuda)
    throw DeviceError::unreadable("__dlpack__()", device);
  const Tensor source = request.is_copied ? clone(Operand(tensor, site)) : tensor;
  if (request.stream != 0) cuda_let_wait(request.stream, device, site);
  if (request.is_versioned) {
    const std::uint64_t flags = request.is_copied ? dlpack::kCopied : dlpack::kReadOnly;
    return capsule_of<dlpack::ManagedVersioned>(source, kVersionedName, site, flags,
                                                request.stream);
  }
  return capsule_of<dlpack::Managed>(source, kName, site, 0, request.stream);
}

namespace {

/// What __dlpack__ is asked with: versions, and of a GPU the stream that its work comes before.
Ref keywords_for(PyObject* object, Site site) {
  Ref keywords = checked(Py_BuildValue("{s:(ii)}", "max_version", 1, 0));
  const Ref where = Ref::take(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  if (!where) {
    PyErr_Clear();
    return keywords;
  }
  int type = 0, index = 0;
  if (PyArg_ParseTuple(where.get(), "ii", &type, &index) == 0) throw PythonError();
  if (type != dlpack::kCuda) return keywords;
  const Ref stream = checked(PyLong_FromSize_t(cuda_stream(cuda(index, site), site)));
  check(PyDict_SetItemString(keywords.get(), "stream", stream.get()));
  return keywords;
}

}  // namespace

Tensor tensor_from_dlpack(PyObject* object, Site site) {
  if (PyCapsule_CheckExact(object) != 0) return take_capsule(object, site);
  const Ref method = Ref::take(PyObject_GetAttrString(object, "__dlpack__"));
  if (!method) {
    PyErr_Clear();
    raise(PyExc_TypeError, "from_dlpack: a " + type_name(object) + " does not speak DLPack");
  }
  const Ref none = checked(PyTuple_New(0));
  const Ref keywords = keywords_for(object, site);
  Ref capsule = Ref::take(PyObject_Call(method.get(), none.get(), keywords.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {  // it knows no versions
    PyErr_Clear();
    check(PyDict_DelItemString(keywords.get(), "max_version"));
    capsule = Ref::take(PyObject_Call(method.get(), none.get(), keywords.get()));
  }
  return take_capsule(checked(capsule.release()).get(), site);
}

}  // namespace tenure::python
