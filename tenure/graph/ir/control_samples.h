#pragma once

#include <vector>

#include "tenure/ops/core/record.h"

// What the harness calls the ops of control_ops.h with, and what it expects: their bodies in terms
// of the references of the ops that they call.

namespace tenure::graph {

std::vector<ops::Sample> cond_samples();
std::vector<ops::Sample> while_samples();
std::vector<ops::Sample> scan_samples();

std::vector<ops::Reference> cond_reference(const std::vector<ops::Reference>& in,
                                           const ops::Attributes& attributes);
std::vector<ops::Reference> while_reference(const std::vector<ops::Reference>& in,
                                            const ops::Attributes& attributes);
std::vector<ops::Reference> scan_reference(const std::vector<ops::Reference>& in,
                                           const ops::Attributes& attributes);

}  // namespace tenure::graph
