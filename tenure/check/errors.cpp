#include <string>

#include "tenure/check/checks.h"
#include "tenure/check/compare.h"
#include "tenure/check/expect-inl.h"
#include "tenure/check/numbers.h"
#include "tenure/memory/fault.h"
#include "tenure/memory/region.h"

namespace tenure::check {
namespace {

using ops::OpRecord;

void check_disposed(const Case& c, std::size_t i) {
  const std::vector<Tensor> inputs = make_all(c);
  inputs[i].dispose();
  try {
    run(c, inputs);
    CHECK_NOT_REACHED() << "took a disposed input " << i;
  } catch (const DisposedError& error) {
    CHECK_EQ(error.facts().used_by, c.op->name);
    CHECK_EQ(error.id(), inputs[i].id());
  }
}

void check_empty(const Case& c, std::size_t i) {
  std::vector<Tensor> inputs = make_all(c);
  inputs[i] = Tensor();
  try {
    run(c, inputs);
    CHECK_NOT_REACHED() << "took an empty handle as input " << i;
  } catch (const EmptyTensorError& error) {
    CHECK_EQ(std::string(error.what()).rfind(std::string(c.op->name) + " ", 0), 0u) << error.what();
  }
}

/// Replaces the type of input 0, and of the inputs that share it.
void check_rejected_type(Case c, DType dtype) {
  const DType original = c.inputs[0].dtype;
  for (Input& input : c.inputs) {
    if (input.dtype == original) input.dtype = dtype;
  }
  CHECK_WITHIN(describe(c));
  try {
    run(c, make_all(c));
    CHECK_NOT_REACHED() << "took a type that its record does not name";
  } catch (const DTypeError& error) {
    CHECK_EQ(error.op(), c.op->name);
  }
}

/// Lets allocation 1, 2, ... of the call fail until it passes.
void check_every_fault(const Case& c, bool moved) {
  CHECK_WITHIN(moved ? "moved inputs" : "read inputs");
  const MemoryRegion around;
  for (int n = 1; n < 1000; ++n) {
    CHECK_WITHIN(Message() << "allocation " << n << " fails");
    std::vector<Tensor> inputs = make_all(c);
    std::vector<std::vector<std::byte>> before;
    std::vector<Operand> operands;
    for (Tensor& input : inputs) {
      before.push_back(bytes_of(input));
      operands.push_back(moved ? Operand(std::move(input)) : Operand(input));
    }
    const MemoryRegion region;
    try {
      const FaultInjection fault(n);
      run(c, operands);
      break;
    } catch (const OutOfMemory& error) {
      CHECK_EQ(error.cause(), OutOfMemory::Cause::injected);
    }
    CHECK_EQ(region.left_bytes(), 0);
    CHECK_EQ(region.left_tensors(), 0);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool remains = inputs[i].defined() && !inputs[i].is_disposed();
      CHECK_TRUE(remains) << "input " << i << " was used up";
      if (!remains) continue;
      CHECK_TRUE(bytes_of(inputs[i]) == before[i]) << "input " << i << " was overwritten";
    }
  }
  CHECK_EQ(around.left_bytes(), 0);
  CHECK_EQ(around.left_tensors(), 0);
}

}  // namespace

void check_errors(const OpRecord& op) {
  const std::vector<Case> cases = cases_of(op);
  if (cases.empty() || cases[0].inputs.empty()) return;
  const Case& c = cases.back();
  {
    CHECK_WITHIN(describe(c));
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      check_disposed(c, i);
      check_empty(c, i);
    }
  }
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!op.takes(dtype)) check_rejected_type(c, dtype);
  }
}

void check_faults(const OpRecord& op) {
  std::string last;
  for (const Case& c : cases_of(op)) {
    if (c.sample == last) continue;  // one type per sample: types take the same path to memory
    last = c.sample;
    CHECK_WITHIN(describe(c));
    check_every_fault(c, false);
    check_every_fault(c, true);
  }
}

}  // namespace tenure::check
