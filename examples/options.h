#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tenure/tenure.h"

namespace tenure::examples {

/// Takes `--name VALUE` out of a program's arguments; nothing if it is not there.
inline std::optional<std::string> take_option(int& argc, char** argv, std::string_view name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] != name) continue;
    std::string value = argv[i + 1];
    for (int j = i; j + 2 <= argc; ++j) argv[j] = argv[j + 2];
    argc -= 2;
    return value;
  }
  return std::nullopt;
}

/// The same for a `--name` alone: whether it was there.
inline bool take_flag(int& argc, char** argv, std::string_view name) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] != name) continue;
    for (int j = i; j < argc; ++j) argv[j] = argv[j + 1];
    --argc;
    return true;
  }
  return false;
}

/// The device that `--device NAME` names; the CPU without it. A GPU that is not there is a
/// DeviceError, which says what to install.
inline Device device_option(int& argc, char** argv) {
  const std::optional<std::string> name = take_option(argc, argv, "--device");
  return name ? device_named(*name) : cpu;
}

}  // namespace tenure::examples
