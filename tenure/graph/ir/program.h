#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenure/ops/core/record.h"
#include "tenure/ops/core/types.h"

namespace tenure::graph {

class VariableState;

/// One output of one node.
struct Value {
  std::int32_t node = -1;
  std::int32_t output = 0;
  friend bool operator==(Value, Value) = default;
};

/// What a call reads: a value, or a number that stands in the source text.
struct Argument {
  Value value{};
  std::optional<Scalar> number{};
};

/// One step of a program.
struct Node {
  enum class Kind : std::uint8_t {
    input,     ///< what a run is given
    constant,  ///< a tensor that is the same in every run
    variable,  ///< what a variable holds when the run begins
    assign,    ///< its argument, which the variable holds when the run has ended
    call,      ///< an op
  };
  Kind kind = Kind::call;
  const ops::OpRecord* op = nullptr;  ///< of a call
  std::vector<Argument> arguments{};
  std::shared_ptr<const ops::Attributes> attributes{};  ///< null: none
  std::vector<ops::Spec> outputs{};
  Tensor data{};                              ///< of a constant
  bool fixed = false;                         ///< the elements of the constant never change
  std::int32_t draw = -1;                     ///< of a random op: its place in Request::draws
  std::shared_ptr<VariableState> variable{};  ///< that is read or assigned to
  std::string name{};                         ///< of an input
  Site site{};
  std::string scope{};  ///< the named scopes that it was made in
  /// What it was made for: gradient on the way back, optimizer in an update.
  Category category = Category::activation;

  const ops::Attributes& attribute_list() const {
    return attributes == nullptr ? ops::kNoAttributes : *attributes;
  }
};

/// Nodes in an order in which each comes after what it reads.
struct Program {
  Device device = cpu;  ///< where it runs, and its tensors are
  std::vector<Node> nodes{};

  Node& operator[](Value value) { return nodes[static_cast<std::size_t>(value.node)]; }
  const Node& operator[](Value value) const { return nodes[static_cast<std::size_t>(value.node)]; }
  const ops::Spec& spec(Value value) const {
    return (*this)[value].outputs[static_cast<std::size_t>(value.output)];
  }
};

/// What a program takes on the heap, with the constants that are its own.
std::size_t program_bytes(const Program& program);

/// "float32[?, 4]"
std::string describe(const ops::Spec& spec);
/// "matmul, made at model.cpp:12 in scope encoder", "placeholder "x", ..."
std::string describe(const Node& node);

}  // namespace tenure::graph
