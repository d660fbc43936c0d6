#include "tenure/graph/compile.h"

#include "tenure/graph/passes/simplify.h"
#include "tenure/ops/recorder.h"

namespace tenure::graph {

std::shared_ptr<const Executable> compile(const Program& program, std::span<const Value> fetches,
                                          std::span<const Given> given, Site site) {
  const ops::TraceScope none(nullptr);  // constants are folded now, whatever is being traced
  return std::make_shared<const Executable>(
      lower(simplify(specialize(program, fetches, given, site))));
}

}  // namespace tenure::graph
