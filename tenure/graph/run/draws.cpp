#include "tenure/graph/run/draws.h"

namespace tenure::graph {

thread_local constinit Draws::Taken Draws::taken_;

void Draws::end() {
  if (!succeeded_) default_generator().give_back(taken_.begin, taken_.counters);
  taken_.counters = 0;
}

Generator::State Draws::take(std::uint64_t counters) {
  const Generator::State begin = default_generator().reserve(counters);
  if (taken_.counters == 0) taken_.begin = begin;
  taken_.counters += counters;
  return begin;
}

}  // namespace tenure::graph
