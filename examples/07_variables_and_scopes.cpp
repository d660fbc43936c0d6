// Variables: named, changed in place of their value, owned by containers.

#include <iostream>

#include "tenure/tenure.h"

using namespace tenure;

namespace {

Tensor dense(const Tensor& x, std::int64_t units) {
  const Variable w = get_variable("w", [&] { return full({x.dim(1), units}, 0.5); });
  const Variable b = get_variable("b", [&] { return zeros({units}); });
  return relu(matmul(x, w.value()) + b.value());
}

}  // namespace

int main() {
  Container model("model");
  const Tensor x = ones({2, 3});

  std::cout << "-- scopes name variables\n";
  {
    const VariableScope scope("encoder", model);
    std::cout << dense(x, 2) << '\n';
  }
  for (const Variable& variable : model.variables()) {
    std::cout << variable.name() << ' ' << variable.shape() << '\n';
  }

  std::cout << "-- a name that exists is an error, unless it is to be reused\n";
  try {
    const VariableScope scope("encoder", model);
    dense(x, 2);
  } catch (const GraphError& error) {
    std::cout << error.what() << '\n';
  }
  {
    const VariableScope scope("encoder", model, VariableScope::Reuse::always);
    std::cout << "again: " << sum(dense(x, 2)) << '\n';
  }

  std::cout << "-- assignment replaces the value; who read it before keeps what he read\n";
  const Variable b = *model.find("encoder/b");
  const Tensor before = b.value();
  b.assign_add(ones({2}));
  std::cout << "before " << before << ", now " << b.value() << '\n';

  std::cout << "-- a container frees all at once\n";
  std::cout << "parameters: " << memory()[Category::parameter].bytes << " bytes, "
            << "the model's: " << model.bytes() << '\n';
  std::cout << "freed " << model.clear()
            << " bytes; left but for what was read: " << memory()[Category::parameter].bytes
            << '\n';
}
