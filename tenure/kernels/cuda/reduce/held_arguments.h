#pragma once

namespace tenure::kernels::cuda {

/// Elements that a thread keeps in registers.
inline constexpr int kHeldElements = 8;

}  // namespace tenure::kernels::cuda
