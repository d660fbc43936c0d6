#include "tenure/graph/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "tenure/base/error.h"
#include "tenure/base/lasting.h"
#include "tenure/base/object_mutex.h"
#include "tenure/graph/passes/compile.h"
#include "tenure/graph/place/donation.h"
#include "tenure/graph/run/brought.h"
#include "tenure/graph/run/cache.h"
#include "tenure/graph/trace/state.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/memory/callers.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"

namespace tenure {

using graph::Executable;
using graph::Given;
using graph::GraphState;
using graph::Node;
using graph::Ownership;
using graph::Program;
using graph::Signature;
using graph::Value;

class Session::Impl {
 public:
  Impl(std::shared_ptr<GraphState> state, Options options, Site site)
      : counted_(sessions(), site),
        state_(std::move(state)),
        cache_(options.cache_limit),
        packed_limit_(options.packed_limit) {
    mem::require_least(
        "Session",
        {{"cache_limit", options.cache_limit, 0}, {"packed_limit", options.packed_limit, 0}}, site);
  }

  /// A call's fetches and feeds, checked.
  struct Call {
    std::shared_ptr<GraphState> graph;
    Signature signature{};
    std::vector<Value> fetches{};
    std::vector<Given> given{};
  };

  Call check(const std::vector<Tensor>& fetches, std::span<const Feed> feeds, Site site) const {
    Call call{.graph = require_open(site),
              .signature = {static_cast<std::int64_t>(fetches.size())}};
    for (const Tensor& fetch : fetches) {
      call.fetches.push_back(value_of(*call.graph, fetch, "fetch", site));
      call.signature.push_back(call.fetches.back().node);
      call.signature.push_back(call.fetches.back().output);
    }
    require_single_assignments(*call.graph, call.fetches, site);
    for (const Feed& feed : feeds) {
      require_single_donor(feeds.first(call.given.size()), feed, site);
      call.given.push_back(given_of(*call.graph, feed, call.given, site));
      call.signature.push_back(call.given.back().value.node);
      graph::append(call.signature, call.given.back().spec);
      graph::append(call.signature, call.given.back().strides);
    }
    return call;
  }

  /// `donated` tells in which feeds it may compute; empty: none.
  std::shared_ptr<const Executable> executable_for(Call& call, const std::vector<bool>& donated,
                                                   Site site) {
    Signature& signature = call.signature;
    signature.insert(signature.end(), donated.begin(), donated.end());
    {
      const std::lock_guard lock(mutex_);
      if (auto found = cache_.find(signature)) return found;
    }
    // Of its own: what the user wrote may run when it is compiled, and use the graph.
    const Program program = call.graph->read([](const Program& shared) { return shared; });
    auto executable = graph::compile(program, call.fetches, call.fetches.size(), call.given,
                                     donated, site, {.packed_limit = packed_limit_});
    const std::lock_guard lock(mutex_);
    if (state_ != nullptr) cache_.insert(signature, executable, executable->bytes());
    return executable;
  }

  void close(Site site) {
    const std::lock_guard lock(mutex_);
    if (state_ == nullptr) return;
    title_ = fmt::format("the session of {}", state_->title());
    closed_ = site;
    closing_calls_ = mem::calls_here();
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
    {
      const std::lock_guard lock(mutex_);
      if (state_ != nullptr) return state_;
    }
    ClosedError error(title_, closed_, site);  // what it says does not change any more
    mem::add_calls(error, "calls that closed it", closing_calls_);
    throw error;
  }

  static Value value_of(GraphState& state, const Tensor& tensor, const char* user, Site site) {
    static_cast<void>(tensor.body(user, site));
    if (!tensor.is_symbolic()) {
      throw GraphError(
          fmt::format("{}: a tensor with data is no symbol of {}", user, state.title()), site);
    }
    return state.value_of(tensor, user, site);
  }

  /// Nobody could say which one comes last.
  static void require_single_assignments(const GraphState& state, const std::vector<Value>& fetches,
                                         Site site) {
    state.read([&](const Program& program) {
      std::map<const graph::VariableState*, Value> assigned;
      for (const Value fetch : fetches) {
        const Node& node = program[fetch];
        if (node.kind != Node::Kind::assign) continue;
        const auto [first, is_new] = assigned.emplace(node.variable.get(), fetch);
        if (is_new || first->second == fetch) continue;
        throw GraphError(
            fmt::format("variable \"{}\" is assigned to twice in one run, at {} and "
                        "at {}; fetch one of them",
                        node.name, to_string(program[first->second].site), to_string(node.site)),
            site);
      }
    });
  }

  static void require_single_donor(std::span<const Feed> before, const Feed& feed, Site site) {
    for (const Feed& other : before) {
      if (feed.donor != nullptr && feed.donor == other.donor) {
        throw GraphError("one tensor is donated for two placeholders", site);
      }
    }
  }

  static Given given_of(GraphState& state, const Feed& feed, const std::vector<Given>& before,
                        Site site) {
    static_cast<void>(feed.tensor().body("feed", site));
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
    check_fit(wanted, feed.tensor());
    return {.value = value,
            .spec = {feed.tensor().dtype(), feed.tensor().shape()},
            .strides = graph::given_strides(feed.tensor())};
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

  static mem::Population& sessions() {
    static constinit Lasting<mem::Population> one;
    return one.get([] { return new mem::Population("session"); });
  }

  const mem::Counted counted_;
  mutable ObjectMutex mutex_;
  std::shared_ptr<GraphState> state_;  // null when closed
  graph::ProgramCache cache_;
  const std::int64_t packed_limit_;
  std::string title_;
  Site closed_;
  std::uint32_t closing_calls_ = 0;
};

Session::Session(const Graph& graph, Site site) : Session(graph, Options{}, site) {}

Session::Session(const Graph& graph, Options options, Site site)
    : impl_(mem::in_call("Session", site,
                         [&] { return std::make_unique<Impl>(graph.state(), options, site); })) {}

Session::~Session() = default;

/// The values of feeds, taken where they are given; those go back unless they were used.
class Session::Values {
 public:
  Values(std::span<const Feed> feeds, Feeds kind) : feeds_(feeds), kind_(kind) {}
  ~Values() {
    if (are_used_) return;
    for (std::size_t i = 0; i < feeds_.size(); ++i) put_back(feeds_[i], i);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  void take() {
    tensors.reserve(feeds_.size());
    ownership.reserve(feeds_.size());
    for (const Feed& feed : feeds_) {
      const bool ends = feed.donor == nullptr && kind_ != Feeds::kept;
      tensors.push_back(feed.donor != nullptr ? std::move(*feed.donor)
                        : ends                ? std::move(feed.value)
                                              : feed.value);
      ownership.push_back(feed.donor != nullptr ? Ownership::donated
                          : ends                ? Ownership::moved
                                                : Ownership::kept);
    }
  }
  void mark_used() { are_used_ = true; }

  std::vector<Tensor> tensors;
  std::vector<Ownership> ownership;

 private:
  void put_back(const Feed& feed, std::size_t i) {
    if (i < ownership.size() && ownership[i] != Ownership::kept) {
      (feed.donor != nullptr ? *feed.donor : feed.value) = std::move(tensors[i]);
    }
    Tensor* const origin = kind_ == Feeds::written ? feed.origin_.tensor : nullptr;
    // One that was moved twice is where it was moved first.
    if (origin != nullptr && feed.value.defined()) *origin = std::move(feed.value);
  }

  std::span<const Feed> feeds_;
  Feeds kind_;
  bool are_used_ = false;
};

namespace {

/// The standard library found no memory for what a call needs beside its data.
void no_memory() { mem::throw_out_of_memory(OutOfMemory::Cause::system, 0, nullptr); }

}  // namespace

std::vector<Tensor> Session::run_with(const std::vector<Tensor>& fetches,
                                      std::span<const Feed> feeds, Feeds kind, Site site) try {
  Values values(feeds, kind);
  Impl::Call call = impl_->check(fetches, feeds, site);
  for (const Feed& feed : feeds) {
    const Tensor& tensor = feed.tensor();
    if (const Symbol* const symbol = tensor.body("feed", site).symbol()) {
      SymbolError error("feed", symbol->describe(), "has no data to be fed", tensor.created(),
                        site);
      mem::add_calls_of_maker(error, *symbol);
      throw error;
    }
  }
  values.take();
  const graph::Brought brought(values.tensors, call.graph->device(), site);
  const std::string& name = call.graph->name();
  const graph::Donations donations(values.tensors, values.ownership, {"graph", name, "feed"});
  const auto executable = impl_->executable_for(call, donations.accepted(), site);
  donations.require_use(executable->plan());
  std::vector<Tensor> results = executable->run(values.tensors, name, site);
  values.mark_used();
  return results;
} catch (Error& error) {
  mem::name_call(error, "run", site);
  throw;
} catch (const std::bad_alloc&) {
  mem::in_call("run", site, no_memory);
  throw;
}

Tensor Session::run_one(const Tensor& fetch, std::span<const Feed> feeds, Feeds kind, Site site) {
  return mem::or_out_of_memory(
      [&] { return std::move(run_with({fetch}, feeds, kind, site).front()); });
}

Plan Session::plan(const std::vector<Tensor>& fetches, const std::vector<Feed>& feeds,
                   Site site) try {
  Impl::Call call = impl_->check(fetches, feeds, site);
  std::vector<bool> donated(feeds.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) donated[i] = feeds[i].donor != nullptr;
  if (std::find(donated.begin(), donated.end(), true) == donated.end()) donated.clear();
  return impl_->executable_for(call, donated, site)->plan();
} catch (Error& error) {
  mem::name_call(error, "plan", site);
  throw;
} catch (const std::bad_alloc&) {
  mem::in_call("plan", site, no_memory);
  throw;
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
