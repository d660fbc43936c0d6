#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "tenure/graph/passes/unit.h"

namespace tenure::graph {

/// Writes elementwise nodes of a program as one fused loop for a device.
class LoopBuilder {
 public:
  /// Says where a loop over `shape` finds an argument of `op` that it does not compute itself; a
  /// number in the wanted type.
  using Find = std::function<Layout(const Argument& argument, DType wanted, const Shape& shape,
                                    const char* op)>;

  LoopBuilder(const Program& program, Device device, Find find)
      : program_(program), device_(device), find_(std::move(find)) {}

  /// What a kernel's node gives is input 0 of the loop, though none of `inputs()`.
  void read_result(std::int32_t node);
  /// False if that is too much for one loop on the device; then it is of no use.
  bool add(std::span<const std::int32_t> nodes);

  FusedLoop take_loop() { return std::move(loop_); }
  std::vector<Layout> take_inputs() { return std::move(inputs_); }

 private:
  int add_step(const ops::LoopStep& step);
  int add_input(const Argument& argument, DType wanted, const Node& reader);
  /// A value of the loop, input or step, in another type.
  int converted(int value, DType wanted);
  void add_node(std::int32_t node);
  DType type_of(int value) const;

  const Program& program_;
  Device device_;
  Find find_;
  FusedLoop loop_;
  std::vector<Layout> inputs_;
  int first_input_ = 0;                   ///< 1 if input 0 is a kernel's result
  std::map<std::int32_t, int> value_of_;  ///< per node that the loop has
};

}  // namespace tenure::graph
