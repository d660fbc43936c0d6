#include "tenure/graph/passes/simplify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tenure/graph/ir/builder.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/tensor/hand_out.h"

namespace tenure::graph {
namespace {

/// Results up to this size are computed once and kept.
constexpr std::int64_t kFoldUpTo = 64 * 1024;

class Simplifier {
 public:
  explicit Simplifier(const Program& program) : program_(program) {}

  Request run(const Request& request) && {
    renamed_.resize(program_.nodes.size());
    Request result{.device = request.device};
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      const Value input = request.inputs[i];
      const Node& node = program_[input];
      result.inputs.push_back(builder_.input(node.name, node.outputs[0], node.site));
      renamed_[static_cast<std::size_t>(input.node)] = {result.inputs.back()};
      is_plain_.push_back(request.strides[i].empty());
    }
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      if (renamed_[i].empty()) renamed_[i] = rename(program_.nodes[i]);
    }
    for (const Value fetch : request.fetches) result.fetches.push_back(renamed(fetch));
    result.returned = request.returned;
    result.strides = request.strides;
    result.donated = request.donated;
    result.draws = request.draws;
    result.options = request.options;
    result.program = std::move(builder_).take();
    return result;
  }

 private:
  Value renamed(Value value) const {
    return renamed_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }

  std::vector<Value> rename(const Node& node) {
    std::vector<Argument> arguments = node.arguments;
    for (Argument& argument : arguments) {
      if (!argument.number) argument.value = renamed(argument.value);
    }
    if (node.kind != Node::Kind::call) return builder_.copy(node, std::move(arguments));
    if (const auto same = unchanged(node, arguments)) return {*same};
    if (can_fold(node, arguments)) return fold(node, arguments);
    return builder_.copy(node, std::move(arguments));
  }

  const Node& made(Value value) const { return builder_.program()[value]; }

  ops::View plain_view(Value value) const {
    const ops::Spec& spec = builder_.program().spec(value);
    return {.dtype = spec.dtype, .shape = spec.shape, .strides = contiguous_strides(spec.shape)};
  }

  /// Whether its elements lie one behind the other, as those of results do: some ops, such as sums,
  /// take elements in the order in which they lie.
  bool is_plain(Value value) {
    for (std::size_t n = is_plain_.size(); n < builder_.program().nodes.size(); ++n) {
      is_plain_.push_back(lies_plainly(builder_.program().nodes[n]));
    }
    return is_plain_[static_cast<std::size_t>(value.node)];
  }
  bool lies_plainly(const Node& node) const {
    const auto is_argument_plain = [&] {
      return is_plain_[static_cast<std::size_t>(node.arguments[0].value.node)];
    };
    if (node.kind == Node::Kind::constant) return node.data.body("run").contiguous;
    if (node.kind == Node::Kind::assign) return is_argument_plain();
    if (node.kind != Node::Kind::call || node.op->view == nullptr) return true;
    if (!is_argument_plain()) return false;
    std::vector<ops::View> views;
    for (const Argument& argument : node.arguments) views.push_back(plain_view(argument.value));
    const auto seen = node.op->view({.op = node.op->name,
                                     .in = views,
                                     .out = {},
                                     .attributes = node.attribute_list(),
                                     .workspace = {}});
    return !seen || is_contiguous(seen->shape, seen->strides);
  }

  /// The argument that the call gives back as it is.
  std::optional<Value> unchanged(const Node& node, const std::vector<Argument>& arguments) {
    const auto is_result = [&](const Argument& argument) {
      if (argument.number) return false;
      const ops::Spec& spec = builder_.program().spec(argument.value);
      return spec.dtype == node.outputs[0].dtype && spec.shape == node.outputs[0].shape &&
             (node.op->view != nullptr || is_plain(argument.value));
    };
    if (node.op->elementwise != nullptr) {
      const ops::ElementwiseRecord& e = *node.op->elementwise;
      if (e.undoes_itself && !arguments[0].number) {
        const Node& inner = made(arguments[0].value);
        if (inner.op == node.op && is_result(inner.arguments[0])) return inner.arguments[0].value;
      }
      if (!e.neutral || (e.neutral->of_integers && is_floating(node.outputs[0].dtype))) {
        return std::nullopt;
      }
      const auto is_neutral = [&](const Argument& argument) {
        return argument.number && argument.number->floating == e.neutral->value;
      };
      if (is_neutral(arguments[1]) && is_result(arguments[0])) return arguments[0].value;
      if (e.neutral->on_left && is_neutral(arguments[0]) && is_result(arguments[1])) {
        return arguments[1].value;
      }
      return std::nullopt;
    }
    if (node.op->is_identity == nullptr || !is_result(arguments[0])) return std::nullopt;
    std::vector<ops::View> views;
    for (const Argument& argument : arguments) {
      if (argument.number) return std::nullopt;
      views.push_back(plain_view(argument.value));
    }
    const bool identity = node.op->is_identity({.op = node.op->name,
                                                .in = views,
                                                .out = {},
                                                .attributes = node.attribute_list(),
                                                .workspace = {}});
    return identity ? std::optional(arguments[0].value) : std::nullopt;
  }

  bool can_fold(const Node& node, const std::vector<Argument>& arguments) const {
    if (node.op->draws != nullptr || node.op->view != nullptr || !node.op->folds) return false;
    std::int64_t bytes = 0;
    for (const ops::Spec& spec : node.outputs) {
      bytes += bytes_of(spec);
    }
    return bytes <= kFoldUpTo &&
           std::all_of(arguments.begin(), arguments.end(), [&](const Argument& argument) {
             return argument.number || made(argument.value).fixed;
           });
  }

  std::vector<Value> fold(const Node& node, const std::vector<Argument>& arguments) {
    const CategoryScope category(Category::cache);
    std::vector<Operand> operands;
    for (const Argument& argument : arguments) {
      if (argument.number && argument.number->kind == Scalar::Kind::floating) {
        operands.emplace_back(argument.number->floating, node.site);
      } else if (argument.number && argument.number->kind == Scalar::Kind::boolean) {
        operands.emplace_back(argument.number->integer != 0, node.site);
      } else if (argument.number) {
        operands.emplace_back(argument.number->integer, node.site);
      } else {
        operands.emplace_back(made(argument.value).data, node.site);
      }
    }
    std::vector<Value> values;
    for (Tensor& tensor : ops::run_many_now(*node.op, operands, node.attribute_list(), node.site)) {
      TensorBody& body = *tensor.body_or_null();
      body.set_kind(HolderKind::cache);
      // No budget gives it up: what a device was given to run again reads it where it is.
      static_cast<void>(hand_out(body, HandedOut::to_read, "run", node.site));
      values.push_back(builder_.fixed_constant(keep(std::move(tensor)), node.site));
    }
    return values;
  }

  const Program& program_;
  Builder builder_{Builder::Constants::by_identity, program_.device};
  std::vector<std::vector<Value>> renamed_;
  std::vector<bool> is_plain_;  ///< of the nodes so far
};

}  // namespace

Request simplify(Request request) {
  return without_dead_code(Simplifier(request.program).run(request));
}

}  // namespace tenure::graph
