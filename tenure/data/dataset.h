#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tenure/base/handle.h"
#include "tenure/ops/random_ops.h"

namespace tenure::data {

/// An element of a dataset: tensors in an order that is the same for all, such as image and label.
/// In a batch each of them has one more axis, the first.
using Batch = std::vector<Tensor>;

// Note: a dataset is a function
//
// Every element is a function of its place and of the epoch, the number of the pass; no dataset has
// a state. So the order of shuffle() is the same wherever and however often it is asked for, a pass
// can begin anywhere at no cost, and a run that stopped goes on with the same numbers when it
// knows two integers: the epoch, and how many elements of it are behind. Nothing is stored for
// that, not even the order.

/// Where elements come from. Several threads may read at once.
class Source {
 public:
  /// `site` is where it was made; what it makes has that line.
  explicit Source(Site site = Site::current()) : site_(site) {}
  virtual ~Source() = default;
  virtual std::int64_t size() const = 0;
  /// The element at `place`, in [0, size()).
  virtual Batch at(std::int64_t epoch, std::int64_t place) const = 0;
  /// Several elements as one, each tensor stacked along a new first axis. `places` is not empty.
  virtual Batch rows(std::int64_t epoch, std::span<const std::int64_t> places) const;
  Site site() const { return site_; }

 private:
  Site site_;
};

/// Enough to go on where a pass stood.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t next = 0;  ///< place of the next element
  friend bool operator==(const Position&, const Position&) = default;
};

/// One walk through a dataset, from front to back. Copies are the same walk. Not for several
/// threads at once.
class Pass {
 public:
  class Iterator;

  /// The next element; none at the end. If it throws, the pass stands where it stood, so that the
  /// call may be repeated; the error has the line where the pass began.
  std::optional<Batch> next();
  /// Of what next() will give; elements that were made ahead do not count.
  Position position() const;

  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class Dataset;
  struct State;
  Pass(std::shared_ptr<State> state, Site site) : state_(std::move(state), site) {}
  Handle<State, "pass"> state_;
};

/// Frees an element before it makes the next.
class Pass::Iterator {
 public:
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  explicit Iterator(Pass pass) : pass_(std::move(pass)), element_(pass_.next()) {}
  Batch& operator*() const { return *element_; }
  Batch* operator->() const { return &*element_; }
  Iterator& operator++() {
    element_.reset();
    element_ = pass_.next();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& iterator, std::default_sentinel_t) {
    return !iterator.element_.has_value();
  }

 private:
  Pass pass_;
  mutable std::optional<Batch> element_;
};

inline Pass::Iterator Pass::begin() { return Iterator(*this); }

/// Elements that can be asked for in any order, and ways to make other datasets of them. A cheap
/// handle; what it names never changes. See the Note.
class Dataset {
 public:
  /// Throws ValueError for none.
  explicit Dataset(std::shared_ptr<const Source> source, Site site = Site::current());

  std::int64_t size() const { return source_->size(); }
  /// Throws IndexError outside of [0, size()), and ValueError for an epoch below 0.
  Batch at(std::int64_t place, std::int64_t epoch = 0, Site site = Site::current()) const;

  /// In an order that depends on the seed and on the epoch; with `every_epoch` false, on the seed
  /// alone, so that take() and skip() after it have the same elements in every epoch.
  Dataset shuffle(std::uint64_t seed, bool every_epoch = true, Site site = Site::current()) const;
  /// `f(element)` for each element; it is called when the element is asked for.
  Dataset map(std::function<Batch(Batch)> f, Site site = Site::current()) const;
  /// With random numbers that depend on the seed, the epoch and the place alone.
  Dataset map(std::function<Batch(Batch, Generator&)> f, std::uint64_t seed,
              Site site = Site::current()) const;
  /// Every n elements as one, stacked along a new first axis; the last batch has what is left, or
  /// is dropped. Rows of tensors that stand one after the other are a view of them.
  Dataset batch(std::int64_t n, bool drop_last = false, Site site = Site::current()) const;
  /// The first n elements, or all.
  Dataset take(std::int64_t n, Site site = Site::current()) const;
  /// All but the first n elements.
  Dataset skip(std::int64_t n, Site site = Site::current()) const;
  /// All elements n times, each time in an epoch of its own.
  Dataset repeat(std::int64_t n, Site site = Site::current()) const;
  /// Passes make their elements ahead, on a thread of their own, up to n of them, including the one
  /// in the making. They count in the budget of the thread that first asked for an element, are in
  /// the category cache until they are handed over, and their ops use one thread. The whole chain
  /// runs there, also what is added after this. Where the system has no thread, they are made when
  /// they are asked for.
  Dataset prefetch(std::int64_t n, Site site = Site::current()) const;
  /// How many that is; 0 unless it was asked for.
  std::int64_t ahead() const { return ahead_; }

  /// One pass; `first` elements are left out.
  Pass epoch(std::int64_t epoch, std::int64_t first = 0, Site site = Site::current()) const;
  /// The rest of a pass that stood there.
  Pass resume(const Position& position, Site site = Site::current()) const {
    return epoch(position.epoch, position.next, site);
  }

  // Epoch 0: `for (const Batch& batch : dataset)`.
  Pass::Iterator begin(Site site = Site::current()) const {
    return Pass::Iterator(epoch(0, 0, site));
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  Dataset with(std::shared_ptr<const Source> source) const;

  Handle<const Source, "dataset"> source_;
  std::int64_t ahead_ = 0;
};

// In from_tensors.cpp.

/// One element for each row: its tensors are views of `tensors`, whose first axes must have the
/// same size. The dataset is a holder of their data, whatever becomes of the handles.
Dataset from_tensors(const std::vector<Tensor>& tensors, Site site = Site::current());

/// n elements, each `f(place)`.
Dataset from_function(std::int64_t n, std::function<Batch(std::int64_t)> f,
                      Site site = Site::current());

}  // namespace tenure::data
