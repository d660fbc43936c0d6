#pragma once

#include <string_view>

#include "tenure/tenure.h"

/// The device that `--device NAME` names among a program's arguments, which it is taken out of; the
/// CPU without it. A GPU that is not there is a tenure::DeviceError, which says what to install.
inline tenure::Device device_option(int& argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) != "--device") continue;
    const tenure::Device device = tenure::device_named(argv[i + 1]);
    for (int j = i; j + 2 <= argc; ++j) argv[j] = argv[j + 2];
    argc -= 2;
    return device;
  }
  return tenure::cpu;
}
