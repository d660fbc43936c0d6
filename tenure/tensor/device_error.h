#pragma once

#include <string>
#include <string_view>

#include "tenure/base/error.h"
#include "tenure/memory/kinds.h"

namespace tenure {

/// A device cannot do what is asked: it cannot compute an op, there is no such device, a call has
/// inputs on two, or the host wants a pointer to elements that it cannot read.
class DeviceError : public Error {
 public:
  /// It cannot compute `op`. An empty `op`: nor anything else.
  DeviceError(std::string_view op, Device device);
  DeviceError(std::string_view op, Device device, Device other);
  /// For a reason that `text` gives.
  static DeviceError because(std::string_view op, Device device, const std::string& text);
  /// The host cannot get at what lies there, `user` asked for.
  static DeviceError unreadable(std::string_view user, Device device);

  const std::string& op() const { return op_; }
  Device device() const { return device_; }

 private:
  DeviceError(std::string_view op, Device device, const std::string& text);

  std::string op_;
  Device device_;
};

}  // namespace tenure
