#include "tenure/graph/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "tenure/base/error.h"
#include "tenure/graph/cache.h"
#include "tenure/graph/compile.h"
#include "tenure/graph/state.h"

namespace tenure {

using graph::Executable;
using graph::Given;
using graph::GraphState;
using graph::Node;
using graph::Program;
using graph::Signature;
using graph::Value;

class Session::Impl {
 public:
  Impl(std::shared_ptr<GraphState> state, Options options)
      : state_(std::move(state)), cache_(options.cache_limit) {}

  /// A call's fetches and feeds, checked.
  struct Call {
    std::shared_ptr<GraphState> graph;
    std::shared_ptr<const Executable> executable{};
    std::vector<Tensor> inputs{};
  };

  Call prepare(const std::vector<Tensor>& fetches, const std::vector<Feed>& feeds, Site site) {
    const std::shared_ptr<GraphState> state = require_open(site);
    Signature signature{static_cast<std::int64_t>(fetches.size())};
    std::vector<Value> values;
    for (const Tensor& fetch : fetches) {
      values.push_back(value_of(*state, fetch, "fetch", site));
      signature.push_back(values.back().node);
      signature.push_back(values.back().output);
    }
    Call call{.graph = state};
    std::vector<Given> given;
    for (const Feed& feed : feeds) {
      given.push_back(given_of(*state, feed, given, site));
      signature.push_back(given.back().value.node);
      graph::append(signature, given.back().spec);
      call.inputs.push_back(feed.value);
    }
    {
      const std::lock_guard lock(mutex_);
      call.executable = cache_.find(signature);
    }
    if (call.executable == nullptr) {
      call.executable = state->read([&](const Program& program) {
        return graph::compile(program, values, values.size(), given, {}, site);
      });
      const std::lock_guard lock(mutex_);
      if (state_ != nullptr) cache_.insert(signature, call.executable, call.executable->bytes());
    }
    return call;
  }

  void close(Site site) {
    const std::lock_guard lock(mutex_);
    if (state_ == nullptr) return;
    title_ = fmt::format("the session of {}", state_->title());
    closed_ = site;
    state_.reset();
    cache_.clear();
  }
  bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return state_ == nullptr;
  }
  template <class F>
  auto read_cache(const F& f) const {
    const std::lock_guard lock(mutex_);
    return f(cache_);
  }

 private:
  std::shared_ptr<GraphState> require_open(Site site) const {
    const std::lock_guard lock(mutex_);
    if (state_ == nullptr) throw ClosedError(title_, closed_, site);
    return state_;
  }

  static Value value_of(GraphState& state, const Tensor& tensor, const char* user, Site site) {
    static_cast<void>(tensor.body(user, site));
    if (!tensor.is_symbolic()) {
      throw GraphError(
          fmt::format("{}: a tensor with data is no symbol of {}", user, state.title()), site);
    }
    return state.value_of(tensor, user, site);
  }

  static Given given_of(GraphState& state, const Feed& feed, const std::vector<Given>& before,
                        Site site) {
    static_cast<void>(feed.value.body("feed", site));
    Value value;
    if (feed.symbol.defined()) {
      value = value_of(state, feed.symbol, "feed", site);
    } else {
      const std::optional<Value> found = state.find_input(feed.name);
      if (!found) {
        throw GraphError(fmt::format("{} has no placeholder \"{}\"", state.title(), feed.name),
                         site);
      }
      value = *found;
    }
    const Spec wanted = state.read([&](const Program& program) {
      const Node& node = program[value];
      if (node.kind != Node::Kind::input) {
        throw GraphError(fmt::format("only placeholders can be fed, not {}", describe(node)), site);
      }
      return Spec{node.name, program.spec(value)};
    });
    for (const Given& other : before) {
      if (other.value == value) {
        throw GraphError(fmt::format("placeholder \"{}\" is fed twice", wanted.name), site);
      }
    }
    check_fit(wanted, feed.value);
    return {.value = value, .spec = {feed.value.dtype(), feed.value.shape()}};
  }

  struct Spec {
    std::string name;
    ops::Spec spec;
  };

  static void check_fit(const Spec& wanted, const Tensor& value) {
    const std::string user = fmt::format("feed \"{}\"", wanted.name);
    if (value.dtype() != wanted.spec.dtype) {
      throw DTypeError(
          user, fmt::format("is {}, not {}", name_of(value.dtype()), name_of(wanted.spec.dtype)));
    }
    const Shape& shape = value.shape();
    bool fits = shape.size() == wanted.spec.shape.size();
    for (int d = 0; d < shape.size() && fits; ++d) {
      fits = wanted.spec.shape[d] == kUnknown || wanted.spec.shape[d] == shape[d];
    }
    if (!fits) {
      throw ShapeError(
          user,
          fmt::format("is {}, not {}", graph::describe(ops::Spec{value.dtype(), shape}),
                      graph::describe(wanted.spec)),
          {shape.to_vector(), wanted.spec.shape.to_vector()});
    }
  }

  mutable std::mutex mutex_;
  std::shared_ptr<GraphState> state_;  // null when closed
  graph::ProgramCache cache_;
  std::string title_;
  Site closed_;
};

Session::Session(const Graph& graph, Site site) : Session(graph, Options{}, site) {}

Session::Session(const Graph& graph, Options options, Site /*site*/)
    : impl_(std::make_unique<Impl>(graph.state(), options)) {}

Session::~Session() = default;

std::vector<Tensor> Session::run(const std::vector<Tensor>& fetches, const std::vector<Feed>& feeds,
                                 Site site) {
  const Impl::Call call = impl_->prepare(fetches, feeds, site);
  for (const Tensor& input : call.inputs) {
    const Symbol* const symbol = input.body("feed", site).symbol();
    if (symbol != nullptr) {
      throw SymbolError("feed", symbol->describe(), "has no data to be fed", input.created(), site);
    }
  }
  return call.executable->run(call.inputs, call.graph->name(), site);
}

Tensor Session::run(const Tensor& fetch, const std::vector<Feed>& feeds, Site site) {
  return std::move(run(std::vector<Tensor>{fetch}, feeds, site).front());
}

Plan Session::plan(const std::vector<Tensor>& fetches, const std::vector<Feed>& feeds, Site site) {
  return impl_->prepare(fetches, feeds, site).executable->plan();
}

void Session::close(Site site) { impl_->close(site); }

bool Session::is_closed() const { return impl_->is_closed(); }

std::size_t Session::programs() const {
  return impl_->read_cache([](const graph::ProgramCache& cache) { return cache.size(); });
}

std::int64_t Session::bytes() const {
  return impl_->read_cache([](const graph::ProgramCache& cache) { return cache.bytes(); });
}

}  // namespace tenure
