#include "tenure/memory/kinds.h"

#include <fmt/format.h>

namespace tenure {

std::string name_of(Device device) {
  constexpr std::string_view kinds[] = {"cpu", "cuda", "test", "pinned"};
  if (device == cpu) return "cpu";
  return fmt::format("{}:{}", kinds[static_cast<int>(device.kind)], device.index);
}

}  // namespace tenure
