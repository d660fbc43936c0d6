#pragma once

namespace tenure::ops {

/// The `outputs` of an op whose calls have different numbers of them: no call has more.
inline constexpr int kAnyOutputs = 32;

}  // namespace tenure::ops
