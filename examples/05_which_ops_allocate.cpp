// The same program eagerly and as a graph: which op allocates, when, and what is deferred.

#include <iomanip>
#include <iostream>
#include <map>
#include <string>

#include "tenure/tenure.h"

using namespace tenure;

namespace {

Tensor layer(const Tensor& x, const Tensor& w, const Tensor& b) {
  const Tensor product = matmul(x, w);
  const Tensor sum = product + b;
  const Tensor flat = reshape(sum, {-1});  // a view
  return tanh(flat) * 0.5;
}

/// Prints each op that made a tensor, with the bytes that were allocated for it.
void print_events(const Recording& recording) {
  std::map<std::uint64_t, std::int64_t> fresh;  // bytes of storages that no tensor has yet
  for (const MemoryEvent& event : recording.events()) {
    if (event.kind == MemoryEvent::Kind::allocate) fresh[event.storage] = event.bytes;
    if (event.kind != MemoryEvent::Kind::create) continue;
    const std::int64_t bytes = fresh[event.storage];
    fresh[event.storage] = 0;
    std::cout << "  " << std::left << std::setw(8) << event.op;
    if (bytes != 0) {
      std::cout << "allocates " << bytes << " bytes\n";
    } else {
      std::cout << "shares the memory of an input\n";
    }
  }
}

}  // namespace

int main() {
  const Tensor x = ones({64, 32});
  const Tensor w = full({32, 16}, 0.1);
  const Tensor b = ones({16});

  std::cout << "eager: every op allocates when it is called\n";
  Tensor expected;
  {
    const MemoryRegion region;
    const Recording recording;
    expected = layer(x, w, b);
    print_events(recording);
    std::cout << "  peak " << region.peak_bytes() << " bytes\n";
  }

  std::cout << "eager with moves: the sum and tanh are computed in place\n";
  {
    const MemoryRegion region;
    const Recording recording;
    const Tensor y = tanh(reshape(matmul(x, w) + b, {-1})) * 0.5;
    print_events(recording);
    std::cout << "  peak " << region.peak_bytes() << " bytes\n";
  }

  std::cout << "graph: building it allocates nothing\n";
  Graph graph("layer");
  const MemoryRegion building;
  const Tensor symbol = graph.placeholder("x", float32, {64, 32});
  const Variable weight(w, "w");
  const Variable bias(b, "b");
  const std::int64_t parameters = building.left_bytes();
  const Tensor y = layer(symbol, graph.read(weight), graph.read(bias));
  std::cout << "  the two variables hold " << parameters << " bytes, the " << graph.nodes()
            << " nodes " << building.left_bytes() - parameters << '\n';

  Session session(graph);
  const Plan plan = session.plan({y}, {{symbol, x}});
  std::cout << "its plan, before it runs\n" << plan;
  const MemoryRegion region;
  const Tensor result = session.run(y, {{symbol, x}});
  std::cout << "its run: peak " << region.peak_bytes() << " bytes, as planned: " << std::boolalpha
            << (region.peak_bytes() == plan.peak)
            << "; same result: " << (result.to_vector<float>() == expected.to_vector<float>())
            << '\n';
}
