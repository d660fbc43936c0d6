// Building a graph in a loop: the pattern that leaks elsewhere is flat here, and what does grow is
// caught and named.

#include <iostream>
#include <string>

#include "tenure/tenure.h"

using namespace tenure;

int main() {
  Graph graph("model");
  const Tensor x = graph.placeholder("x", float32, {4});
  Session session(graph);

  std::cout << "-- the same expression, built anew in every iteration\n";
  LeakGuard guard("predict");
  for (int i = 0; i < 1000; ++i) {
    const Tensor y = relu(x * 2.0 + tensor({1.f, 2.f, 3.f, 4.f}));
    const Tensor result = session.run(y, {{x, full({4}, 0.5 * i)}});
    guard.mark();
  }
  std::cout << graph.nodes() << " nodes after 1000 iterations, " << session.programs()
            << " compiled program\n";

  std::cout << "-- another constant in every iteration does grow, and is named\n";
  LeakGuard strict("predict");
  try {
    for (int i = 0; i < 1000; ++i) {
      const Tensor y = relu(x + full({4}, 0.5 * i));  // a new constant: a new node, new memory
      strict.mark();
    }
  } catch (const LeakError& error) {
    const std::string text = error.what();
    std::cout << text.substr(0, text.find('\n')) << '\n';
  }

  std::cout << "-- finalize() makes the line that adds a node an error\n";
  graph.finalize();
  try {
    static_cast<void>(tanh(x));
  } catch (const GraphError& error) {
    std::cout << error.what() << '\n';
  }
  std::cout << "what is there already still runs: "
            << session.run(relu(x * 2.0 + tensor({1.f, 2.f, 3.f, 4.f})), {{x, ones({4})}}) << '\n';

  std::cout << "-- close() frees what the session holds\n";
  session.close();
  try {
    session.run(x, {{x, ones({4})}});
  } catch (const ClosedError& error) {
    std::cout << error.what() << '\n';
  }
}
