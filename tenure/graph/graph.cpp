#include "tenure/graph/graph.h"

#include <fmt/format.h>

#include "tenure/graph/trace/state.h"
#include "tenure/memory/threads/call.h"

namespace tenure {
namespace {

using graph::Argument;
using graph::Node;
using graph::Program;

std::string number_text(const Scalar& number) {
  if (number.kind == Scalar::Kind::floating) return fmt::format("{}", number.floating);
  return number.is_beyond_int64 ? fmt::format("{}", static_cast<std::uint64_t>(number.integer))
                                : fmt::format("{}", number.integer);
}

std::string argument_text(const Argument& argument) {
  if (argument.number) return number_text(*argument.number);
  return argument.value.output == 0
             ? fmt::format("%{}", argument.value.node)
             : fmt::format("%{}.{}", argument.value.node, argument.value.output);
}

std::string title_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::input:
      return fmt::format("placeholder \"{}\"", node.name);
    case Node::Kind::constant:
      return "constant";
    case Node::Kind::variable:
      return fmt::format("variable \"{}\"", node.name);
    case Node::Kind::assign:
      return fmt::format("assign \"{}\"", node.name);
    case Node::Kind::call:
      break;
  }
  return node.op->name;
}

std::string dot_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

Graph::Graph(std::string name, Site site)
    : state_(std::make_shared<graph::GraphState>(graph::GraphState::Kind::graph, std::move(name),
                                                 site),
             site) {}

const std::string& Graph::name() const { return state_->name(); }

Tensor Graph::placeholder(const std::string& name, DType dtype, const Shape& shape, Site site) {
  return mem::in_call("placeholder", site, [&] { return state_->input(name, dtype, shape, site); });
}

Tensor Graph::constant(const Tensor& tensor, Site site) {
  return mem::in_call("constant", site, [&] { return state_->constant(tensor, site); });
}

Tensor Graph::read(const Variable& variable, Site site) {
  return mem::in_call("read", site, [&] {
    // A branch or a loop in the making reads it as all that it finds outside.
    auto* const body = dynamic_cast<graph::GraphState*>(ops::current_trace());
    if (body != nullptr && body->is_within(*state_)) {
      return body->read_variable(variable.state(), site);
    }
    return state_->read_variable(variable.state(), site);
  });
}

Tensor Graph::assign(const Variable& variable, const Tensor& value, Site site) {
  return mem::in_call("assign", site,
                      [&] { return state_->assign_variable(variable.state(), value, site); });
}

std::vector<Tensor> Graph::updates(Site site) const {
  return mem::in_call("updates", site, [&] { return state_->updates(site); });
}

void Graph::finalize(Site site) {
  mem::in_call("finalize", site, [&] { state_->finalize(site); });
}

bool Graph::is_final() const { return state_->is_final(); }

std::int64_t Graph::nodes() const {
  return state_->read([](const Program& p) { return static_cast<std::int64_t>(p.nodes.size()); });
}

std::int64_t Graph::bytes() const { return state_->constant_bytes(); }

std::string Graph::to_string() const {
  return state_->read([this](const Program& program) {
    std::string text = fmt::format("{}, {} nodes\n", state_->title(), program.nodes.size());
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      const Node& node = program.nodes[i];
      std::string arguments;
      for (const Argument& argument : node.arguments) {
        arguments += (arguments.empty() ? "" : ", ") + argument_text(argument);
      }
      std::string outputs;
      for (const ops::Spec& spec : node.outputs) {
        outputs += (outputs.empty() ? "" : ", ") + graph::describe(spec);
      }
      text += fmt::format("  %{} = {}({}) : {}  # {}\n", i, title_of(node), arguments, outputs,
                          tenure::to_string(node.site));
    }
    return text;
  });
}

std::string Graph::to_dot() const {
  return state_->read([this](const Program& program) {
    std::string text = fmt::format("digraph \"{}\" {{\n", dot_escaped(name()));
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      const Node& node = program.nodes[i];
      text += fmt::format("  n{} [label=\"{}\\n{}\"];\n", i, dot_escaped(title_of(node)),
                          node.outputs.empty() ? "nothing" : graph::describe(node.outputs[0]));
      for (const Argument& argument : node.arguments) {
        if (!argument.number) text += fmt::format("  n{} -> n{};\n", argument.value.node, i);
      }
    }
    return text + "}\n";
  });
}

}  // namespace tenure
