#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenure/tensor/dtype.h"

namespace tenure::io {

/// An element type of the format. In this order, from the last to the first, tensors stand in the
/// files that the format's own library writes.
struct SafetensorsType {
  std::string_view name;
  std::uint64_t size;
  std::optional<DType> dtype{};  ///< if Tenure has it
};

inline constexpr SafetensorsType kSafetensorsTypes[] = {
    {.name = "BOOL", .size = 1, .dtype = DType::boolean},
    {.name = "U8", .size = 1, .dtype = DType::uint8},
    {.name = "I8", .size = 1, .dtype = DType::int8},
    {.name = "F8_E5M2", .size = 1},
    {.name = "F8_E4M3", .size = 1},
    {.name = "I16", .size = 2, .dtype = DType::int16},
    {.name = "U16", .size = 2},
    {.name = "F16", .size = 2, .dtype = DType::float16},
    {.name = "BF16", .size = 2, .dtype = DType::bfloat16},
    {.name = "I32", .size = 4, .dtype = DType::int32},
    {.name = "U32", .size = 4},
    {.name = "F32", .size = 4, .dtype = DType::float32},
    {.name = "F64", .size = 8, .dtype = DType::float64},
    {.name = "I64", .size = 8, .dtype = DType::int64},
    {.name = "U64", .size = 8},
};

/// The name of the header's entry that is no tensor.
inline constexpr std::string_view kMetadataName = "__metadata__";
/// The format allows no longer header.
inline constexpr std::uint64_t kLongestHeader = 100'000'000;

}  // namespace tenure::io
