#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "tenure/check/checks.h"
#include "tenure/check/compare.h"
#include "tenure/check/expect-inl.h"
#include "tenure/check/numbers.h"
#include "tenure/ops/core/backend.h"
#include "tenure/tensor/pending.h"

namespace tenure::check {
namespace {

using ops::OpRecord;

/// Memory with room on both sides that nobody may write to.
class Fenced {
 public:
  Fenced(std::size_t bytes, std::byte fill) : bytes_(bytes) {
    const std::size_t all = 2 * kFence + bytes;
    memory_.reset(static_cast<std::byte*>(::operator new(all, kAlignment)));
    std::fill_n(memory_.get(), all, kMark);
    std::fill_n(data(), bytes, fill);
  }
  std::byte* data() const { return memory_.get() + kFence; }
  std::span<std::byte> span() const { return {data(), bytes_}; }
  bool is_whole() const {
    const auto is_mark = [](std::byte byte) { return byte == kMark; };
    return std::all_of(memory_.get(), data(), is_mark) &&
           std::all_of(data() + bytes_, data() + bytes_ + kFence, is_mark);
  }

 private:
  struct Delete {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  static constexpr std::size_t kFence = 4096;
  static constexpr std::align_val_t kAlignment{64};
  static constexpr std::byte kMark{0xa5};

  std::size_t bytes_;
  std::unique_ptr<std::byte, Delete> memory_;
};

/// The kernel's results, in memory that held `fill` before.
std::vector<Tensor> run_fenced(const Case& c, std::byte fill) {
  const std::vector<Tensor> inputs = make_all(c);
  const auto pins = std::make_unique<Pin[]>(inputs.size());
  std::vector<ops::View> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TensorBody& body = inputs[i].body("check");
    pins[i].take(body, "check", Site::current());
    in.push_back({.dtype = body.dtype,
                  .shape = body.shape,
                  .strides = body.strides,
                  .data = pins[i].data()});
  }
  const ops::KernelSlot& slot = ops::kernel_of(*c.op, inputs.empty() ? cpu : inputs[0].device());
  const ops::Attributes attributes = kernel_attributes(c, in);
  ops::Kernel kernel{.op = c.op->name, .in = in, .out = {}, .attributes = attributes};
  std::unique_ptr<Fenced> workspace;
  const auto take_workspace = [&] {
    if (slot.workspace == nullptr) return;
    workspace = std::make_unique<Fenced>(slot.workspace(kernel), fill);
    kernel.workspace = workspace->span();
  };
  ops::Specs specs = c.op->infer(kernel);
  if (c.op->data_dependent) {
    take_workspace();
    specs = slot.measure(kernel);
  }
  std::vector<std::unique_ptr<Fenced>> memory;
  std::vector<ops::View> out;
  for (const ops::Spec& spec : specs) {
    const auto bytes = static_cast<std::size_t>(bytes_of(spec));
    memory.push_back(std::make_unique<Fenced>(bytes, fill));
    out.push_back({.dtype = spec.dtype,
                   .shape = spec.shape,
                   .strides = contiguous_strides(spec.shape),
                   .data = memory.back()->data()});
  }
  kernel.out = out;
  if (!c.op->data_dependent) take_workspace();
  slot.run(kernel);
  CHECK_TRUE(workspace == nullptr || workspace->is_whole()) << "writes beside its workspace";
  std::vector<Tensor> results;
  for (std::size_t o = 0; o < out.size(); ++o) {
    CHECK_TRUE(memory[o]->is_whole()) << "writes beside output " << o;
    PendingTensor pending(mem::this_thread(), cpu, out[o].dtype, out[o].shape);
    std::memcpy(pending.data(), memory[o]->data(), memory[o]->span().size());
    results.push_back(pending.finish("check", Site::current()));
  }
  return results;
}

}  // namespace

void check_bounds(const OpRecord& op) {
  if (!ops::needs_kernel(op) || op.elementwise != nullptr) return;
  for (const Case& c : cases_of(op)) {
    CHECK_WITHIN(describe(c));
    const std::vector<Tensor> expected = run_fenced(c, std::byte{0});
    CHECK_TRUE(equals(run_fenced(c, std::byte{0x5a}), expected))
        << "the results depend on what was in their memory, or in the workspace";
  }
}

}  // namespace tenure::check
