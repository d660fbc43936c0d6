// A model applied to symbols a thousand times: nothing grows, for symbols own no data and equal
// nodes are one.

#include <iostream>

#include "tenure/tenure.h"

using namespace tenure;

int main() {
  seed(1);
  const nn::Sequential model(nn::Dense(8, 16), nn::Tanh(), nn::Dense(16, 4));
  std::cout << nn::summarize(model, spec({32, 8})) << '\n';

  Graph graph;
  const Tensor x = graph.placeholder("x", DType::float32, {kUnknown, 8});
  Tensor y = model(x);
  const std::int64_t nodes = graph.nodes();
  const std::int64_t bytes = memory().bytes;
  for (int i = 0; i < 1000; ++i) y = model(x);
  std::cout << "applied once: " << nodes << " nodes; 1000 times more: " << graph.nodes()
            << " nodes, " << memory().bytes - bytes << " more bytes of data\n";

  const Tensor input = normal({3, 8});
  Session session(graph);
  const Tensor from_graph = session.run(y, {{x, input}});
  const Tensor from_eager = model(input);
  std::cout << "graph and eager agree: "
            << (all(from_graph == from_eager).item<bool>() ? "yes" : "no") << '\n';

  session.close();
  std::cout << "the model held " << format_bytes(model.dispose()) << "; now it holds nothing\n";
  try {
    model(input);
    std::cout << "not reached\n";
  } catch (const DisposedError& error) {
    std::cout << error.what() << '\n';
  }
}
