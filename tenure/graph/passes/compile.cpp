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
  std::set<std::uint64_t> known;  // constants of others
  for (const Node& node : request.program.nodes) {
    if (node.kind != Node::Kind::constant) continue;
    // What was made while it was traced is its own; see take_over_constants().
    const bool is_own = !node.fixed && node.data.body("run").kind() == HolderKind::cache;
    if (!is_own) known.insert(node.data.id());
  }
  CompiledParts parts;
  std::unique_ptr<Lowered> lowered = lower(prepare(simplify(std::move(request))));
  for (const auto& bodies : compiled_bodies(lowered->request.program)) {
    parts.bodies.insert(parts.bodies.end(), bodies->programs.begin(), bodies->programs.end());
  }
  for (const Node& node : lowered->request.program.nodes) {
    if (node.kind != Node::Kind::constant || !known.insert(node.data.id()).second) continue;
    parts.constants += static_cast<std::int64_t>(node.data.nbytes());
  }
  return std::make_shared<const Executable>(std::move(lowered), std::move(parts));
}

}  // namespace tenure::graph
