#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "tenure/data/dataset.h"

// What the methods of Dataset make.

namespace tenure::data {

using SourcePointer = std::shared_ptr<const Source>;

SourcePointer shuffled(SourcePointer source, std::uint64_t seed, bool every_epoch, Site site);
SourcePointer mapped(SourcePointer source, std::function<Batch(Batch, Generator&)> f,
                     std::uint64_t seed, Site site);
SourcePointer batched(SourcePointer source, std::int64_t n, bool drop_last, Site site);
/// `count` elements from `first` on.
SourcePointer part_of(SourcePointer source, std::int64_t first, std::int64_t count, Site site);
SourcePointer repeated(SourcePointer source, std::int64_t times, Site site);

/// A number that depends on both in no visible way.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

/// The order of [0, n) that `key` names: a permutation.
class Order {
 public:
  Order(std::uint64_t key, std::int64_t n);
  /// What stands at place i.
  std::int64_t operator[](std::int64_t i) const;

 private:
  struct Round {
    std::uint64_t key;
    std::uint64_t pivot;
  };
  std::uint64_t size_;
  std::array<Round, 96> rounds_;
};

}  // namespace tenure::data
