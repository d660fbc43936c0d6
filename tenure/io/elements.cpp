#include "tenure/io/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "tenure/ops/shape_ops.h"

namespace tenure::io {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read as memory has them");

Dims reversed(const Dims& dims) {
  Dims result = dims;
  std::reverse(result.begin(), result.end());
  return result;
}

Strides strides_of(const FileLayout& layout) {
  return layout.fortran_order ? reversed(contiguous_strides(reversed(layout.shape)))
                              : contiguous_strides(layout.shape);
}

void swap_bytes(std::span<std::byte> bytes, std::size_t size) {
  for (std::size_t i = 0; size > 1 && i < bytes.size(); i += size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
  }
}

/// Bytes of bool that are neither 0 nor 1 would be undefined behaviour later.
void check_bools(std::span<const std::byte> bytes, DType dtype, const std::string& path,
                 std::uint64_t offset) {
  if (dtype != DType::boolean) return;
  const auto odd =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (odd == bytes.end()) return;
  throw FormatError(
      path, offset + static_cast<std::uint64_t>(odd - bytes.begin()),
      fmt::format("an element of bool is {}, neither 0 nor 1", static_cast<int>(*odd)));
}

/// A new storage, released unless a tensor takes it.
struct NewStorage {
  explicit NewStorage(std::size_t bytes)
      : storage(mem::Storage::allocate(mem::this_thread(), cpu, bytes)) {}
  ~NewStorage() {
    if (storage != nullptr) storage->release();
  }
  NewStorage(const NewStorage&) = delete;
  NewStorage& operator=(const NewStorage&) = delete;

  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(storage->data()), storage->bytes()};
  }
  Tensor tensor(const FileLayout& layout, Origin origin) {
    return make_tensor(mem::this_thread(), std::exchange(storage, nullptr), layout.dtype,
                       layout.shape, strides_of(layout), 0, origin.op, origin.site);
  }
  mem::Storage* storage;
};

}  // namespace

std::size_t bytes_of(const FileLayout& layout, const std::string& path, std::uint64_t offset) {
  try {
    return static_cast<std::size_t>(check_shape(layout.shape, size_of(layout.dtype), "shape")) *
           size_of(layout.dtype);
  } catch (const ShapeError& error) {
    throw FormatError(path, offset, error.what());
  }
}

Tensor read_elements(ByteSource& source, const FileLayout& layout, Origin origin) {
  const std::uint64_t begin = source.offset();
  const std::size_t bytes = bytes_of(layout, source.path(), begin);
  if (bytes > source.at_most()) {
    throw FormatError(
        source.path(), begin,
        fmt::format("{}{} needs {} bytes, and at most {} can follow", name_of(layout.dtype),
                    to_string(layout.shape), bytes, source.at_most()));
  }
  NewStorage room(bytes);
  source.read_all(room.bytes(), "the elements");
  if (layout.big_endian) swap_bytes(room.bytes(), size_of(layout.dtype));
  check_bools(room.bytes(), layout.dtype, source.path(), begin);
  return room.tensor(layout, origin);
}

Tensor map_elements(const std::shared_ptr<const MappedFile>& file, const std::string& path,
                    std::uint64_t offset, std::span<std::byte> bytes, const FileLayout& layout,
                    Origin origin) {
  check_bools(bytes, layout.dtype, path, offset);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(layout.dtype) != 0) {
    NewStorage copy(bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy.bytes().begin());
    return copy.tensor(layout, origin);
  }
  mem::ThreadContext& context = mem::this_thread();
  mem::Storage* const storage =
      mem::Storage::adopt(context, bytes.data(), bytes.size(), [file](void*) {});
  return make_tensor(context, storage, layout.dtype, layout.shape, strides_of(layout), 0, origin.op,
                     origin.site);
}

WrittenElements::WrittenElements(const Tensor& tensor, bool or_fortran, Origin origin) {
  const TensorBody& body = tensor.body(origin.op, origin.site);
  is_fortran_order_ =
      or_fortran && !body.contiguous && is_contiguous(reversed(body.shape), reversed(body.strides));
  tensor_ = body.contiguous || is_fortran_order_ || body.is_disposed() || body.symbol() != nullptr
                ? tensor
                : contiguous(Operand(tensor, origin.site));
  pin_.take(tensor_.body(origin.op, origin.site), origin.op, origin.site);
  elements_.emplace(pin_);
  bytes_ = {static_cast<const std::byte*>(elements_->data()), tensor_.nbytes()};
}

}  // namespace tenure::io
