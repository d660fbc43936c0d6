#include "tenure/data/dataset.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "tenure/base/lasting.h"
#include "tenure/data/prefetch.h"
#include "tenure/data/sources.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/memory/threads/call.h"

namespace tenure::data {

namespace {

mem::Population& passes() {
  static constinit Lasting<mem::Population> one;
  return one.get([] { return new mem::Population("dataset walk"); });
}

}  // namespace

struct Pass::State {
  State(SourcePointer source, Position position, std::int64_t ahead, Site site)
      : source(std::move(source)),
        position(position),
        ahead(ahead),
        site(site),
        counted(passes(), site) {}

  std::optional<Batch> next();

  const SourcePointer source;
  Position position;
  std::int64_t ahead;
  const Site site;
  const mem::Counted counted;
  std::unique_ptr<Prefetch> prefetch;  // once the first element was asked for
};

std::optional<Batch> Pass::State::next() {
  if (position.next >= source->size()) return std::nullopt;
  std::optional<Batch> element;
  if (ahead == 0) {
    element = source->at(position.epoch, position.next);
  } else {
    if (prefetch == nullptr || !prefetch->has_thread()) {
      try {
        prefetch = std::make_unique<Prefetch>(source, position, ahead);
      } catch (const std::system_error&) {  // there is no thread: the pass goes on without
        ahead = 0;
        return next();
      }
    }
    try {
      element = prefetch->next();
    } catch (...) {
      prefetch.reset();  // the next call begins anew
      throw;
    }
  }
  ++position.next;
  if (position.next == source->size()) prefetch.reset();
  return element;
}

std::optional<Batch> Pass::next() {
  State& state = *state_;
  return mem::in_call("next()", state.site, [&] { return state.next(); });
}

Position Pass::position() const { return state_->position; }

Dataset::Dataset(std::shared_ptr<const Source> source, Site site) {
  mem::in_call("Dataset", site, [&] {
    if (source == nullptr) throw ValueError("a dataset needs a source, and this one is null");
    const Site made = source->site();
    source_ = {std::move(source), made};
  });
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
    if (epoch < 0) throw ValueError(fmt::format("at(): there is no epoch {}", epoch));
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
        std::make_shared<Pass::State>(source_.shared(), Position{epoch, first}, ahead_, site),
        site);
  });
}

}  // namespace tenure::data
