#include <algorithm>
#include <functional>

#include "tenure/check/checks.h"
#include "tenure/check/compare.h"
#include "tenure/check/expect-inl.h"
#include "tenure/check/numbers.h"
#include "tenure/memory/region.h"
#include "tenure/ops/core/backend.h"
#include "tenure/tensor/introspect.h"

namespace tenure::check {
namespace {

using ops::MemoryEffect;
using ops::OpRecord;

const void* data_of(const Tensor& tensor) {
  return Pin(tensor.body("data_of()"), "data_of()", Site::current()).storage()->data();
}

ops::View view_of(const Tensor& tensor) {
  TensorBody& body = tensor.body("view_of()");
  return {.dtype = body.dtype,
          .shape = body.shape,
          .strides = body.strides,
          .data = Pin(body, "view_of()", Site::current()).data()};
}

/// A second tensor on the storage of `tensor`.
Tensor view_on(const Tensor& tensor) {
  TensorBody& body = tensor.body("view_on()");
  mem::Storage* const storage = body.storage();
  storage->retain();
  return make_tensor(mem::this_thread(), storage, body.dtype, body.shape, body.strides, body.offset,
                     "view_on", Site::current(), HolderKind::view);
}

bool shares_storage(const Tensor& a, const Tensor& b) {
  const std::vector<Holder> all = holders(a);
  return std::any_of(all.begin(), all.end(),
                     [&](const Holder& holder) { return holder.tensor == b.id(); });
}

/// What one call did to the ledger.
struct Measured {
  std::vector<Tensor> outputs;
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;
  std::int64_t allocations = 0;
  std::int64_t peak = 0;
};

Measured measure(const Case& c, const std::vector<Operand>& operands) {
  const MemoryRegion region;
  Measured measured{.outputs = run(c, operands)};
  measured.bytes = region.left_bytes();
  measured.tensors = region.left_tensors();
  measured.allocations = region.allocations();
  measured.peak = region.peak_bytes();
  return measured;
}

/// The memory that a call of the record may take.
struct Declared {
  std::int64_t bytes = 0;
  std::int64_t allocations = 0;
  std::int64_t workspace = 0;
};

Declared declared(const Case& c, const std::vector<ops::View>& in,
                  const std::vector<Tensor>& outputs) {
  Declared result{.allocations = static_cast<std::int64_t>(outputs.size())};
  std::vector<ops::View> out;
  for (const Tensor& output : outputs) {
    result.bytes += static_cast<std::int64_t>(output.nbytes());
    out.push_back(view_of(output));
  }
  const ops::KernelSlot* const slot = ops::find_kernel(*c.op, outputs[0].device());
  if (slot != nullptr && slot->workspace != nullptr) {
    const ops::Attributes attributes = kernel_attributes(c, in);
    result.workspace = static_cast<std::int64_t>(slot->workspace(
        {.op = c.op->name, .in = in, .out = out, .attributes = attributes, .workspace = {}}));
  }
  return result;
}

/// Whether the kernel may take temporary memory where `output` was computed. Devices differ: what
/// one does in order, another sorts first.
bool takes_workspace(const Case& c, const Tensor& output) {
  const ops::KernelSlot* const slot = ops::find_kernel(*c.op, output.device());
  return slot != nullptr && slot->workspace != nullptr;
}

void expect_allocates(const Case& c, const Measured& got, const Declared& want) {
  CHECK_EQ(got.bytes, want.bytes) << "bytes that the call leaves behind";
  if (c.op->expand != nullptr) return;  // a composite has temporaries
  CHECK_EQ(got.allocations, want.allocations + (want.workspace > 0 ? 1 : 0));
  CHECK_EQ(got.peak, want.bytes + want.workspace);
}

/// With tensors that the call only reads.
void check_read(const Case& c) {
  const MemoryRegion around;
  {
    const std::vector<Tensor> inputs = make_all(c);
    std::vector<std::vector<std::byte>> before;
    std::vector<ops::View> views;
    for (const Tensor& input : inputs) {
      before.push_back(bytes_of(input));
      views.push_back(view_of(input));
    }
    const Measured got = measure(c, {inputs.begin(), inputs.end()});
    CHECK_EQ(got.outputs.size(), output_count(c));
    CHECK_EQ(got.tensors, static_cast<std::int64_t>(output_count(c)));
    if (c.op->memory.kind == MemoryEffect::Kind::allocates) {
      expect_allocates(c, got, declared(c, views, got.outputs));
      for (const Tensor& output : got.outputs) {
        CHECK_TRUE(output.is_sole_holder()) << "an output shares its storage";
        CHECK_TRUE(output.is_contiguous());
      }
    } else {  // inputs are contiguous here, so view_or_copy is a view too
      CHECK_EQ(got.bytes, 0);
      CHECK_EQ(got.allocations, 0);
      for (const Tensor& output : got.outputs) CHECK_TRUE(shares_storage(output, inputs[0]));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      CHECK_TRUE(bytes_of(inputs[i]) == before[i]) << "input " << i << " was overwritten";
    }
  }
  CHECK_EQ(around.left_bytes(), 0) << "after all tensors are gone";
  CHECK_EQ(around.left_tensors(), 0) << "after all tensors are gone";
}

/// Strided inputs of an op that gives a view where it can: a view, or a copy of just that size.
void check_view_or_copy(const Case& c, LayoutKind layout) {
  const std::vector<Tensor> inputs = make_all(c, layout);
  const Measured got = measure(c, {inputs.begin(), inputs.end()});
  if (got.allocations == 0) {
    CHECK_EQ(got.bytes, 0);
    CHECK_TRUE(shares_storage(got.outputs[0], inputs[0]));
  } else {
    expect_allocates(c, got, declared(c, {}, got.outputs));
  }
}

/// Moves the inputs that `moves` accepts; all of them must be used up.
Measured measure_moved(const Case& c, std::vector<Tensor>& inputs,
                       const std::function<bool(std::size_t)>& moves) {
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands.push_back(moves(i) ? Operand(std::move(inputs[i])) : Operand(inputs[i]));
  }
  Measured measured = measure(c, operands);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CHECK_EQ(inputs[i].defined(), !moves(i)) << "handle of input " << i;
  }
  return measured;
}

bool fits(const Input& input, const Tensor& output) {
  return input.shape == output.shape() && size_of(input.dtype) == size_of(output.dtype());
}

/// Moves input i in, alone, and says whether the op must then compute in its memory.
void check_moved(const Case& c, std::size_t i, const std::vector<Tensor>& expected) {
  CHECK_WITHIN(Message() << "moved input " << i);
  std::vector<Tensor> inputs = make_all(c);
  const void* const data = data_of(inputs[i]);
  const Measured got = measure_moved(c, inputs, [&](std::size_t k) { return k == i; });
  CHECK_TRUE(equals(got.outputs, expected));
  const std::size_t o = expected.size() == 1 ? 0 : i;  // the output that may be in input i
  const bool reuses = o < expected.size() &&
                      (c.op->memory.reuses_for(o, expected.size()) >> i & 1) != 0 &&
                      fits(c.inputs[i], expected[o]);
  if (!reuses || c.op->expand != nullptr) return;
  CHECK_EQ(data_of(got.outputs[o]), data) << "the output did not take over the storage";
  CHECK_LE(got.allocations, c.op->outputs - 1 + (takes_workspace(c, got.outputs[o]) ? 1 : 0));
  CHECK_TRUE(got.outputs[o].is_sole_holder());
}

/// The same while somebody else holds the storage: through the same tensor or through a view.
void check_moved_shared(const Case& c, std::size_t i, const std::vector<Tensor>& expected) {
  for (const bool through_view : {false, true}) {
    CHECK_WITHIN(Message() << "moved input " << i << ", which another "
                           << (through_view ? "view" : "handle") << " holds");
    std::vector<Tensor> inputs = make_all(c);
    const Tensor other = through_view ? view_on(inputs[i]) : inputs[i];
    const std::vector<std::byte> before = bytes_of(other);
    const Measured got = measure_moved(c, inputs, [&](std::size_t k) { return k == i; });
    CHECK_TRUE(bytes_of(other) == before) << "the other holder's data was overwritten";
    CHECK_TRUE(equals(got.outputs, expected));
    for (const Tensor& output : got.outputs) {
      if (c.op->memory.kind == MemoryEffect::Kind::allocates && output.nbytes() != 0) {
        CHECK_NE(data_of(output), data_of(other));
      }
    }
  }
}

/// One tensor as inputs 0 and 1, of which only the first is moved: it is still read as the second.
void check_moved_and_read(Case c) {
  if (c.inputs.size() < 2 || !c.inputs[1].is_random || c.inputs[0].dtype != c.inputs[1].dtype ||
      c.inputs[0].shape != c.inputs[1].shape) {
    return;
  }
  CHECK_WITHIN("input 0 moved, and read as input 1");
  c.inputs[0] = c.inputs[1];
  std::vector<Tensor> inputs = make_all(c);
  inputs[1] = Tensor();
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.emplace_back(inputs[i == 1 ? 0 : i]);
  const std::vector<Tensor> expected = run(c, operands);
  operands[0] = Operand(std::move(inputs[0]));
  CHECK_TRUE(equals(run(c, operands), expected));
}

void check_all_moved(const Case& c, const std::vector<Tensor>& expected) {
  CHECK_WITHIN("all inputs moved");
  const MemoryRegion around;
  {
    std::vector<Tensor> inputs = make_all(c);
    const Measured got = measure_moved(c, inputs, [](std::size_t) { return true; });
    CHECK_TRUE(equals(got.outputs, expected));
    if (expected.size() > 1 && c.op->expand == nullptr) {
      std::int64_t own = 0;  // outputs that no input can hold
      for (std::size_t o = 0; o < expected.size(); ++o) {
        const bool reuses = o < c.inputs.size() && fits(c.inputs[o], expected[o]) &&
                            c.op->memory.reuses_for(o, expected.size()) != 0;
        own += reuses ? 0 : 1;
      }
      CHECK_LE(got.allocations, own + (takes_workspace(c, got.outputs[0]) ? 1 : 0));
    }
  }
  CHECK_EQ(around.left_bytes(), 0) << "after all tensors are gone";
  CHECK_EQ(around.left_tensors(), 0) << "after all tensors are gone";
}

}  // namespace

void check_memory(const OpRecord& op) {
  for (const Case& c : repeated_cases_of(op)) {
    CHECK_WITHIN(describe(c));
    check_read(c);
    if (op.memory.kind == MemoryEffect::Kind::view_or_copy) {
      check_view_or_copy(c, LayoutKind::transposed);
      check_view_or_copy(c, LayoutKind::reversed);
    }
    const std::vector<Tensor> expected = run(c, make_all(c));
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      check_moved(c, i, expected);
      check_moved_shared(c, i, expected);
    }
    check_all_moved(c, expected);
    check_moved_and_read(c);
  }
}

}  // namespace tenure::check
