#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tenure/graph/placement.h"
#include "tenure/graph/plan.h"
#include "tenure/graph/unit.h"
#include "tenure/memory/observer.h"
#include "tenure/ops/random_ops.h"

namespace tenure::graph {

/// A program ready to run: a flat list of kernel calls with resolved places. It does not change, so
/// that any number of threads may run it.
class Executable {
 public:
  /// Orders the units for a low peak and gives every buffer its place.
  explicit Executable(std::unique_ptr<Lowered> lowered);

  const Plan& plan() const { return plan_; }
  /// Bytes that it holds itself.
  std::int64_t bytes() const;
  /// The inputs have the types and shapes of the plan. Allocates the arena and the outputs, nothing
  /// else. Throws OutOfMemory, DisposedError for an input or a constant, and what kernels throw.
  std::vector<Tensor> run(std::span<const Tensor> inputs, Site site) const;

 private:
  struct Step {
    enum class Way : std::uint8_t {
      tile,    ///< an elementwise loop over few elements, all contiguous and in the right types
      direct,  ///< a direct kernel
      kernel,  ///< anything
    };
    const Unit* unit = nullptr;
    Way way = Way::kernel;
    std::vector<Place> in{};  ///< of each input's first element
    std::vector<Place> out{};
    Place workspace{};
    std::size_t count = 0;  ///< of elements of the result
    std::size_t draw = 0;   ///< of a random op: its place among them in the program
  };
  /// What a run has for its steps: a pointer per base, and a state per random op.
  struct Frame {
    std::span<std::byte* const> bases;
    std::span<const Generator::State> draws;
  };
  void describe();
  /// Gives variables what was assigned to them; all, or none if one is disposed.
  void commit(std::vector<Tensor>& results, Site site) const;
  static void run_step(const Step& step, const Frame& frame);
  static void run_kernel(const Step& step, const Frame& frame);

  std::unique_ptr<Lowered> lowered_;
  std::vector<Step> steps_;
  std::vector<const Unit*> draws_;  ///< random ops, in the order of the program
  Plan plan_;
  std::uint64_t number_;  ///< of this executable among all
  std::vector<mem::PlannedRun::Buffer> arena_map_;
};

}  // namespace tenure::graph
