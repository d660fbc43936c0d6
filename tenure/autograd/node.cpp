#include "tenure/autograd/node.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "tenure/base/per_thread.h"

namespace tenure::autograd {
namespace {

/// Blocks that a thread keeps. To put one back takes no memory: tapes end where there is none.
struct SpareBlocks {
  static constexpr std::size_t kMost = 4;
  std::array<std::unique_ptr<std::byte[]>, kMost> blocks{};
  std::size_t count = 0;
};

SpareBlocks& spare_blocks() { return PerThread<SpareBlocks>::get(); }

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

/// Makes n objects at `place`, and moves it behind them.
template <class T>
T* put(std::byte*& place, std::size_t n) {
  static_assert(alignof(T) <= 8);
  T* const first = reinterpret_cast<T*>(place);
  std::uninitialized_value_construct_n(first, n);
  place += rounded(n * sizeof(T));
  return first;
}

}  // namespace

std::byte* NodeArena::take(std::size_t bytes) {
  if (blocks_.empty() || blocks_.back().size - used_ < bytes) {
    const std::size_t size = std::max(bytes, kBlock);
    SpareBlocks& spare = spare_blocks();
    blocks_.emplace_back();  // first: what is taken must have its place
    try {
      blocks_.back().bytes = size == kBlock && spare.count > 0
                                 ? std::move(spare.blocks[--spare.count])
                                 : std::make_unique_for_overwrite<std::byte[]>(size);
    } catch (...) {
      blocks_.pop_back();
      throw;
    }
    blocks_.back().size = size;
    used_ = 0;
  }
  std::byte* const place = blocks_.back().bytes.get() + used_;
  used_ += bytes;
  bytes_ += bytes;
  return place;
}

Node& NodeArena::make(std::size_t inputs, std::size_t outputs, std::size_t extra, bool has_numbers,
                      const ops::Attributes& attributes) {
  const std::size_t saved = inputs + outputs + extra;
  const std::size_t bytes = rounded(sizeof(Node)) + rounded(inputs * sizeof(Value)) +
                            saved * sizeof(Tensor) + saved * sizeof(std::uint64_t) +
                            rounded(inputs * sizeof(ops::Spec)) +
                            (has_numbers ? rounded(inputs * sizeof(std::optional<Scalar>)) : 0) +
                            (attributes.size() == 0 ? 0 : rounded(sizeof(ops::Attributes)));
  std::byte* place = take(bytes);
  Node& node = *put<Node>(place, 1);
  node.inputs = static_cast<std::uint32_t>(inputs);
  node.outputs = static_cast<std::uint32_t>(outputs);
  node.saved = static_cast<std::uint32_t>(saved);
  node.last_write = mem::latest_write();
  node.input_values = put<Value>(place, inputs);
  node.saved_tensors = put<Tensor>(place, saved);
  node.origins = put<std::uint64_t>(place, saved);
  node.specs = put<ops::Spec>(place, inputs);
  if (has_numbers) node.numbers = put<std::optional<Scalar>>(place, inputs);
  if (attributes.size() != 0) node.attributes = new (place) ops::Attributes(attributes);
  return node;
}

void NodeArena::end(Node& node) {
  std::destroy_n(node.saved_tensors, node.saved);
  if (node.attributes != nullptr) std::destroy_at(std::exchange(node.attributes, nullptr));
  node.saved = 0;
}

void NodeArena::clear() {
  SpareBlocks& spare = spare_blocks();
  for (Block& block : blocks_) {
    if (block.size != kBlock || spare.count == SpareBlocks::kMost) continue;
    spare.blocks[spare.count++] = std::move(block.bytes);
  }
  blocks_.clear();
  used_ = bytes_ = 0;
}

}  // namespace tenure::autograd
