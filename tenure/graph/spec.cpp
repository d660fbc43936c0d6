#include "tenure/graph/spec.h"

#include "tenure/base/error.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/tensor/symbol.h"

namespace tenure::graph {
namespace {

/// A symbol that nobody can compute with.
class SpecSymbol final : public Symbol {
 public:
  std::string describe() const override { return "a spec"; }
  const char* lack() const override { return "has no data: it is a shape and a type to plan with"; }
  std::shared_ptr<ops::Recorder> recorder(const char* user, Site site) const override {
    throw SymbolError(user, describe(), "can only be planned with", site, site);
  }
};

}  // namespace

Tensor spec_tensor(DType dtype, const Shape& shape, Site site) try {
  check_shape(shape, size_of(dtype), "spec");
  return make_symbolic(std::make_unique<SpecSymbol>(), dtype, shape, "spec", site,
                       default_device());
} catch (Error& error) {
  mem::name_call(error, "spec", site);
  throw;
}

}  // namespace tenure::graph
