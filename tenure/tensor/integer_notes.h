#pragma once

#include <optional>

#include "tenure/tensor/integer_range.h"
#include "tenure/tensor/tensor.h"

// Note: what is known of integers
//
// A kernel refuses an index outside its axis before it writes anything. On a device that computes
// later, it would have to wait at each call for that. So whoever has seen the integers of a tensor
// on such a device notes between which numbers they are: who copies them there, and who has asked
// the device once. A tensor's elements stay what they are as long as it lives, and no two tensors
// of a process have one id, by which a note is found. There are none of what a variable holds and
// of memory that somebody was given the right to write to: these change.
//
// Notes are few and may be lost, to others or to another thread that writes one at the same moment.

namespace tenure {

void note_integers(const TensorBody& body, const IntegerRange& range) noexcept;
/// Nothing is known if there is no note. `pin` keeps the tensor's data there.
std::optional<IntegerRange> noted_integers(const Pin& pin) noexcept;

/// Of a tensor of indices on the host, not too large to look through by the way; else nothing.
std::optional<IntegerRange> seen_integers(const Tensor& tensor);
std::optional<IntegerRange> seen_integers(const void* elements, DType dtype, std::int64_t n);

}  // namespace tenure
