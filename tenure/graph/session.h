#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenure/graph/graph.h"
#include "tenure/graph/plan.h"

namespace tenure {

/// What a run is given for a placeholder, by its symbol or its name.
struct Feed {
  Feed(Tensor symbol, Tensor value) : symbol(std::move(symbol)), value(std::move(value)) {}
  Feed(std::string name, Tensor value) : name(std::move(name)), value(std::move(value)) {}
  Feed(const char* name, Tensor value) : name(name), value(std::move(value)) {}

  Tensor symbol{};  ///< empty if it is by name
  std::string name{};
  Tensor value;
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
  };

  explicit Session(const Graph& graph, Site site = Site::current());
  Session(const Graph& graph, Options options, Site site = Site::current());
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The values of the fetched symbols, as new tensors of the caller's. Throws GraphError for feeds
  /// that are missing, given twice, or no placeholders; SymbolError for symbols of another graph;
  /// ShapeError and DTypeError for values that do not fit; ClosedError.
  std::vector<Tensor> run(const std::vector<Tensor>& fetches, const std::vector<Feed>& feeds = {},
                          Site site = Site::current());
  Tensor run(const Tensor& fetch, const std::vector<Feed>& feeds = {}, Site site = Site::current());

  /// What run() would take. The feeds' values may be symbolic: only their shapes count. Allocates
  /// nothing.
  Plan plan(const std::vector<Tensor>& fetches, const std::vector<Feed>& feeds = {},
            Site site = Site::current());

  /// Frees all it holds. Doing it again does nothing.
  void close(Site site = Site::current());
  bool is_closed() const;

  /// Compiled programs that it keeps, and their bytes.
  std::size_t programs() const;
  std::int64_t bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
