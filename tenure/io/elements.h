#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tenure/base/file.h"
#include "tenure/io/byte_source.h"
#include "tenure/tensor/host.h"
#include "tenure/tensor/tensor.h"

// How elements get into files and out of them. Files have them in little-endian order, as memory
// has them here.

namespace tenure::io {

/// Where a tensor of a file goes: what its op is called, and who asked for it.
struct Origin {
  const char* op;  ///< of static storage duration
  Site site;
};

/// What a file says of a tensor.
struct FileLayout {
  DType dtype = DType::float32;
  Shape shape;
  bool fortran_order = false;  ///< the first axis is the fastest
  bool big_endian = false;
};

/// Bytes of its elements. Throws FormatError in the name of a file, at `offset`, for shapes that
/// memory cannot hold.
std::size_t bytes_of(const FileLayout& layout, const std::string& path, std::uint64_t offset);

/// A tensor of the next elements of `source`. Throws FormatError if they are not all there, or if
/// an element of bool is neither 0 nor 1; it allocates nothing if the source cannot be that long.
Tensor read_elements(ByteSource& source, const FileLayout& layout, Origin origin);

/// A tensor in `bytes` of a mapped file, which stays mapped as long as a tensor is there. Copies
/// only what is not aligned to its element size. `offset` is where in the file the bytes are.
Tensor map_elements(const std::shared_ptr<const MappedFile>& file, const std::string& path,
                    std::uint64_t offset, std::span<std::byte> bytes, const FileLayout& layout,
                    Origin origin);

/// The elements of a tensor one after the other: in place where they lie so in the host's memory,
/// else a copy that lives as long as this object.
class WrittenElements {
 public:
  /// The copy is in row-major order; with `or_fortran`, elements in Fortran's order stay in place.
  WrittenElements(const Tensor& tensor, bool or_fortran, Origin origin);

  bool is_fortran_order() const { return is_fortran_order_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  bool is_fortran_order_ = false;
  Tensor tensor_;
  Pin pin_;
  std::optional<HostElements> elements_;
  std::span<const std::byte> bytes_;
};

}  // namespace tenure::io
