#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenure/autograd/value_table.h"
#include "tenure/ops/core/gradient.h"

namespace tenure::autograd {

/// Bit i; the last one stands for all further places: bodies of loops read and give any number.
constexpr bool has_bit(std::uint32_t bits, std::size_t i) {
  return (bits >> (i < 32 ? i : 31) & 1) != 0;
}

/// How a call that is no op goes back: a custom gradient, or a traced function.
class CustomRule {
 public:
  virtual ~CustomRule() = default;
  virtual void run(ops::Backward& b) const = 0;
  /// Static storage duration.
  virtual const char* name() const = 0;
  /// For reports: `function "step"`.
  virtual std::string title() const { return name(); }
};

/// A call that a tape took note of. Its arrays lie behind it in the tape's arena.
struct Node {
  const ops::OpRecord* op = nullptr;            ///< null: custom
  const CustomRule* custom = nullptr;           ///< the tape owns it
  const ops::Attributes* attributes = nullptr;  ///< null: none
  Site site{};
  const std::string* scope = nullptr;  ///< the path of the call, which the tape owns; null: none
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  std::uint32_t saved = 0;  ///< tensors: the inputs', the outputs', then a custom rule's own
  Value first_output = kNoValue;
  /// Bit i: saved because the rule reads it. Of symbols, all are kept: they have no data. One whose
  /// sizes are unknown, if it is not read, is kept as its outline.
  std::uint32_t needed_inputs = 0;
  std::uint32_t needed_outputs = 0;

  Value* input_values = nullptr;  ///< kNoValue where the tape does not know the input
  Tensor* saved_tensors = nullptr;
  std::uint64_t* origins = nullptr;  ///< the ids of the tensors that were saved
  ops::Spec* specs = nullptr;
  std::optional<Scalar>* numbers = nullptr;  ///< null: no input is a number
  /// The last write to any storage before it saved: what comes later changes the gradients.
  std::uint64_t last_write = 0;

  const char* name() const { return op == nullptr ? custom->name() : op->name; }
  std::string title() const { return op == nullptr ? custom->title() : op->name; }
  /// No gradient goes back through it: its slope is zero.
  bool is_flat() const {
    return op != nullptr && op->gradient != nullptr && op->gradient->run == nullptr;
  }
  std::span<Tensor> saved_list() const { return {saved_tensors, saved}; }
  std::span<Tensor> saved_inputs() const { return {saved_tensors, inputs}; }
  std::span<Tensor> saved_outputs() const { return {saved_tensors + inputs, outputs}; }
  void release() const {
    for (Tensor& tensor : saved_list()) tensor = Tensor();
  }
};

/// Memory of nodes. A thread keeps a few blocks, so that the tape of a small step needs none anew.
class NodeArena {
 public:
  NodeArena() = default;
  ~NodeArena() { clear(); }
  NodeArena(const NodeArena&) = delete;
  NodeArena& operator=(const NodeArena&) = delete;

  /// A node with room for its arrays, all of them made.
  Node& make(std::size_t inputs, std::size_t outputs, std::size_t extra, bool has_numbers,
             const ops::Attributes& attributes);
  /// Ends the arrays of a node. Its memory stays until clear().
  static void end(Node& node);
  /// The nodes have ended.
  void clear();
  /// Of all nodes.
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 15;
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };
  std::byte* take(std::size_t bytes);

  std::vector<Block> blocks_;
  std::size_t used_ = 0;   // of the last one
  std::size_t bytes_ = 0;  // of all
};

}  // namespace tenure::autograd
