#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenure/graph/donate.h"
#include "tenure/graph/graph.h"
#include "tenure/graph/plan.h"

namespace tenure {

/// What a run is given for a placeholder, by its symbol or its name.
struct Feed {
  Feed(Tensor symbol, const Tensor& value) : symbol(std::move(symbol)), value(value) {}
  Feed(std::string name, const Tensor& value) : name(std::move(name)), value(value) {}
  Feed(const char* name, const Tensor& value) : name(name), value(value) {}
  Feed(Tensor symbol, Tensor&& value)
      : symbol(std::move(symbol)), value(std::move(value)), origin_(&value) {}
  Feed(std::string name, Tensor&& value)
      : name(std::move(name)), value(std::move(value)), origin_(&value) {}
  Feed(const char* name, Tensor&& value) : name(name), value(std::move(value)), origin_(&value) {}
  /// The tensor must be there until the run; see donate().
  Feed(Tensor symbol, Donation<Tensor> value) : symbol(std::move(symbol)), donor(&value.argument) {}
  Feed(std::string name, Donation<Tensor> value) : name(std::move(name)), donor(&value.argument) {}
  Feed(const char* name, Donation<Tensor> value) : name(name), donor(&value.argument) {}

  Tensor symbol{};  ///< empty if it is by name
  std::string name{};
  mutable Tensor value{};   ///< a run that is given the feed takes it
  Tensor* donor = nullptr;  ///< of what is donated, in place of the value

  const Tensor& tensor() const { return donor == nullptr ? value : *donor; }

 private:
  friend class Session;
  /// Where the value was moved from. It is known to be there within the call that the feed was
  /// written in alone, so no copy has it.
  struct Origin {
    Origin(Tensor* tensor) : tensor(tensor) {}  // NOLINT(google-explicit-constructor)
    Origin(const Origin& /*other*/) {}
    Origin& operator=(const Origin& other) {
      if (this != &other) tensor = nullptr;
      return *this;
    }
    ~Origin() = default;
    Tensor* tensor = nullptr;
  };
  Origin origin_ = nullptr;
};

/// Runs a graph. Nothing is allocated before run(); what it compiled is kept for the next run with
/// the same fetches and shapes, up to a limit. Any number of sessions may run one graph, and any
/// number of threads one session.
///
///     Session session(graph);
///     Tensor y = session.run(symbol, {{"x", value}});
class Session {
 public:
  struct Options {
    /// Bytes of compiled programs to keep.
    std::int64_t cache_limit = 64 << 20;
    /// Bytes of weights that each of them may keep packed: see Plan::packed.
    std::int64_t packed_limit = 256 << 20;
  };

  explicit Session(const Graph& graph, Site site = Site::current());
  Session(const Graph& graph, Options options, Site site = Site::current());
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The values of the fetched symbols, as new tensors of the caller's. Throws GraphError for feeds
  /// that are missing, given twice, or no placeholders; SymbolError for symbols of another graph;
  /// ShapeError and DTypeError for values that do not fit; ClosedError; DonationError for values
  /// given by donate(), which are then as before.
  std::vector<Tensor> run(const std::vector<Tensor>& fetches, const std::vector<Feed>& feeds = {},
                          Site site = Site::current()) {
    return run_with(fetches, feeds, Feeds::kept, site);
  }
  Tensor run(const Tensor& fetch, const std::vector<Feed>& feeds = {},
             Site site = Site::current()) {
    return run_one(fetch, feeds, Feeds::kept, site);
  }
  /// Feeds that end with the call: it may compute in the memory of values that nobody else holds,
  /// as those that were moved into the list. If it throws, they are where they were moved from.
  ///
  ///     state = session.run(next, {{x, std::move(state)}});
  std::vector<Tensor> run(const std::vector<Tensor>& fetches, std::initializer_list<Feed>&& feeds,
                          Site site = Site::current()) {
    return run_with(fetches, feeds, Feeds::written, site);
  }
  Tensor run(const Tensor& fetch, std::initializer_list<Feed>&& feeds,
             Site site = Site::current()) {
    return run_one(fetch, feeds, Feeds::written, site);
  }
  std::vector<Tensor> run(const std::vector<Tensor>& fetches, std::vector<Feed>&& feeds,
                          Site site = Site::current()) {
    return run_with(fetches, feeds, Feeds::moved, site);
  }
  Tensor run(const Tensor& fetch, std::vector<Feed>&& feeds, Site site = Site::current()) {
    return run_one(fetch, feeds, Feeds::moved, site);
  }

  /// What run() would take. The feeds' values may be symbolic: only their shapes count, and whether
  /// they are given by donate(). Allocates nothing.
  Plan plan(const std::vector<Tensor>& fetches, const std::vector<Feed>& feeds = {},
            Site site = Site::current());

  /// Frees all it holds. Doing it again does nothing.
  void close(Site site = Site::current());
  bool is_closed() const;

  /// Compiled programs that it keeps, and their bytes.
  std::size_t programs() const;
  std::int64_t bytes() const;

 private:
  /// What becomes of the values of a list.
  enum class Feeds {
    kept,    ///< they stay in it
    moved,   ///< they end with the call, and stay in it if that throws
    written  ///< the same, and go back to where they were moved from
  };
  std::vector<Tensor> run_with(const std::vector<Tensor>& fetches, std::span<const Feed> feeds,
                               Feeds kind, Site site);
  Tensor run_one(const Tensor& fetch, std::span<const Feed> feeds, Feeds kind, Site site);

  class Values;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
