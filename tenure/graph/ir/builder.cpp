#include "tenure/graph/ir/builder.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "tenure/graph/ir/infer.h"
#include "tenure/graph/ir/variable_state.h"
#include "tenure/memory/accounts/name_path.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/tape.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/host.h"

namespace tenure::graph {
namespace {

std::size_t mix(std::size_t a, std::size_t b) {
  return (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
}

std::size_t hash_of(const Dims& dims) {
  std::size_t hash = static_cast<std::size_t>(dims.size());
  for (const std::int64_t d : dims) hash = mix(hash, static_cast<std::size_t>(d));
  return hash;
}

std::size_t hash_of(const ops::Attribute& attribute) {
  const std::size_t hash = std::visit(
      []<class T>(const T& value) -> std::size_t {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return 0;
        } else if constexpr (std::is_same_v<T, Dims>) {
          return hash_of(value);
        } else if constexpr (std::is_same_v<T, std::shared_ptr<const ops::Opaque>>) {
          return value->hash();
        } else {
          return std::hash<T>()(value);
        }
      },
      attribute);
  return mix(hash, attribute.index());
}

/// NaN is the same as NaN, and 0 is not -0.
bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool same_attribute(const ops::Attribute& a, const ops::Attribute& b) {
  if (const auto* const x = std::get_if<double>(&a)) {
    const auto* const y = std::get_if<double>(&b);
    return y != nullptr && same_bits(*x, *y);
  }
  using OpaquePointer = std::shared_ptr<const ops::Opaque>;
  if (const auto* const x = std::get_if<OpaquePointer>(&a)) {
    const auto* const y = std::get_if<OpaquePointer>(&b);
    return y != nullptr && (*x)->equals(**y);
  }
  return a == b;
}

bool same_call(const Node& a, const Node& b) {
  if (a.op != b.op || a.arguments.size() != b.arguments.size()) return false;
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    const Argument& x = a.arguments[i];
    const Argument& y = b.arguments[i];
    if (x.number.has_value() != y.number.has_value()) return false;
    if (x.number ? !same(*x.number, *y.number) : !(x.value == y.value)) return false;
  }
  return same(a.attribute_list(), b.attribute_list());
}

std::size_t hash_of_call(const Node& node) {
  std::size_t hash = std::hash<const void*>()(node.op);
  for (const Argument& argument : node.arguments) {
    hash = argument.number ? mix(hash, std::hash<double>()(argument.number->floating))
                           : mix(mix(hash, static_cast<std::size_t>(argument.value.node)),
                                 static_cast<std::size_t>(argument.value.output));
  }
  const ops::Attributes& attributes = node.attribute_list();
  for (int i = 0; i < attributes.size(); ++i) hash = mix(hash, hash_of(attributes[i]));
  return hash;
}

std::string scope_of_thread() {
  const mem::NamePath* const path = mem::this_thread().path;
  return path == nullptr ? std::string() : path->text();
}

/// The elements of a contiguous tensor, as the host reads them.
class Bytes {
 public:
  explicit Bytes(const Tensor& tensor)
      : pin_(tensor.body("constant"), "constant", tensor.created()),
        elements_(pin_),
        size_(tensor.nbytes()) {}
  std::string_view get() const { return {static_cast<const char*>(elements_.data()), size_}; }

 private:
  Pin pin_;
  HostElements elements_;
  std::size_t size_;
};

}  // namespace

bool same(const Scalar& a, const Scalar& b) {
  return a.kind == b.kind && a.integer == b.integer && same_bits(a.floating, b.floating);
}

bool same(const ops::Attributes& a, const ops::Attributes& b) {
  if (a.size() != b.size()) return false;
  for (int i = 0; i < a.size(); ++i) {
    if (!same_attribute(a[i], b[i])) return false;
  }
  return true;
}

Value Builder::append(Node node) {
  if (gate_) gate_(node);
  program_.nodes.push_back(std::move(node));
  return {.node = static_cast<std::int32_t>(program_.nodes.size()) - 1};
}

std::vector<Value> Builder::outputs_of(std::int32_t node) const {
  std::vector<Value> values;
  const std::size_t n = program_.nodes[static_cast<std::size_t>(node)].outputs.size();
  for (std::size_t o = 0; o < n; ++o) {
    values.push_back({.node = node, .output = static_cast<std::int32_t>(o)});
  }
  return values;
}

Value Builder::input(std::string name, ops::Spec spec, Site site) {
  return append({.kind = Node::Kind::input,
                 .outputs = {spec},
                 .name = std::move(name),
                 .site = site,
                 .scope = scope_of_thread()});
}

Value Builder::constant(const Tensor& tensor, Site site) {
  const ops::Spec spec{tensor.dtype(), tensor.shape()};
  const bool by_content = constants_ == Constants::by_content;
  Tensor data = tensor;
  std::size_t hash = mix(hash_of(spec.shape), static_cast<std::size_t>(spec.dtype));
  const ops::TraceScope now(nullptr);  // whatever is being traced, and by whom
  const ops::Untaped untaped;
  if (by_content) {
    data = contiguous(Operand(tensor, site));
    hash = mix(hash, std::hash<std::string_view>()(Bytes(data).get()));
  } else {
    hash = mix(hash, tensor.id());
  }
  const auto [begin, end] = tensors_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Node& node = program_.nodes[static_cast<std::size_t>(it->second)];
    const bool equal = by_content ? node.outputs[0].dtype == spec.dtype &&
                                        node.outputs[0].shape == spec.shape &&
                                        Bytes(node.data).get() == Bytes(data).get()
                                  : node.data.id() == tensor.id();
    if (equal) return {.node = it->second};
  }
  if (by_content) {
    // It stays what it is: contiguous() alone may be a view of what its owner goes on to change.
    data = keep(tensor.is_contiguous() ? clone(Operand(tensor, site)) : std::move(data));
    constant_bytes_ += static_cast<std::int64_t>(data.nbytes());
  }
  const Value value = append({.kind = Node::Kind::constant,
                              .outputs = {spec},
                              .data = std::move(data),
                              .fixed = by_content,
                              .site = site,
                              .scope = scope_of_thread()});
  tensors_.emplace(hash, value.node);
  return value;
}

Value Builder::variable(const std::shared_ptr<VariableState>& variable, Site site) {
  if (const auto found = variables_.find(variable.get()); found != variables_.end()) {
    return found->second;
  }
  const Value value = append({.kind = Node::Kind::variable,
                              .outputs = {{variable->dtype, variable->shape}},
                              .variable = variable,
                              .name = variable->name,
                              .site = site,
                              .scope = scope_of_thread()});
  variables_.emplace(variable.get(), value);
  return value;
}

Value Builder::assign(const std::shared_ptr<VariableState>& variable, Value value, Site site) {
  return append({.kind = Node::Kind::assign,
                 .arguments = {{.value = value}},
                 .outputs = {program_.spec(value)},
                 .variable = variable,
                 .name = variable->name,
                 .site = site,
                 .scope = scope_of_thread()});
}

Value Builder::fixed_constant(Tensor tensor, Site site) {
  const ops::Spec spec{tensor.dtype(), tensor.shape()};
  return append({.kind = Node::Kind::constant,
                 .outputs = {spec},
                 .data = std::move(tensor),
                 .fixed = true,
                 .site = site});
}

std::vector<Value> Builder::share_or_append(Node node) {
  const bool pure = node.op->draws == nullptr;
  const std::size_t hash = pure ? hash_of_call(node) : 0;
  if (pure) {
    const auto [begin, end] = calls_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (same_call(program_.nodes[static_cast<std::size_t>(it->second)], node)) {
        return outputs_of(it->second);
      }
    }
  }
  const Value value = append(std::move(node));
  if (pure) calls_.emplace(hash, value.node);
  return outputs_of(value.node);
}

std::vector<Value> Builder::call(const ops::OpRecord& op, std::vector<Argument> arguments,
                                 const ops::Attributes& attributes, std::vector<ops::Spec> outputs,
                                 Site site) {
  return share_or_append({.op = &op,
                          .arguments = std::move(arguments),
                          .attributes = attributes.size() == 0
                                            ? nullptr
                                            : std::make_shared<const ops::Attributes>(attributes),
                          .outputs = std::move(outputs),
                          .site = site,
                          .scope = scope_of_thread(),
                          .category = mem::this_thread().category});
}

std::vector<Value> Builder::copy(const Node& node, std::vector<Argument> arguments) {
  Node fresh = node;
  fresh.arguments = std::move(arguments);
  if (node.kind == Node::Kind::assign) {
    fresh.outputs = {program_.spec(fresh.arguments[0].value)};
  }
  if (node.kind != Node::Kind::call) return {append(std::move(fresh))};
  fresh.outputs = infer_call(program_, *node.op, fresh.arguments, node.attribute_list(), node.site);
  return share_or_append(std::move(fresh));
}

}  // namespace tenure::graph
