#include <algorithm>
#include <memory>
#include <vector>

#include "tenure/check/checks.h"
#include "tenure/check/compare.h"
#include "tenure/check/expect-inl.h"
#include "tenure/check/numbers.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/backend.h"
#include "tenure/tensor/host.h"

namespace tenure::check {
namespace {

using ops::OpRecord;

/// Memory of a device with room on both sides that nobody may write to.
class Fenced {
 public:
  Fenced(Device device, std::size_t bytes, std::byte fill)
      : device_(device),
        bytes_(bytes),
        storage_(mem::Storage::allocate(mem::this_thread(), device, 2 * kFence + bytes)) {
    std::vector<std::byte> all(2 * kFence + bytes, kMark);
    std::fill_n(all.begin() + kFence, bytes, fill);
    ops::backend(device).write(storage_->data(), all.data(), all.size());
  }
  ~Fenced() { storage_->release(); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  std::span<std::byte> span() const {
    return {static_cast<std::byte*>(storage_->data()) + kFence, bytes_};
  }
  std::vector<std::byte> read() const { return read(kFence, bytes_); }
  bool is_whole() const {
    const auto is_fence = [&](std::size_t from) {
      const std::vector<std::byte> bytes = read(from, kFence);
      return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == kMark; });
    };
    return is_fence(0) && is_fence(kFence + bytes_);
  }

 private:
  static constexpr std::size_t kFence = 4096;
  static constexpr std::byte kMark{0xa5};

  std::vector<std::byte> read(std::size_t from, std::size_t bytes) const {
    std::vector<std::byte> copy(bytes);
    ops::backend(device_).read(copy.data(), static_cast<std::byte*>(storage_->data()) + from,
                               bytes);
    return copy;
  }

  const Device device_;
  const std::size_t bytes_;
  mem::Storage* const storage_;
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
  const Device device = inputs.empty() ? default_device() : inputs[0].device();
  const ops::KernelSlot& slot = ops::kernel_of(*c.op, device);
  const ops::Attributes attributes = kernel_attributes(c, in);
  ops::Kernel kernel{.op = c.op->name, .in = in, .out = {}, .attributes = attributes};
  std::unique_ptr<Fenced> workspace;
  const auto take_workspace = [&] {
    if (slot.workspace == nullptr) return;
    workspace = std::make_unique<Fenced>(device, slot.workspace(kernel), fill);
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
    memory.push_back(std::make_unique<Fenced>(device, bytes, fill));
    out.push_back({.dtype = spec.dtype,
                   .shape = spec.shape,
                   .strides = contiguous_strides(spec.shape),
                   .data = memory.back()->span().data()});
  }
  kernel.out = out;
  if (!c.op->data_dependent) take_workspace();
  slot.run(kernel);
  CHECK_TRUE(workspace == nullptr || workspace->is_whole()) << "writes beside its workspace";
  std::vector<Tensor> results;
  for (std::size_t o = 0; o < out.size(); ++o) {
    CHECK_TRUE(memory[o]->is_whole()) << "writes beside output " << o;
    results.push_back(tensor_from_host(cpu, memory[o]->read().data(), out[o].dtype, out[o].shape,
                                       "check", Site::current()));
  }
  return results;
}

}  // namespace

void check_bounds(const OpRecord& op) {
  if (!ops::needs_kernel(op) || op.elementwise != nullptr) return;
  for (const Case& c : repeated_cases_of(op)) {
    CHECK_WITHIN(describe(c));
    const std::vector<Tensor> expected = run_fenced(c, std::byte{0});
    CHECK_TRUE(equals(run_fenced(c, std::byte{0x5a}), expected))
        << "the results depend on what was in their memory, or in the workspace";
  }
}

}  // namespace tenure::check
