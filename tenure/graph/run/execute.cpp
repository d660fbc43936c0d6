#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/base/small_array.h"
#include "tenure/graph/ir/variable_state.h"
#include "tenure/graph/run/executable.h"
#include "tenure/graph/run/observed_run.h"
#include "tenure/memory/accounts/name_path.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/core/named.h"
#include "tenure/tensor/device_error.h"
#include "tenure/tensor/pending.h"

namespace tenure::graph {
namespace {

[[noreturn]] void throw_elsewhere(const Tensor& tensor, Device device) {
  DeviceError error("run", tensor.device(), device);
  error.add_line(fmt::format("the program runs on {}; it was given {}", name_of(device),
                             ops::describe(tensor)));
  throw error;
}

/// Tells a recording what runs, if it asks.
class Description final : public mem::PlannedRun::Source {
 public:
  explicit Description(const Executable& executable) : executable_(executable) {}
  mem::PlannedProgram program() const override { return executable_.program(); }

 private:
  const Executable& executable_;
};

/// The memory of a run's temporaries.
class Arena {
 public:
  Arena(mem::ThreadContext& context, Device device, std::size_t bytes) {
    if (bytes == 0) return;
    const CategoryScope category(Category::workspace);
    storage_ = mem::Storage::allocate(context, device, bytes);
  }
  ~Arena() {
    if (storage_ != nullptr) storage_->release();
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::byte* data() const {
    return storage_ == nullptr ? nullptr : static_cast<std::byte*>(storage_->data());
  }

 private:
  mem::Storage* storage_ = nullptr;
};

/// Room for a view of a tensor that is not there yet: to make it then cannot fail.
class ViewSlot {
 public:
  ViewSlot() = default;
  ~ViewSlot() {
    if (slot_ != nullptr) mem::free_tenant(*context_, slot_);
  }
  ViewSlot(const ViewSlot&) = delete;
  ViewSlot& operator=(const ViewSlot&) = delete;

  void allocate(mem::ThreadContext& context) {
    slot_ = mem::allocate_tenant(context);
    context_ = &context;
  }
  Tensor finish(const Tensor& of, Site site) noexcept {
    TensorBody& body = *of.body_or_null();
    mem::Storage* const storage = body.storage();
    storage->retain();
    return Tensor::adopt(new (std::exchange(slot_, nullptr)) TensorBody({.context = *context_,
                                                                         .storage = storage,
                                                                         .op = "run",
                                                                         .site = site,
                                                                         .kind = HolderKind::view},
                                                                        body.dtype, body.shape));
  }

 private:
  void* slot_ = nullptr;
  mem::ThreadContext* context_ = nullptr;
};

/// As a tensor of the layer that made it, if one is named and there is memory for that.
Tensor finish_in(const std::string* scope, PendingTensor& output, Site site) noexcept {
  if (scope == nullptr || scope->empty()) return output.finish("run", site);
  try {
    const mem::PathScope layer(*scope);
    return output.finish("run", site);
  } catch (const std::exception&) {
    return output.finish("run", site);  // it is the caller's, then
  }
}

/// With the memory of `reused` if that can be taken over, else with its own.
void prepare(PendingTensor& output, mem::ThreadContext& context, Device device,
             const ops::Spec& spec, const Pin* reused) {
  const auto bytes = static_cast<std::size_t>(bytes_of(spec));
  if (reused != nullptr && can_take_over(*reused->body(), *reused->storage(), bytes)) {
    output.borrow(context, spec.dtype, spec.shape, *reused->body());
  } else {
    output.allocate(context, device, spec.dtype, spec.shape);
  }
}

}  // namespace

void Executable::run_at(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs,
                        std::byte* arena) const {
  const Lowered& low = *lowered_;
  SmallArray<std::byte*, 16> bases(static_cast<std::size_t>(Bases(low).end));
  SmallArray<Pin, 4> pins(low.sources.size());
  std::byte** base = bases.data();
  *base++ = arena;
  base = std::copy(inputs.begin(), inputs.end(), base);
  for (std::size_t i = 0; i < low.sources.size(); ++i) {
    const Tensor& constant = low.sources[i].constant;
    pins[i].take(constant.body("run"), "run", constant.created());
    *base++ = static_cast<std::byte*>(pins[i].data());
  }
  for (const auto& number : low.numbers) *base++ = const_cast<std::byte*>(number.data());
  for (std::size_t i = 0; i < low.fetches.size(); ++i) base[low.fetches[i]] = outputs[i];
  run_steps({bases.data(), bases.size()}, {});
}

std::vector<Tensor> Executable::run(std::span<const Tensor> inputs, std::string_view name,
                                    Site site) const {
  const Lowered& low = *lowered_;
  // What a variable holds may be replaced meanwhile: the run keeps what it began with. Those that
  // it assigns to are its own; it has no other lock when it waits for one that comes first.
  SmallArray<Tensor, 8> held(low.sources.size());
  SmallArray<std::uint64_t, 8> versions(low.sources.size());
  for (std::size_t i = 0; i < low.sources.size(); ++i) {
    const Source& source = low.sources[i];
    versions[i] = 1;  // constants stay as they are
    if (source.variable == nullptr || source.is_assigned) continue;
    VariableState::Held now = source.variable->held();
    held[i] = std::move(now.value);
    versions[i] = now.version;
  }
  SmallArray<Tensor, 4> ended(low.assignments.size());
  SmallArray<std::unique_lock<ObjectMutex>, 4> locks(assigned_.size());
  for (std::size_t i = 0; i < assigned_.size(); ++i) {
    locks[i] = assigned_[i]->lock();
    assigned_[i]->require_data("run", site);
  }

  SmallArray<std::byte*, 16> bases(static_cast<std::size_t>(Bases(low).end));
  SmallArray<Pin, 8> pins(low.inputs.size() + low.sources.size());
  std::size_t base = 1;  // the arena comes first
  const auto pin = [&](const Tensor& tensor) {
    Pin& taken = pins[base - 1];
    taken.take(tensor.body("run", site), "run", site);
    if (taken.body()->device() != low.request.device) [[unlikely]]
      throw_elsewhere(tensor, low.request.device);
    bases[base++] = static_cast<std::byte*>(taken.data());
  };
  for (const Tensor& input : inputs) pin(input);
  for (std::size_t i = 0; i < low.sources.size(); ++i) {
    const Source& source = low.sources[i];
    pin(source.variable == nullptr ? source.constant
        : source.is_assigned       ? source.variable->locked_value()
                                   : held[i]);
  }
  for (const auto& number : low.numbers) bases[base++] = const_cast<std::byte*>(number.data());
  PackedWeights::Use packed(*packed_);
  std::vector<Tensor> results = run_pinned({.bases = {bases.data(), bases.size()},
                                            .pins = {pins.data(), pins.size()},
                                            .packed = packed,
                                            .versions = {versions.data(), versions.size()},
                                            .ended = {ended.data(), ended.size()}},
                                           name, site);
  packed.finish(*device_);
  return results;
}

std::vector<Tensor> Executable::run_pinned(const Pinned& pinned, std::string_view name,
                                           Site site) const {
  const Lowered& low = *lowered_;
  mem::ThreadContext& context = mem::this_thread();
  const Device device = low.request.device;
  const std::span<std::byte*> bases = pinned.bases;
  const Description described(*this);
  ObservedRun observed(context, {.id = number_,
                                 .device = device,
                                 .name = name,
                                 .site = site,
                                 .peak = plan_.peak,
                                 .arena = plan_.arena,
                                 .source = &described});
  SmallArray<PendingTensor, 4> outputs(low.outputs.size());
  const auto first_output = static_cast<std::size_t>(Bases(low).output);
  for (std::size_t o = 0; o < low.outputs.size(); ++o) {
    const ops::Spec& spec = low.outputs[o];
    const int reused = targets_[o].reused;
    prepare(outputs[o], context, device, spec,
            reused < 0 ? nullptr : &pinned.pins[static_cast<std::size_t>(reused)]);
    bases[first_output + o] = static_cast<std::byte*>(outputs[o].data());
  }
  std::vector<Tensor> results(low.fetches.size());
  SmallArray<ViewSlot, 4> views(assigned_.empty() ? 0 : results.size());
  for (ViewSlot& view : views) view.allocate(context);
  // What a tape saves of a function is a result too, and recordings itemise that by layer.
  std::vector<const std::string*> scopes;
  if (observed.is_told()) scopes = scopes_of_outputs(low);
  Arena arena(context, device, static_cast<std::size_t>(plan_.arena));
  bases[0] = arena.data();
  pinned.packed.begin([&](std::size_t source) {
    const std::size_t i = low.inputs.size() + source;  // the arena is the first base
    return PackedWeights::Use::Source{.storage = pinned.pins[i].storage(),
                                      .data = bases[i + 1],
                                      .version = pinned.versions[source]};
  });
  run_steps(bases, {.packed = &pinned.packed,
                    .observed = &observed,
                    .indices_hold = indices_.hold(pinned.pins, *device_)});

  // From here on nothing can fail.
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto o = static_cast<std::size_t>(low.fetches[i]);
    if (targets_[o].variable == nullptr) {
      results[i] = finish_in(scopes.empty() ? nullptr : scopes[o], outputs[o], site);
    }
  }
  for (const Assignment& assignment : low.assignments) {
    const auto o = static_cast<std::size_t>(assignment.output);
    // What it held is pinned still.
    pinned.ended[static_cast<std::size_t>(&assignment - low.assignments.data())] =
        assignment.variable->replace_locked(outputs[o].finish("run", site));
    // The variable has the tensor itself, the caller a view of it, to dispose when it likes.
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (low.fetches[i] != assignment.output) continue;
      results[i] = views[i].finish(assignment.variable->locked_value(), site);
    }
  }
  return results;
}

}  // namespace tenure::graph
