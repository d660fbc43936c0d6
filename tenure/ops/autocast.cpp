#include "tenure/ops/autocast.h"

#include <fmt/format.h>

namespace tenure {

DType Autocast::checked(DType type) {
  if (type == DType::float32 || type == DType::bfloat16 || type == DType::float16) return type;
  throw DTypeError("Autocast", fmt::format("{} is no precision to compute in: bfloat16 and float16 "
                                           "are, and float32 leaves all as it is",
                                           name_of(type)));
}

}  // namespace tenure
