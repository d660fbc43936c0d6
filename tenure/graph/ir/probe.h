#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tenure/graph/ir/infer.h"

namespace tenure::graph {

// Note: shapes where sizes are unknown
//
// A shape rule is code that computes with numbers, so it is asked with numbers: with many sizes for
// every unknown dimension. A size that it refuses is one that a run refuses. What is the same in
// all answers is known; what differs is unknown. Rules change their mind at sizes that have to do
// with what else is in play, so those are among the sizes that are tried: small ones, those of
// known dimensions and of attributes, their neighbours, sums, differences, products and quotients,
// and large ones. Where the answer takes programs, of a composite, a branch or a loop, large sizes
// are left out, but for those that attributes name: there may be steps for each element. A run asks
// again with its sizes, and is refused if they contradict what was inferred: a shape that was taken
// for certain is never silently another one.
//
// Sizes of one or two unknown dimensions that fit are found if they are among those. Of more, not
// all combinations are tried: a call that needs a rare one is refused, and the error says so.

/// What a shape rule says of arguments whose sizes are all known.
using ShapeRule = std::function<std::vector<ops::Spec>(std::span<const ArgumentSpec>)>;

/// The line of errors of calls for which not all combinations of sizes were tried.
inline constexpr auto kNotAllTried =
    "no sizes of its unknown dimensions were found that fit together, though not all were tried: "
    "if there are some, let a dimension be known";

/// What holds for all sizes of unknown dimensions that the rule of `op` takes. Throws what the rule
/// throws if it takes none, and GraphError if ranks or the number of results depend on sizes.
std::vector<ops::Spec> probe(const ShapeRule& rule, std::span<const ArgumentSpec> arguments,
                             const ops::Attributes& attributes, const ops::OpRecord& op, Site site);

}  // namespace tenure::graph
