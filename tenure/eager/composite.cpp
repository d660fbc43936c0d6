#include "tenure/eager/composite.h"

#include <optional>

#include "tenure/eager/inputs.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/types.h"

namespace tenure::eager {

std::vector<Tensor> run_composite(const ops::OpRecord& op, std::span<const Operand> operands,
                                  const ops::Attributes& attributes, Site site) {
  const ops::ActingFor acting(op.name);
  const auto recorder = ops::recorder_of(op, operands);
  const bool is_recorded = recorder != nullptr;
  std::optional<DeviceScope> device;  // for what the composite makes from nothing
  if (is_recorded) {
    if (ops::has_unknown_size(operands)) return recorder->record(op, operands, attributes, site);
    const Operand& first = operands[0];
    ops::require_type(
        op, first.is_scalar() ? first.scalar().dtype() : first.tensor().body(op.name, site).dtype);
  } else {
    const Inputs inputs(op, operands);
    ops::require_type(op, inputs.body(0).dtype);
    device.emplace(inputs.device());
  }
  std::vector<Tensor> results = op.expand(operands, attributes);
  for (const Operand& operand : operands) operand.consume();
  if (!is_recorded && op.memory.kind == ops::MemoryEffect::Kind::allocates) {
    // What the last step saw as a view of the step before is the user's own data.
    for (const Tensor& result : results) result.body(op.name).set_kind(HolderKind::user);
  }
  return results;
}

}  // namespace tenure::eager
