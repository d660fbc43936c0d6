#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tenure/graph/plan.h"
#include "tenure/graph/unit.h"

namespace tenure::graph {

/// Where a buffer's first byte lies: `offset` bytes after a base that a run knows.
struct Place {
  int base = 0;
  std::int64_t offset = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

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
  };
  using Bases = std::span<std::byte* const>;

  void schedule();
  void describe(const std::vector<int>& order, const std::vector<bool>& in_place);
  /// Gives variables what was assigned to them; all, or none if one is disposed.
  void commit(std::vector<Tensor>& results, Site site) const;
  static void run_step(const Step& step, Bases bases);
  static void run_kernel(const Step& step, Bases bases);

  std::unique_ptr<Lowered> lowered_;
  std::vector<Step> steps_;
  Plan plan_;
};

}  // namespace tenure::graph
