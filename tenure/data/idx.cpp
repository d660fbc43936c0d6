#include "tenure/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>

#include "tenure/base/error.h"
#include "tenure/io/elements.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::data {
namespace {

std::optional<DType> type_of(std::byte code) {
  switch (static_cast<int>(code)) {
    case 0x08:
      return DType::uint8;
    case 0x09:
      return DType::int8;
    case 0x0b:
      return DType::int16;
    case 0x0c:
      return DType::int32;
    case 0x0d:
      return DType::float32;
    case 0x0e:
      return DType::float64;
    default:
      return std::nullopt;
  }
}

io::FileLayout read_layout(io::ByteSource& source) {
  std::array<std::byte, 4> magic{};
  source.read_all(magic, "the first bytes");
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
    throw FormatError(source.path(), 0, "this is no IDX file: it must begin with two zeros");
  }
  const std::optional<DType> dtype = type_of(magic[2]);
  if (!dtype) {
    throw FormatError(source.path(), 2,
                      fmt::format("IDX has no element type {:#04x}", static_cast<int>(magic[2])));
  }
  const int rank = static_cast<int>(magic[3]);
  if (rank > kMaxRank) {
    throw FormatError(source.path(), 3, fmt::format("{} axes are more than {}", rank, kMaxRank));
  }
  io::FileLayout layout{.dtype = *dtype, .shape = {}, .big_endian = true};
  for (int axis = 0; axis < rank; ++axis) {
    std::array<std::byte, 4> size{};
    source.read_all(size, "the shape");
    std::int64_t value = 0;
    for (const std::byte b : size) value = value << 8 | static_cast<int>(b);
    layout.shape.push_back(value);
  }
  return layout;
}

Tensor read_as(const std::string& path, io::Origin origin) {
  const InputFile file(path);
  const std::unique_ptr<io::ByteSource> source = io::open_source(file);
  const io::FileLayout layout = read_layout(*source);
  Tensor tensor = io::read_elements(*source, layout, origin);
  source->expect_end("the array");
  return tensor;
}

constexpr std::array<const char*, 4> kMnistFiles = {
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte"};

/// The path of a file of MNIST, compressed if only that is there.
std::string find_file(const std::string& folder, const char* name) {
  const std::filesystem::path plain = std::filesystem::path(folder) / name;
  std::error_code error;
  if (std::filesystem::exists(plain, error)) return plain.string();
  return plain.string() + ".gz";
}

Dataset read_half(const std::string& folder, const char* images_name, const char* labels_name,
                  io::Origin origin) {
  const std::string images_path = find_file(folder, images_name);
  const std::string labels_path = find_file(folder, labels_name);
  const Tensor images = read_as(images_path, origin);
  const Tensor labels = read_as(labels_path, origin);
  if (images.dtype() != DType::uint8 || images.rank() != 3 || images.dim(1) != 28 ||
      images.dim(2) != 28) {
    throw FormatError(images_path, 0,
                      fmt::format("images of 28 x 28 bytes are expected, not {}{}",
                                  name_of(images.dtype()), to_string(images.shape())));
  }
  if (labels.dtype() != DType::uint8 || labels.shape() != Shape{images.dim(0)}) {
    throw FormatError(
        labels_path, 0,
        fmt::format("{} labels in one byte each are expected, not {}{}", images.dim(0),
                    name_of(labels.dtype()), to_string(labels.shape())));
  }
  const auto values = labels.span<std::uint8_t>();
  const auto odd = std::find_if(values.begin(), values.end(), [](std::uint8_t v) { return v > 9; });
  if (odd != values.end()) {
    throw FormatError(labels_path, 8 + static_cast<std::uint64_t>(odd - values.begin()),
                      fmt::format("a label is {}, no digit", *odd));
  }
  return from_tensors({images, cast(Operand(labels, origin.site), DType::int64)}, origin.site);
}

}  // namespace

Tensor read_idx(const std::string& path, Site site) try {
  return read_as(path, {.op = "read_idx", .site = site});
} catch (Error& error) {
  mem::name_call(error, "read_idx", site);
  throw;
}

Split mnist(const std::string& folder, Site site) try {
  const io::Origin origin{.op = "mnist", .site = site};
  return {.train = read_half(folder, kMnistFiles[0], kMnistFiles[1], origin),
          .test = read_half(folder, kMnistFiles[2], kMnistFiles[3], origin)};
} catch (Error& error) {
  mem::name_call(error, "mnist", site);
  throw;
}

bool has_mnist(const std::string& folder) {
  return std::all_of(kMnistFiles.begin(), kMnistFiles.end(), [&](const char* name) {
    std::error_code error;
    return std::filesystem::is_regular_file(find_file(folder, name), error);
  });
}

}  // namespace tenure::data
