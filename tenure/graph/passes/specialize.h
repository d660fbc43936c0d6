#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenure/graph/ir/program.h"

namespace tenure::graph {

/// What a run gives for an input.
struct Given {
  Value value;
  ops::Spec spec;     ///< all dimensions known
  Strides strides{};  ///< of what is not contiguous; empty: it is
};

/// The strides of a tensor that a run is given; empty if it is contiguous, or a symbol that stands
/// for one.
Strides given_strides(const Tensor& tensor);

/// What a run must keep to, besides being right.
struct CompileOptions {
  /// The most bytes of inputs and of what a run adds to them; it computes parts twice to keep to
  /// it.
  std::optional<std::int64_t> budget{};
  /// Without a budget: the share of its time that it may spend on computing parts twice to hold
  /// less at a time.
  double recompute = 0;
  int effort = 1;  ///< how long to look for what to compute twice; see FunctionOptions
  /// A number that is not finite ends the run. Nothing is fused then, so that it has a name.
  bool check_numbers = false;
  std::int64_t packed_limit = 256 << 20;  ///< see FunctionOptions
  /// The run stands for all of the program: random ops whose results nobody wants are not computed,
  /// but move the generator on as if they were.
  bool draws_all = false;
};

/// A program and what is wanted of it.
struct Request {
  Program program{};
  Device device = cpu;             ///< the program's
  std::vector<Value> inputs{};     ///< in the order of what is given
  std::vector<Strides> strides{};  ///< per input; empty: contiguous
  std::vector<Value> fetches{};    ///< in the order in which they were asked for
  std::size_t returned = 0;  ///< of them, from the first: the others are made to be assigned alone
  std::vector<bool> donated{};  ///< per input: it ends with the run; empty: none
  /// What a run takes off the generator: for each random op, in the order of the program.
  std::vector<std::uint64_t> draws{};
  CompileOptions options{};
};

/// The part of a program that some values need, for inputs of known shapes. Throws GraphError for
/// an input that is needed and not given, ShapeError and others where the shapes do not fit.
Request specialize(const Program& program, std::span<const Value> fetches,
                   std::span<const Given> given, Site site, const CompileOptions& options = {});

/// The same program without the nodes that its fetches do not need.
Request without_dead_code(const Request& request);

}  // namespace tenure::graph
