#include "tenure/data/dataset.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "tenure/data/prefetch.h"
#include "tenure/data/sources.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/memory/threads/call.h"

namespace tenure::data {

namespace {

mem::Population& passes() {
  static auto* const one = new mem::Population("dataset walk");
  return *one;
}

}  // namespace

struct Pass::State {
  State(SourcePointer source, Position position, std::int64_t ahead, Site site)
      : source(std::move(source)), position(position), ahead(ahead), counted(passes(), site) {}

  const SourcePointer source;
  Position position;
  std::int64_t ahead;
  const mem::Counted counted;
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

Batch Dataset::at(std::int64_t place, std::int64_t epoch, Site site) const {
  return mem::in_call("at()", site, [&] {
    if (place < 0 || place >= size()) {
      throw IndexError("at()", fmt::format("there is no element {} among {}", place, size()), place,
                       size());
    }
    return source_->at(epoch, place);
  });
}

Dataset Dataset::shuffle(std::uint64_t seed, bool every_epoch, Site site) const {
  return mem::in_call("shuffle", site,
                      [&] { return with(shuffled(source_.shared(), seed, every_epoch, site)); });
}

Dataset Dataset::map(std::function<Batch(Batch)> f, Site site) const {
  return mem::in_call("map", site, [&] {
    if (f == nullptr) throw ValueError("map: there is no function");
    const auto without_numbers = [f = std::move(f)](Batch element, Generator&) {
      return f(std::move(element));
    };
    return with(mapped(source_.shared(), without_numbers, 0, site));
  });
}

Dataset Dataset::map(std::function<Batch(Batch, Generator&)> f, std::uint64_t seed,
                     Site site) const {
  return mem::in_call("map", site, [&] {
    if (f == nullptr) throw ValueError("map: there is no function");
    return with(mapped(source_.shared(), std::move(f), seed, site));
  });
}

Dataset Dataset::batch(std::int64_t n, bool drop_last, Site site) const {
  return mem::in_call("batch", site,
                      [&] { return with(batched(source_.shared(), n, drop_last, site)); });
}

Dataset Dataset::take(std::int64_t n, Site site) const {
  return mem::in_call("take", site, [&] { return with(part_of(source_.shared(), 0, n, site)); });
}

Dataset Dataset::skip(std::int64_t n, Site site) const {
  return mem::in_call("skip", site,
                      [&] { return with(part_of(source_.shared(), n, size(), site)); });
}

Dataset Dataset::repeat(std::int64_t n, Site site) const {
  return mem::in_call("repeat", site, [&] { return with(repeated(source_.shared(), n, site)); });
}

Dataset Dataset::prefetch(std::int64_t n, Site site) const {
  return mem::in_call("prefetch", site, [&] {
    if (n < 0) throw ValueError(fmt::format("prefetch: {} elements is negative", n));
    Dataset dataset = with(source_.shared());
    dataset.ahead_ = n;
    return dataset;
  });
}

Pass Dataset::epoch(std::int64_t epoch, std::int64_t first, Site site) const {
  return mem::in_call("epoch", site, [&] {
    if (epoch < 0 || first < 0) {
      throw ValueError(fmt::format("a pass cannot begin at element {} of epoch {}", first, epoch));
    }
    return Pass(
        std::make_shared<Pass::State>(source_.shared(), Position{epoch, first}, ahead_, site));
  });
}

}  // namespace tenure::data
