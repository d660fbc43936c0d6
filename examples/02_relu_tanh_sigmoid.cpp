// Which calls allocate: an input that is moved in, and that nobody else holds, is computed in
// place.

#include <cstdint>
#include <iomanip>
#include <iostream>
#include <utility>

#include "tenure/tenure.h"

using namespace tenure;

namespace {

constexpr std::int64_t kElements = 1 << 18;  // of float32: 1 MiB

void heading(const char* text) { std::cout << "\n-- " << text << '\n'; }

Tensor input() { return full({kElements}, 0.5); }

/// Runs `f` and prints how many buffers it allocated and how far live memory rose.
template <class F>
void measure(const char* what, const F& f) {
  const std::int64_t before = memory().allocations;
  const MemoryRegion region;
  f();
  const std::int64_t allocations = memory().allocations - before;
  std::cout << std::left << std::setw(34) << what << allocations << " allocated, peak "
            << format_bytes(region.peak_bytes()) << '\n';
}

void in_place_or_not() {
  heading("one call");
  Tensor x = input();
  measure("relu(x)", [&] { relu(x); });
  measure("relu(std::move(x))", [&] { relu(std::move(x)); });

  x = input();
  const Tensor same = x;
  measure("moved, second handle", [&] { relu(std::move(x)); });

  x = input();
  const Tensor half = slice(x, 0, 0, kElements / 2);
  measure("moved, held by a view", [&] { relu(std::move(x)); });

  x = input();
  measure("moved, other size", [&] { less(std::move(x), 0.0); });  // bool needs less room
}

void chains() {
  heading("a chain: temporaries are moved by themselves");
  Tensor x = input();
  measure("sigmoid(tanh(relu(x)))", [&] { sigmoid(tanh(relu(x))); });
  measure("sigmoid(tanh(relu(std::move(x))))", [&] { x = sigmoid(tanh(relu(std::move(x)))); });
  measure("x += 1", [&] { x += 1; });
  measure("(x - 1) / (x + 1) * 3", [&] { (x - 1) / (x + 1) * 3; });
}

void named_steps() {
  heading("named steps live until they are disposed, moved, or out of sight");
  const Tensor x = input();
  measure("kept to the end", [&] {
    const Tensor a = relu(x);
    const Tensor b = tanh(a);
    const Tensor c = sigmoid(b);
  });
  measure("disposed early", [&] {
    const Tensor a = relu(x);
    const Tensor b = tanh(a);
    a.dispose();
    const Tensor c = sigmoid(b);
  });
  measure("moved", [&] {
    Tensor a = relu(x);
    Tensor b = tanh(std::move(a));
    const Tensor c = sigmoid(std::move(b));
  });
}

void early_and_late() {
  heading("disposed too early, and noticed late");
  Tensor x = tensor({-1.0, 0.0, 1.0});
  x.set_name("x");
  Tensor y = tanh(x);
  y.set_name("y");
  y.dispose();
  try {
    std::cout << sigmoid(x) + y << '\n';
  } catch (const DisposedError& error) {
    std::cout << error.what() << '\n';
  }

  heading("disposed while a view still needs the data: it goes later");
  const Tensor tail = slice(x, 0, 1);
  x.dispose();
  std::cout << sigmoid(tail) << '\n';
  const std::int64_t frees = memory().frees;
  tail.dispose();
  std::cout << "freed by the view: " << memory().frees - frees << '\n';

  heading("a moved tensor leaves an empty handle");
  Tensor z = ones({2});
  const Tensor r = relu(std::move(z));
  try {
    tanh(z);  // NOLINT(bugprone-use-after-move)
  } catch (const EmptyTensorError& error) {
    std::cout << error.what() << '\n';
  }
}

}  // namespace

int main() {
  in_place_or_not();
  chains();
  named_steps();
  early_and_late();
}
