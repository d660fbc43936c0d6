#pragma once

#include <span>

#include "tenure/ops/core/record.h"

// Note: the op harness
//
// What an op promises stands in its record. Each function here holds an op to one kind of promise,
// for all of its samples and element types, and reports what does not hold to the innermost
// Findings of the thread. The tests call them for every op of ops::all_ops(); check_op() calls them
// for a user's own op.
//
// They are in numerics.cpp (record, numerics, special values), layouts.cpp (layouts, scalars),
// memory_effects.cpp, bounds.cpp, heap.cpp, errors.cpp (errors, faults), error_sites.cpp,
// gradients.cpp (gradient, saved, gradient modes), modes.cpp, unknown_sizes.cpp, parts.cpp and
// threads.cpp.

namespace tenure::check {

/// It has samples and a reference, and its parts fit each other.
void check_record(const ops::OpRecord& op);
/// Its results are within the stated bound of its reference; shapes and types are right.
void check_numerics(const ops::OpRecord& op);
/// Strided, offset, reversed and repeated inputs: elementwise, the bits that contiguous ones give;
/// else a result within the stated bound.
void check_layouts(const ops::OpRecord& op);
/// Elementwise on floats: NaN, infinities, signed zeros and the ends of the range come out as the
/// reference has them.
void check_special_values(const ops::OpRecord& op);
/// Elementwise: a number in place of a tensor gives what a tensor of that number gives.
void check_scalars(const ops::OpRecord& op);
/// It allocates, shares and overwrites what its memory effect says, and nothing else.
void check_memory(const ops::OpRecord& op);
/// A kernel writes all of its outputs, its workspace, and nothing beside them; what was in their
/// memory before does not matter.
void check_bounds(const ops::OpRecord& op);
/// Calls leave nothing on the heap of the process, where that can be seen (glibc).
void check_heap(const ops::OpRecord& op);
/// Wrong inputs give the typed errors in the op's name.
void check_errors(const ops::OpRecord& op);
/// Whatever wrong inputs throw names the op and the line of the call: eagerly, in a graph, and in a
/// function, also where only a run finds them.
void check_error_sites(const ops::OpRecord& op);
/// When an allocation fails, whichever it is, nothing is lost and nothing leaks.
void check_faults(const ops::OpRecord& op);
/// Gradients and gradients of gradients are what finite differences in float64 give; gradients of
/// an op that does not take float64 are what differences of its reference give. The gradient by an
/// input is the same whichever others are asked for.
void check_gradient(const ops::OpRecord& op);
/// A tape saves what the gradient rule declares, and the rule reads all of it.
void check_saved(const ops::OpRecord& op);
/// A function gives the same bits as a call that runs now, and takes what its plan says.
void check_modes(const ops::OpRecord& op);
/// Whichever sizes of its inputs are unknown when a graph is built: what is inferred holds in every
/// run, and runs give what eager calls of their sizes give, gradients too, or throw where those do.
void check_unknown_sizes(const ops::OpRecord& op);
/// A call that may be computed in parts gives the same bits in any number of them.
void check_parts(const ops::OpRecord& op);
/// A traced function gives the gradients that eager calls give, and refuses indices that those
/// refuse.
void check_gradient_modes(const ops::OpRecord& op);
/// It gives the same bits on any number of threads, also where there is work for several. Tenure's
/// own ops promise it; a user's may compute with whatever library it likes.
void check_threads(const ops::OpRecord& op);

struct NamedCheck {
  const char* name;  ///< of what is promised
  void (*run)(const ops::OpRecord& op);
  /// Of an op that fails it nothing else can be said: it has written into others' memory.
  bool is_condition = false;
};
/// All of the above but the last.
std::span<const NamedCheck> all_checks();

}  // namespace tenure::check
