#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tenure/ops/core/operand.h"

// Note: numbers are everywhere
//
// Tensors of one call are on one device. Numbers have none, and so have tensors of the CPU without
// dimensions, which are numbers that were computed: where the others of a call are elsewhere, they
// are copied there, with a gradient that comes back. All else is for the program to copy.

namespace tenure::ops {

/// Where the tensors of a call meet when those that are everywhere are brought there. Nothing: they
/// are on one device already, or there is no such place.
std::optional<Device> meeting_place(std::span<const Operand> operands);
std::optional<Device> meeting_place(std::span<const Tensor> tensors);

/// Brings a tensor that is everywhere to a device, now, whatever is traced; others are given back.
Tensor brought_to(const Tensor& tensor, Device device, Site site);

}  // namespace tenure::ops
