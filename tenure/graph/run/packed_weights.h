#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tenure/base/small_array.h"
#include "tenure/graph/passes/unit.h"
#include "tenure/memory/holders/spare.h"

// Note: weights that stay packed
//
// Kernels read some inputs in an order of their own (ops::PackingKernel), and pack them in each
// call. A program keeps those packed that it finds as they were the last time: constants, and
// variables that it does not assign to and that have the version that they had in the run before.
// They are packed when a run is done, so that a run takes what its plan says, into spare memory
// (memory/holders/spare.h): counted, within the budget of the request, and given up before anybody
// is refused memory. What is packed has the version of the variable as its tag: it is used for that
// version alone, and given up when a run meets another. Elements that somebody else may write to
// without being asked (mutable_span(), memory of the user's) are packed in each call.

namespace tenure::graph {

/// The weights of a program that it may keep packed. Any number of threads may use it.
class PackedWeights {
 public:
  /// As many as `bytes` has room for, in the program's order.
  PackedWeights(const Lowered& lowered, std::int64_t bytes);

  /// Of all of them, packed.
  std::int64_t bytes() const { return bytes_; }
  /// Number of the one that a unit reads; -1: none.
  int of(std::size_t unit) const { return of_unit_.empty() ? -1 : of_unit_[unit]; }
  /// That this takes itself.
  std::size_t own_bytes() const;

  /// What a run finds, and leaves for the next one. Lives as long as the run.
  class Use;

 private:
  struct Weight {
    const ops::KernelSlot* slot = nullptr;
    Layout layout{};  ///< of the input in its source
    int source = 0;
    std::int64_t bytes = 0;
    Site site{};                           ///< of the first call that reads it
    std::atomic<std::uint64_t> seen{0};    ///< the version that the last run found
    std::atomic<std::uint64_t> packed{0};  ///< the version that was packed last
    std::atomic<bool> is_busy{false};      ///< somebody is packing it
    /// Runs to wait until it is packed again after it was given up for others, twice as many each
    /// time.
    std::atomic<int> wait{0};
    std::atomic<int> next_wait{1};
    mem::Spare spare{};
  };
  /// Its number, or -1.
  int add(const Lowered& lowered, const Unit& unit, std::int64_t most);

  std::vector<std::unique_ptr<Weight>> weights_;
  std::vector<int> of_unit_;  // empty if there are none
  std::int64_t bytes_ = 0;
};

class PackedWeights::Use {
 public:
  /// A weight's source, as the run has it pinned.
  struct Source {
    mem::Storage* storage = nullptr;
    const std::byte* data = nullptr;  ///< the first element
    std::uint64_t version = 0;        ///< from 1 on
  };
  explicit Use(const PackedWeights& weights)
      : weights_(weights.weights_), found_(weights.weights_.size()) {}
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  /// `source_of(i)` gives the Source of source i, which stays pinned as long as this lives. Called
  /// when the run has all its memory.
  template <class SourceOf>
  void begin(const SourceOf& source_of) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      found_[i] = find(*weights_[i], source_of(at(weights_[i]->source)));
    }
  }
  /// Weight i; null: the kernel packs it.
  const std::byte* operator[](int i) {
    if (i < 0) return nullptr;
    const mem::Storage* const storage = found_[at(i)].storage;
    return storage == nullptr ? nullptr : static_cast<const std::byte*>(storage->data());
  }
  /// The run is done, and its memory given back: packs what the next one will find unchanged.
  void finish(ops::Backend& device) noexcept;

 private:
  struct Found {
    mem::Storage* storage = nullptr;
    Source to_pack{};  ///< without a storage: it is not to be packed now
  };
  static Found find(Weight& weight, const Source& source) noexcept;
  static void pack(Weight& weight, const Source& source, ops::Backend& device) noexcept;

  std::span<const std::unique_ptr<Weight>> weights_;
  SmallArray<Found, 4> found_;
};

}  // namespace tenure::graph
