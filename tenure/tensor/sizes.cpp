#include "tenure/tensor/sizes.h"

#include <fmt/format.h>

#include <ostream>

#include "tenure/base/error.h"
#include "tenure/tensor/tensor.h"

namespace tenure {

int Sizes::first_unknown() const {
  int i = 0;
  while (is_known(i)) ++i;
  return i;
}

void Sizes::throw_unknown(int i) const {
  throw GraphError(fmt::format("dimension {} of shape {} is known only when the graph runs: as a "
                               "symbol it is dim(x, {}), and what needs the number itself goes "
                               "into with_sizes(); reshape() takes -1 for it",
                               i, to_string(*this), i),
                   {});
}

std::string to_string(const Sizes& sizes) {
  std::string text;
  for (int i = 0; i < sizes.size(); ++i) {
    text += i == 0 ? "" : ", ";
    text += sizes.is_known(i) ? std::to_string(sizes[i]) : "?";
  }
  return fmt::format("[{}]", text);
}

std::ostream& operator<<(std::ostream& out, const Sizes& sizes) { return out << to_string(sizes); }

void Tensor::throw_unknown_size(const char* user, Site site) const {
  const TensorBody& b = body(user, site);
  throw GraphError(
      fmt::format("{}: {} has shape {}, which is known only when the graph runs: as symbols, "
                  "size(x) and dim(x, axis) are its sizes, and what needs the numbers themselves "
                  "goes into with_sizes()",
                  user, b.symbol() == nullptr ? "the tensor" : b.symbol()->describe(),
                  to_string(b.shape)),
      site);
}

}  // namespace tenure
