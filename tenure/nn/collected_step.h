#pragma once

#include <memory>

#include "tenure/nn/steps.h"

namespace tenure::nn {

/// Steps of several batches, or with a scaled loss: gradients wait for those of further batches,
/// and for a look whether they are finite.
std::unique_ptr<Steps> make_collected_step(const StepParts& parts);

}  // namespace tenure::nn
