#include "tenure/graph/passes/compile.h"

#include <set>
#include <utility>

#include "tenure/graph/passes/lower.h"
#include "tenure/graph/passes/prepare.h"
#include "tenure/graph/passes/simplify.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/recorder.h"

namespace tenure::graph {

std::shared_ptr<const Executable> compile(const Program& program, std::span<const Value> fetches,
                                          std::size_t returned, std::span<const Given> given,
                                          std::vector<bool> donated, Site site,
                                          const CompileOptions& options) {
  const DeviceScope device(program.device);
  const ops::TraceScope none(nullptr);  // constants are folded now, whatever is being traced
  Request request = specialize(program, fetches, given, site, options);
  request.returned = returned;
  request.donated = std::move(donated);
  // What was made while it was traced is its own; see take_over_constants().
  const auto is_own = [](const Node& node) {
    return !node.fixed && node.data.body("run").kind() == HolderKind::cache;
  };
  std::set<std::uint64_t> known;  // constants of others, and those that are counted
  for (const Node& node : request.program.nodes) {
    if (node.kind == Node::Kind::constant && !is_own(node)) known.insert(node.data.id());
  }
  CompiledParts parts;
  const auto count = [&](const Node& node) {
    if (!known.insert(node.data.id()).second) return;
    parts.constants += static_cast<std::int64_t>(node.data.nbytes());
  };
  // The trace holds its own also where what is compiled of it does not read them.
  for (const Node& node : program.nodes) {
    if (node.kind == Node::Kind::constant && is_own(node)) count(node);
  }
  std::unique_ptr<Lowered> lowered = lower(prepare(simplify(std::move(request))));
  for (const auto& bodies : compiled_bodies(lowered->request.program)) {
    parts.bodies.insert(parts.bodies.end(), bodies->programs.begin(), bodies->programs.end());
  }
  for (const Node& node : lowered->request.program.nodes) {
    if (node.kind == Node::Kind::constant) count(node);
  }
  return std::make_shared<const Executable>(std::move(lowered), std::move(parts));
}

}  // namespace tenure::graph
