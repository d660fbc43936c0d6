#include "tenure/tensor/device_error.h"

#include <fmt/format.h>

namespace tenure {

DeviceError::DeviceError(std::string_view op, Device device, const std::string& text)
    : Error(text), op_(op), device_(device) {}

DeviceError::DeviceError(std::string_view op, Device device)
    : DeviceError(op, device,
                  op.empty()
                      ? fmt::format("nothing in this process computes on {}", name_of(device))
                      : fmt::format("{}: {} has no kernel for it; copy_to(x, cpu) brings "
                                    "its inputs to where it can be computed",
                                    op, name_of(device))) {}

DeviceError::DeviceError(std::string_view op, Device device, Device other)
    : DeviceError(op, device,
                  fmt::format("{}: its inputs are on {} and on {}; copy_to(x, device) brings them "
                              "to one device",
                              op, name_of(device), name_of(other))) {}

DeviceError DeviceError::because(std::string_view op, Device device, const std::string& text) {
  return DeviceError(op, device, text);
}

DeviceError DeviceError::unreadable(std::string_view user, Device device) {
  return DeviceError(user, device,
                     fmt::format("{}: the elements are on {}, where the host has no pointer to "
                                 "them; keep the result of copy_to(x, cpu), or call to_vector()",
                                 user, name_of(device)));
}

}  // namespace tenure
