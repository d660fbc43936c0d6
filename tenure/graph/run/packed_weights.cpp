#include "tenure/graph/run/packed_weights.h"

#include <algorithm>
#include <exception>

#include "tenure/graph/passes/kernel_views.h"

namespace tenure::graph {
namespace {

/// The input that a unit's kernel can have packed, if it is one that the program finds in each run.
const Layout* packable(const Lowered& lowered, const Unit& unit) {
  if (unit.nodes == 0 || is_loop(unit) || unit.slot->packing == nullptr) return nullptr;
  const int input = unit.slot->packing->input;
  const int before = static_cast<int>(unit.loop.inputs());  // which make input 0
  if (before > 0 && input == 0) return nullptr;
  const Layout& layout = unit.in[graph::at(before > 0 ? before + input - 1 : input)];
  const Buffer& buffer = lowered.buffers[graph::at(layout.buffer)];
  if (buffer.kind != Buffer::Kind::source || layout.advance != 0) return nullptr;
  return lowered.sources[graph::at(buffer.index)].is_assigned ? nullptr : &layout;
}

/// Recordings know what lies in memory by the tensors that were there.
void introduce(mem::Storage& storage, Site site) {
  mem::ThreadContext& context = mem::this_thread();
  if (!mem::needs_attention(context)) return;
  storage.retain();
  static_cast<void>(make_tensor(context, &storage, DType::uint8,
                                {static_cast<std::int64_t>(storage.bytes())}, {1}, 0, "pack", site,
                                HolderKind::cache));
}

bool is_same(const Layout& a, const Layout& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.dtype == b.dtype && a.shape == b.shape &&
         a.strides == b.strides;
}

}  // namespace

PackedWeights::PackedWeights(const Lowered& lowered, std::int64_t bytes) {
  for (const Unit& unit : lowered.units) of_unit_.push_back(add(lowered, unit, bytes));
  if (weights_.empty()) of_unit_ = {};
}

std::size_t PackedWeights::own_bytes() const {
  return weights_.capacity() * sizeof(weights_[0]) + weights_.size() * sizeof(Weight) +
         of_unit_.capacity() * sizeof(int);
}

int PackedWeights::add(const Lowered& lowered, const Unit& unit, std::int64_t most) {
  const Layout* const layout = packable(lowered, unit);
  if (layout == nullptr) return -1;
  const auto bytes =
      static_cast<std::int64_t>(unit.slot->packing->bytes(KernelViews(unit).kernel()));
  if (bytes == 0) return -1;
  const auto known = std::find_if(weights_.begin(), weights_.end(), [&](const auto& weight) {
    return weight->slot == unit.slot && is_same(weight->layout, *layout);
  });
  if (known != weights_.end()) return static_cast<int>(known - weights_.begin());
  if (bytes > most - bytes_) return -1;
  auto weight = std::make_unique<Weight>();
  weight->slot = unit.slot;
  weight->layout = *layout;
  weight->source = lowered.buffers[at(layout->buffer)].index;
  weight->bytes = bytes;
  weight->site = unit.node->site;
  weights_.push_back(std::move(weight));
  bytes_ += bytes;
  return static_cast<int>(weights_.size()) - 1;
}

PackedWeights::Use::~Use() {
  for (const Found& found : found_) {
    if (found.storage != nullptr) found.storage->release();
  }
}

PackedWeights::Use::Found PackedWeights::Use::find(Weight& weight, const Source& source) noexcept {
  if (source.storage->is_foreign() || source.storage->last_write() != 0) {
    weight.spare.give_up();
    return {};
  }
  if (mem::Storage* const storage = weight.spare.find(source.version)) return {.storage = storage};
  if (weight.seen.exchange(source.version, std::memory_order_relaxed) != source.version) return {};
  // It was packed, and had to go: to pack it again and again would cost more than it saves.
  if (weight.packed.load(std::memory_order_relaxed) == source.version &&
      weight.wait.fetch_sub(1, std::memory_order_relaxed) > 0) {
    return {};
  }
  return {.to_pack = source};
}

void PackedWeights::Use::finish(ops::Backend& device) noexcept {
  for (std::size_t i = 0; i < found_.size(); ++i) {
    if (found_[i].to_pack.storage != nullptr) pack(*weights_[i], found_[i].to_pack, device);
  }
}

void PackedWeights::Use::pack(Weight& weight, const Source& source, ops::Backend& device) noexcept {
  constexpr int kLongestWait = 1024;
  if (weight.is_busy.exchange(true, std::memory_order_acquire)) return;
  mem::Storage* const storage = mem::Spare::allocate(mem::this_thread(), source.storage->device(),
                                                     static_cast<std::size_t>(weight.bytes));
  if (storage != nullptr) {
    ops::View view = view_of(weight.layout);
    view.data = const_cast<std::byte*>(source.data) +
                weight.layout.offset * static_cast<std::int64_t>(size_of(view.dtype));
    try {
      introduce(*storage, weight.site);
      device.pack(*weight.slot, view, static_cast<std::byte*>(storage->data()));
      weight.spare.keep(storage, source.version);
    } catch (const std::exception&) {  // a device that cannot: kernels pack it
      storage->release();
    }
    if (weight.packed.exchange(source.version, std::memory_order_relaxed) == source.version) {
      const int wait = weight.next_wait.load(std::memory_order_relaxed);
      weight.wait.store(wait, std::memory_order_relaxed);
      weight.next_wait.store(std::min(2 * wait, kLongestWait), std::memory_order_relaxed);
    }
  }
  weight.is_busy.store(false, std::memory_order_release);
}

}  // namespace tenure::graph
