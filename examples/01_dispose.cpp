// What dispose() takes away, and what it leaves.

#include <iostream>

#include "tenure/tenure.h"

using namespace tenure;

namespace {

void heading(const char* text) { std::cout << "\n-- " << text << '\n'; }

const char* yes_or_no(bool condition) { return condition ? "yes" : "no"; }

void print_live() {
  const MemoryStats now = memory();
  std::cout << "live tensors: " << now.tensors << ", bytes: " << now.bytes << '\n';
}

void metadata_remains() {
  heading("the data goes, the metadata remains");
  Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  x.set_name("x");
  const Tensor same = x;  // a second handle to the same tensor
  std::cout << x << '\n';
  print_live();

  x.dispose();
  std::cout << x << '\n';
  print_live();
  std::cout << "name " << x.name() << ", shape " << x.shape() << ", " << name_of(x.dtype())
            << ", made by " << x.op() << " at " << to_string(x.created()) << '\n'
            << "the other handle is disposed too: " << yes_or_no(same.is_disposed()) << '\n';
}

void error_names_three_places() {
  heading("using the data afterwards is an error with three places");
  Tensor x = ones({2, 3});
  x.set_name("x");
  x.dispose();
  try {
    relu(x);
  } catch (const DisposedError& error) {
    std::cout << error.what() << '\n';
  }
}

void twice_is_harmless() {
  heading("a second dispose() does nothing");
  const Tensor x = ones({4});
  x.dispose();
  x.dispose();
  std::cout << x << '\n';  // disposed where it was first
}

void results_and_inputs_are_independent() {
  heading("a result and its input do not own each other");
  const Tensor x = tensor({-1.0, 2.0});
  const Tensor y = relu(x);
  const Tensor z = x + 10;
  y.dispose();
  std::cout << "input after its result was disposed:  " << x << '\n';
  x.dispose();
  std::cout << "result after its input was disposed:  " << z << '\n';
}

void views_and_clones() {
  heading("a view holds the same data, a clone has its own");
  const Tensor x = arange(6);  // int64
  const Tensor row = reshape(x, {2, 3});
  const Tensor copy = clone(x);
  print_live();

  x.dispose();
  std::cout << "after x    ";
  print_live();
  std::cout << row << '\n';

  row.dispose();
  std::cout << "after row  ";
  print_live();
  std::cout << copy << '\n';
}

void who_holds_it() {
  heading("holders() tells who keeps data alive");
  Tensor x = arange(6);
  x.set_name("x");
  const Tensor row = reshape(x, {2, 3});
  Tensor column = transpose(row);
  column.set_name("column");
  for (const Holder& holder : holders(x)) std::cout << to_string(holder) << '\n';

  x.dispose();
  row.dispose();
  std::cout << "after x and row were disposed:\n";
  for (const Holder& holder : holders(x)) std::cout << to_string(holder) << '\n';

  column.dispose();
  std::cout << "after the last one: " << holders(x).size() << " holders\n";
}

}  // namespace

int main() {
  metadata_remains();
  error_names_three_places();
  twice_is_harmless();
  results_and_inputs_are_independent();
  views_and_clones();
  who_holds_it();

  heading("handles that go out of scope free their data too");
  print_live();
}
