#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenure/graph/ir/program.h"

namespace tenure::graph {

/// Whether two numbers are one: those of different kinds are not, nor are 0 and -0.
bool same(const Scalar& a, const Scalar& b);
/// Whether two lists of attributes make one call of an op.
bool same(const ops::Attributes& a, const ops::Attributes& b);

/// Makes programs. Equal calls are one node, and so are equal constants: to build the same
/// expression again adds nothing.
class Builder {
 public:
  /// What makes two constants equal.
  enum class Constants {
    by_content,  ///< the elements, copied: what the tensor's owner does later changes nothing
    by_identity  ///< being the same tensor: its data is looked up when the program runs
  };
  /// Called before a node is added; may throw to refuse it.
  using Gate = std::function<void(const Node&)>;

  Builder(Constants constants, Device device, Gate gate = nullptr)
      : constants_(constants), gate_(std::move(gate)), program_{.device = device} {}

  const Program& program() const { return program_; }
  Program take() && { return std::move(program_); }
  /// Bytes that constants hold.
  std::int64_t constant_bytes() const { return constant_bytes_; }

  Value input(std::string name, ops::Spec spec, Site site);
  Value constant(const Tensor& tensor, Site site);
  /// One node per variable.
  Value variable(const std::shared_ptr<VariableState>& variable, Site site);
  /// Every assignment is a node of its own.
  Value assign(const std::shared_ptr<VariableState>& variable, Value value, Site site);
  /// A constant that nobody else has, and that never changes.
  Value fixed_constant(Tensor tensor, Site site);
  /// A call whose results are `outputs`: see infer_call.
  std::vector<Value> call(const ops::OpRecord& op, std::vector<Argument> arguments,
                          const ops::Attributes& attributes, std::vector<ops::Spec> outputs,
                          Site site);
  /// A copy of a node of another program, with arguments of this one.
  std::vector<Value> copy(const Node& node, std::vector<Argument> arguments);

 private:
  Value append(Node node);
  std::vector<Value> outputs_of(std::int32_t node) const;
  std::vector<Value> share_or_append(Node node);

  Constants constants_;
  Gate gate_;
  Program program_;
  std::int64_t constant_bytes_ = 0;
  std::unordered_multimap<std::size_t, std::int32_t> calls_;  // by hash
  std::unordered_multimap<std::size_t, std::int32_t> tensors_;
  std::unordered_map<const VariableState*, Value> variables_;
};

}  // namespace tenure::graph
