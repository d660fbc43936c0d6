#pragma once

#include <string>

#include "tenure/nn/fit.h"

namespace tenure::nn {

/// What a training came to, as a picture (SVG): the loss and each metric over the epochs, of
/// training and, dashed, of validation. It has the colours of the page around it, and stands alone
/// in a file. Of numbers that are not finite nothing is drawn.
std::string plot(const History& history);

}  // namespace tenure::nn
