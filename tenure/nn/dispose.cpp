#include "tenure/nn/dispose.h"

namespace tenure::nn {

std::int64_t dispose_all(const std::vector<NamedVariable>& variables, Site site) {
  std::int64_t freed = 0;
  for (const NamedVariable& own : variables) {
    if (own.variable.is_disposed()) continue;
    freed += bytes_of(own.variable);
    own.variable.dispose(site);
  }
  return freed;
}

}  // namespace tenure::nn
