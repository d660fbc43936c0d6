#include "tenure/data/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tenure/ops/shape_ops.h"

namespace tenure::data {
namespace {

class Shuffled final : public Source {
 public:
  Shuffled(SourcePointer source, std::uint64_t seed, bool every_epoch, Site site)
      : Source(site), source_(std::move(source)), seed_(seed), every_epoch_(every_epoch) {}

  std::int64_t size() const override { return source_->size(); }
  Batch at(std::int64_t epoch, std::int64_t place) const override {
    return source_->at(epoch, order(epoch)[place]);
  }
  Batch rows(std::int64_t epoch, std::span<const std::int64_t> places) const override {
    std::vector<std::int64_t> there(places.begin(), places.end());
    const Order order = this->order(epoch);
    for (std::int64_t& place : there) place = order[place];
    return source_->rows(epoch, there);
  }

 private:
  Order order(std::int64_t epoch) const {
    return {mix(seed_, every_epoch_ ? static_cast<std::uint64_t>(epoch) : 0), size()};
  }

  SourcePointer source_;
  std::uint64_t seed_;
  bool every_epoch_;
};

class Mapped final : public Source {
 public:
  Mapped(SourcePointer source, std::function<Batch(Batch, Generator&)> f, std::uint64_t seed,
         Site site)
      : Source(site), source_(std::move(source)), f_(std::move(f)), seed_(seed) {}

  std::int64_t size() const override { return source_->size(); }
  Batch at(std::int64_t epoch, std::int64_t place) const override {
    Generator generator(
        mix(mix(seed_, static_cast<std::uint64_t>(epoch)), static_cast<std::uint64_t>(place)));
    return f_(source_->at(epoch, place), generator);
  }

 private:
  SourcePointer source_;
  std::function<Batch(Batch, Generator&)> f_;
  std::uint64_t seed_;
};

class Batched final : public Source {
 public:
  Batched(SourcePointer source, std::int64_t n, bool drop_last, Site site)
      : Source(site), source_(std::move(source)), n_(n), drop_last_(drop_last) {}

  std::int64_t size() const override {
    return source_->size() / n_ + (drop_last_ || source_->size() % n_ == 0 ? 0 : 1);
  }
  Batch at(std::int64_t epoch, std::int64_t place) const override {
    const std::int64_t first = place * n_;
    std::vector<std::int64_t> places(
        static_cast<std::size_t>(std::min(n_, source_->size() - first)));
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i] = first + static_cast<std::int64_t>(i);
    }
    return source_->rows(epoch, places);
  }

 private:
  SourcePointer source_;
  std::int64_t n_;
  bool drop_last_;
};

class Part final : public Source {
 public:
  Part(SourcePointer source, std::int64_t first, std::int64_t count, Site site)
      : Source(site), source_(std::move(source)), first_(first), count_(count) {}

  std::int64_t size() const override { return count_; }
  Batch at(std::int64_t epoch, std::int64_t place) const override {
    return source_->at(epoch, first_ + place);
  }
  Batch rows(std::int64_t epoch, std::span<const std::int64_t> places) const override {
    std::vector<std::int64_t> there(places.begin(), places.end());
    for (std::int64_t& place : there) place += first_;
    return source_->rows(epoch, there);
  }

 private:
  SourcePointer source_;
  std::int64_t first_;
  std::int64_t count_;
};

class Repeated final : public Source {
 public:
  Repeated(SourcePointer source, std::int64_t times, Site site)
      : Source(site), source_(std::move(source)), times_(times) {}

  std::int64_t size() const override { return source_->size() * times_; }
  Batch at(std::int64_t epoch, std::int64_t place) const override {
    return source_->at(epoch_of(epoch, place), place % source_->size());
  }
  Batch rows(std::int64_t epoch, std::span<const std::int64_t> places) const override {
    const std::int64_t first = epoch_of(epoch, places[0]);
    std::vector<std::int64_t> there(places.begin(), places.end());
    for (std::int64_t& place : there) {
      if (epoch_of(epoch, place) != first) return Source::rows(epoch, places);
      place %= source_->size();
    }
    return source_->rows(first, there);
  }

 private:
  /// Of more epochs than can be counted, the first comes after the last.
  std::int64_t epoch_of(std::int64_t epoch, std::int64_t place) const {
    const auto all = static_cast<std::uint64_t>(epoch) * static_cast<std::uint64_t>(times_) +
                     static_cast<std::uint64_t>(place / source_->size());
    return static_cast<std::int64_t>(all & std::numeric_limits<std::int64_t>::max());
  }

  SourcePointer source_;
  std::int64_t times_;
};

}  // namespace

Batch Source::rows(std::int64_t epoch, std::span<const std::int64_t> places) const {
  std::vector<std::vector<Tensor>> parts;
  for (const std::int64_t place : places) {
    Batch element = at(epoch, place);
    if (place == places[0]) parts.resize(element.size());
    if (element.size() != parts.size()) {
      throw ValueError(fmt::format("batch: element {} has {} tensors, element {} has {}", places[0],
                                   parts.size(), place, element.size()));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].push_back(std::move(element[i]));
  }
  Batch batch;
  for (std::vector<Tensor>& part : parts) {
    batch.push_back(stack(OperandList(std::move(part), site_)));
  }
  return batch;
}

SourcePointer shuffled(SourcePointer source, std::uint64_t seed, bool every_epoch, Site site) {
  return std::make_shared<Shuffled>(std::move(source), seed, every_epoch, site);
}

SourcePointer mapped(SourcePointer source, std::function<Batch(Batch, Generator&)> f,
                     std::uint64_t seed, Site site) {
  return std::make_shared<Mapped>(std::move(source), std::move(f), seed, site);
}

SourcePointer batched(SourcePointer source, std::int64_t n, bool drop_last, Site site) {
  if (n < 1) throw ValueError(fmt::format("batch: {} elements make no batch", n));
  return std::make_shared<Batched>(std::move(source), n, drop_last, site);
}

SourcePointer part_of(SourcePointer source, std::int64_t first, std::int64_t count, Site site) {
  if (first < 0 || count < 0) {
    throw ValueError(fmt::format("a number of elements is negative: {}", std::min(first, count)));
  }
  first = std::min(first, source->size());
  count = std::min(count, source->size() - first);
  return std::make_shared<Part>(std::move(source), first, count, site);
}

SourcePointer repeated(SourcePointer source, std::int64_t times, Site site) {
  if (times < 0) throw ValueError(fmt::format("repeat: {} times is negative", times));
  if (times != 0 && source->size() > std::numeric_limits<std::int64_t>::max() / times) {
    throw ValueError(
        fmt::format("repeat: {} times {} elements cannot be counted", times, source->size()));
  }
  return std::make_shared<Repeated>(std::move(source), times, site);
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Note: an order without a list
//
// Each round pairs the places up by a random reflection, i <-> pivot - i modulo n, and flips a coin
// for each pair whether the two exchange their places. Both of a pair see the same coin, so every
// round is a permutation, whatever the coins are; some multiple of log n rounds make it as good as
// any (Hoang, Morris, Rogaway: An Enciphering Scheme Based on a Card Shuffle, 2012). It takes no
// memory and reaches any place at once.
Order::Order(std::uint64_t key, std::int64_t n) : size_(static_cast<std::uint64_t>(n)) {
  __extension__ using Wide = unsigned __int128;
  for (std::uint64_t i = 0; i < rounds_.size(); ++i) {
    const std::uint64_t round = mix(key, i);
    rounds_[i] = {.key = round, .pivot = static_cast<std::uint64_t>(Wide{round} * size_ >> 64)};
  }
}

std::int64_t Order::operator[](std::int64_t i) const {
  auto place = static_cast<std::uint64_t>(i);
  for (const Round& round : rounds_) {
    const std::uint64_t partner = round.pivot - place + (round.pivot >= place ? 0 : size_);
    // Without a branch, which nobody could predict.
    const std::uint64_t coin = mix(round.key, std::max(place, partner)) & 1;
    place += coin * (partner - place);
  }
  return static_cast<std::int64_t>(place);
}

}  // namespace tenure::data
