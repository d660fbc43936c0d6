#pragma once

namespace tenure::nn {

/// How fit() tells what it does.
enum class Progress {
  automatic,  ///< a bar on a terminal, else lines
  bar,        ///< one line that changes
  lines,      ///< a line after each epoch
  none,
};

}  // namespace tenure::nn
