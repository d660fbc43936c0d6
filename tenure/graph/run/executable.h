#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tenure/graph/passes/unit.h"
#include "tenure/graph/place/placement.h"
#include "tenure/graph/plan.h"
#include "tenure/graph/run/known_indices.h"
#include "tenure/graph/run/packed_weights.h"
#include "tenure/memory/observer.h"
#include "tenure/ops/random_ops.h"

namespace tenure::graph {

class Executable;
class ObservedRun;

/// The bodies of one loop or branch, compiled.
using BodyPrograms = std::vector<std::shared_ptr<const Executable>>;

/// What a program holds for its runs.
struct CompiledParts {
  BodyPrograms bodies{};       ///< of its loops and branches
  std::int64_t constants = 0;  ///< bytes of those that were made when it was compiled
};

/// A program ready to run: a flat list of kernel calls with resolved places. It does not change, so
/// that any number of threads may run it. It is made in executable.cpp, run in execute.cpp, step
/// by step in steps.cpp, and told to recordings in described.cpp.
class Executable {
 public:
  /// Orders the units for a low peak and gives every buffer its place.
  Executable(std::unique_ptr<Lowered> lowered, CompiledParts parts);

  const Plan& plan() const { return plan_; }
  /// For recordings.
  mem::PlannedProgram program() const;
  /// Where it runs, and its inputs and results are.
  Device device() const { return lowered_->request.device; }
  /// Bytes that it holds, with its bodies.
  std::int64_t bytes() const;
  /// The inputs have the types, shapes and strides of the plan; donated ones can be taken over (see
  /// pending.h). Allocates the arena and the outputs, nothing else. Throws OutOfMemory,
  /// DisposedError for an input or a constant, and what kernels throw; then it has changed nothing.
  /// Variables that it assigns to are its own while it runs: others wait. `name` is for reports.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::string_view name, Site site) const;

  /// The same within a kernel: on contiguous data, memory for each fetch and an arena of the
  /// planned size. The program has no variables, and nothing is donated to it.
  void run_at(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs,
              std::byte* arena) const;

 private:
  struct Step {
    enum class Way : std::uint8_t {
      flat,    ///< an elementwise loop, all contiguous and in the right types
      direct,  ///< a direct kernel
      kernel,  ///< anything
    };
    const Unit* unit = nullptr;
    Way way = Way::kernel;
    std::vector<Place> in{};  ///< of each input's first element
    std::vector<Place> out{};
    Place workspace{};
    std::size_t count = 0;          ///< of elements of the result
    std::size_t draw = 0;           ///< of a random op: its place in Request::draws
    int part = 0;                   ///< of a unit in parts, which has a step for each
    std::size_t together = 1;       ///< steps from this one on that are given at once
    int packed = -1;                ///< the packed weight that its kernel reads
    bool is_given_indices = false;  ///< all that it may refuse is known before the run
  };
  /// What a run has for its steps: a pointer per base, a state per random op, and room for the
  /// views of one step, undefined until it writes them.
  struct Frame {
    ops::Backend& device;
    std::span<std::byte* const> bases;
    std::span<const Generator::State> draws;
    PackedWeights::Use* packed;  ///< null: there are none
    ops::View* views;
    std::span<ops::Kernel> kernels;  ///< room for those that are given at once
    bool indices_hold = false;       ///< those that are given are in bounds
  };
  /// Where an output goes besides to the caller, and in whose memory it is computed.
  struct OutputTarget {
    VariableState* variable = nullptr;  ///< that gets it
    int reused = -1;                    ///< whose memory it takes over, among inputs and sources
  };
  void add_step(const Unit& unit, int part, const Placement& placement);
  void decide_targets(const Placement& placement);
  /// Finds the steps in a row that may be given to the device at once.
  void join_steps(const Placement& placement);
  /// Where that is in memory that outputs take over, if it is.
  Place memory_of(Place place) const;
  /// Orders the units and gives every buffer its place, by the options of the request.
  Placement arrange();
  void describe(const Placement& placement);
  /// The most bytes of weights that it may keep packed.
  std::int64_t packed_room() const;
  /// What a run has once nobody can take its inputs away.
  struct Pinned {
    std::span<std::byte*> bases;  ///< the arena's and the outputs' are missing
    std::span<Pin> pins;          ///< of the inputs, then of the sources
    PackedWeights::Use& packed;
    std::span<const std::uint64_t> versions;  ///< of the sources
    std::span<Tensor> ended;                  ///< gets what variables held
  };
  /// What a run is told besides where everything lies.
  struct Told {
    PackedWeights::Use* packed = nullptr;
    ObservedRun* observed = nullptr;
    bool indices_hold = false;
  };
  /// Takes its memory, computes and gives the arena back.
  std::vector<Tensor> run_pinned(const Pinned& pinned, std::string_view name, Site site) const;
  void run_steps(std::span<std::byte* const> bases, const Told& told) const;
  static void run_step(const Step& step, const Frame& frame);
  /// All steps, those that may be given at once so.
  void run_joined(const Frame& frame) const;
  static void run_step_named(const Step& step, const Frame& frame);
  static void run_kernel(const Step& step, const Frame& frame);
  static void run_together(std::span<const Step> steps, const Frame& frame);
  /// Throws NumberError if a result of the step is not finite.
  static void check_numbers(const Step& step, const Frame& frame);

  std::unique_ptr<Lowered> lowered_;
  ops::Backend* device_;
  CompiledParts parts_;
  std::vector<Step> steps_;
  std::size_t most_views_ = 0;         ///< that steps have which are given at once
  std::size_t most_together_ = 0;      ///< steps that are
  std::vector<OutputTarget> targets_;  ///< of each output
  /// Those that are assigned to, in the order in which they are locked.
  std::vector<VariableState*> assigned_;
  Plan plan_;
  std::unique_ptr<const PackedWeights> packed_;
  KnownIndices indices_;
  /// Of a program whose work is the same in each run; null: it is not, or the device has no use
  /// for that.
  std::unique_ptr<ops::Replay> replay_;
  std::uint64_t number_;  ///< of this executable among all
};

}  // namespace tenure::graph
