#include "tenure/data/dataset.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "tenure/data/prefetch.h"
#include "tenure/data/sources.h"

namespace tenure::data {

struct Pass::State {
  SourcePointer source;
  Position position;
  std::int64_t ahead = 0;
  std::unique_ptr<Prefetch> prefetch;  // once the first element was asked for
};

std::optional<Batch> Pass::next() {
  State& state = *state_;
  if (state.position.next >= state.source->size()) return std::nullopt;
  std::optional<Batch> element;
  if (state.ahead == 0) {
    element = state.source->at(state.position.epoch, state.position.next);
  } else {
    if (state.prefetch == nullptr || !state.prefetch->has_thread()) {
      try {
        state.prefetch = std::make_unique<Prefetch>(state.source, state.position, state.ahead);
      } catch (const std::system_error&) {  // there is no thread: the pass goes on without
        state.ahead = 0;
        return next();
      }
    }
    try {
      element = state.prefetch->next();
    } catch (...) {
      state.prefetch.reset();  // the next call begins anew
      throw;
    }
  }
  ++state.position.next;
  if (state.position.next == state.source->size()) state.prefetch.reset();
  return element;
}

Position Pass::position() const { return state_->position; }

Dataset::Dataset(std::shared_ptr<const Source> source) : source_(source) {
  if (source == nullptr) throw ValueError("a dataset needs a source, and this one is null");
}

Dataset Dataset::with(std::shared_ptr<const Source> source) const {
  Dataset dataset(std::move(source));
  dataset.ahead_ = ahead_;
  return dataset;
}

Batch Dataset::at(std::int64_t place, std::int64_t epoch) const {
  if (place < 0 || place >= size()) {
    throw IndexError("at()", fmt::format("there is no element {} among {}", place, size()), place,
                     size());
  }
  return source_->at(epoch, place);
}

Dataset Dataset::shuffle(std::uint64_t seed, bool every_epoch) const {
  return with(shuffled(source_.shared(), seed, every_epoch));
}

Dataset Dataset::map(std::function<Batch(Batch)> f) const {
  return with(mapped(source_.shared(), std::move(f)));
}

Dataset Dataset::map(std::function<Batch(Batch, Generator&)> f, std::uint64_t seed) const {
  return with(mapped(source_.shared(), std::move(f), seed));
}

Dataset Dataset::batch(std::int64_t n, bool drop_last) const {
  return with(batched(source_.shared(), n, drop_last));
}

Dataset Dataset::take(std::int64_t n) const { return with(part_of(source_.shared(), 0, n)); }

Dataset Dataset::skip(std::int64_t n) const { return with(part_of(source_.shared(), n, size())); }

Dataset Dataset::repeat(std::int64_t n) const { return with(repeated(source_.shared(), n)); }

Dataset Dataset::prefetch(std::int64_t n) const {
  if (n < 0) throw ValueError(fmt::format("prefetch: {} elements is negative", n));
  Dataset dataset = *this;
  dataset.ahead_ = n;
  return dataset;
}

Pass Dataset::epoch(std::int64_t epoch, std::int64_t first) const {
  if (epoch < 0 || first < 0) {
    throw ValueError(fmt::format("a pass cannot begin at element {} of epoch {}", first, epoch));
  }
  auto state = std::make_shared<Pass::State>();
  state->source = source_.shared();
  state->position = {.epoch = epoch, .next = first};
  state->ahead = ahead_;
  return Pass(std::move(state));
}

}  // namespace tenure::data
