#include "tenure/graph/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>

#include "tenure/base/error.h"
#include "tenure/base/units.h"
#include "tenure/graph/cache.h"
#include "tenure/graph/compile.h"
#include "tenure/graph/state.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/tape.h"

namespace tenure::graph {
namespace {

std::string text_of(const FunctionCore::Call& call) {
  std::string text;
  for (const Tensor& tensor : call.tensors) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name_of(tensor.dtype()),
                        to_string(tensor.shape()));
  }
  for (std::size_t i = 0; i + 1 < call.layout.size(); ++i) {
    if (call.layout[i] == -1) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", call.layout[i + 1]);
      ++i;
    }
  }
  return text.empty() ? "no arguments" : text;
}

/// What is new in a call, compared with the one before it.
std::string difference(const FunctionCore::Call& call, const std::vector<ops::Spec>& before,
                       const std::vector<std::int64_t>& layout) {
  if (call.tensors.size() != before.size()) return "another number of tensors";
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Tensor& tensor = call.tensors[i];
    if (tensor.dtype() != before[i].dtype) {
      return fmt::format("tensor {} is {}, was {}", i, name_of(tensor.dtype()),
                         name_of(before[i].dtype));
    }
    if (!(tensor.shape() == before[i].shape)) {
      return fmt::format("tensor {} has shape {}, had {}", i, to_string(tensor.shape()),
                         to_string(before[i].shape));
    }
  }
  return call.layout == layout ? "its trace had been dropped"
                               : "another argument that is no tensor";
}

/// Marks a function as being traced on this thread. Throws GraphError if it is already: it calls
/// itself, and tracing would not end.
class TracingOnce {
 public:
  TracingOnce(const void* core, const std::string& name, Site site) {
    if (std::find(active.begin(), active.end(), core) != active.end()) {
      throw GraphError(fmt::format("function \"{}\" calls itself; a trace has no end then", name),
                       site);
    }
    active.push_back(core);
  }
  ~TracingOnce() { active.pop_back(); }
  TracingOnce(const TracingOnce&) = delete;
  TracingOnce& operator=(const TracingOnce&) = delete;

 private:
  static thread_local std::vector<const void*> active;
};

thread_local std::vector<const void*> TracingOnce::active;

}  // namespace

class FunctionCore::Impl {
 public:
  Impl(FunctionOptions options, Site site)
      : options_(std::move(options)), site_(site), cache_(options_.cache_limit) {}

  /// A trace: what serves a call like the one that it was made for.
  struct Entry {
    std::shared_ptr<const Executable> executable;
    std::shared_ptr<const void> frame;
    std::vector<ops::Spec> specs;
    std::vector<std::int64_t> layout;
    TraceInfo info;
    int number = 0;
    std::atomic<std::int64_t> calls{0};
  };

  std::shared_ptr<Entry> entry_for(const Call& call, const Trace& trace) {
    Signature signature = call.layout;
    for (const Tensor& tensor : call.tensors) append(signature, {tensor.dtype(), tensor.shape()});
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(signature);
      if (found != entries_.end()) {
        static_cast<void>(cache_.find(signature));  // it is in use
        return found->second;
      }
    }
    std::shared_ptr<Entry> entry = make_entry(call, trace);
    const std::lock_guard lock(mutex_);
    cache_.insert(signature, entry->executable);
    entries_[signature] = entry;
    newest_ = entry;
    std::erase_if(entries_, [&](const auto& item) { return !cache_.contains(item.first); });
    return entry;
  }

  std::vector<TraceInfo> traces() const {
    const std::lock_guard lock(mutex_);
    std::vector<TraceInfo> infos;
    std::vector<const Entry*> oldest_first;
    for (const auto& [signature, entry] : entries_) oldest_first.push_back(entry.get());
    std::sort(oldest_first.begin(), oldest_first.end(),
              [](const Entry* a, const Entry* b) { return a->number < b->number; });
    for (const Entry* const entry : oldest_first) {
      infos.push_back(entry->info);
      infos.back().calls = entry->calls.load(std::memory_order_relaxed);
    }
    return infos;
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    cache_.clear();
    newest_.reset();
    attachment_.reset();
  }

  Result trace_into(GraphState& graph, const std::vector<Tensor>& symbols, const Trace& trace) {
    const TracingOnce once(this, options_.name, site_);
    const ops::TraceScope scope(&graph);
    return trace(symbols);
  }

  std::shared_ptr<void> attachment(const std::function<std::shared_ptr<void>()>& make) {
    const std::lock_guard lock(mutex_);
    if (attachment_ == nullptr) attachment_ = make();
    return attachment_;
  }

  const FunctionOptions& options() const { return options_; }
  Site site() const { return site_; }

 private:
  std::shared_ptr<Entry> make_entry(const Call& call, const Trace& trace) {
    const int number = ++traces_;
    const std::string reason = explain_trace(call, number);
    const auto state = std::make_shared<GraphState>(GraphState::Kind::trace, options_.name, site_);
    std::vector<Tensor> symbols;
    std::vector<Given> given;
    for (std::size_t i = 0; i < call.tensors.size(); ++i) {
      const Tensor& tensor = call.tensors[i];
      symbols.push_back(
          state->input(fmt::format("argument {}", i), tensor.dtype(), tensor.shape(), site_));
      given.push_back({.value = state->value_of(symbols.back(), "function", site_),
                       .spec = {tensor.dtype(), tensor.shape()}});
    }
    Result traced = trace_into(*state, symbols, trace);
    std::vector<Value> fetches;
    for (const Tensor& tensor : traced.tensors) {
      fetches.push_back(state->value_of(tensor, "function", site_));
    }
    const std::vector<Value> assignments = state->assignments();
    fetches.insert(fetches.end(), assignments.begin(), assignments.end());
    auto entry = std::make_shared<Entry>();
    entry->executable = state->read(
        [&](const Program& program) { return compile(program, fetches, given, site_); });
    entry->frame = std::move(traced.frame);
    for (const Given& g : given) entry->specs.push_back(g.spec);
    entry->layout = call.layout;
    entry->number = number;
    entry->info = {
        .signature = text_of(call),
        .reason = reason,
        .nodes = state->read([](const Program& p) { return std::int64_t(p.nodes.size()); }),
        .bytes = entry->executable->bytes()};
    return entry;
  }

  std::string explain_trace(const Call& call, int traces) {
    std::string reason = "the first call";
    {
      const std::lock_guard lock(mutex_);
      if (newest_ != nullptr) reason = difference(call, newest_->specs, newest_->layout);
    }
    if (options_.warn_after > 0 && traces > options_.warn_after) {
      const std::string text =
          fmt::format("tenure: function \"{}\" ({}) is traced for the {}th time: {}", options_.name,
                      tenure::to_string(site_), traces, reason);
      if (options_.warn) {
        options_.warn(text);
      } else {
        std::fputs((text + "\n").c_str(), stderr);
      }
    }
    return reason;
  }

  FunctionOptions options_;
  Site site_;
  mutable std::mutex mutex_;
  ProgramCache cache_;
  std::map<Signature, std::shared_ptr<Entry>> entries_;
  std::shared_ptr<Entry> newest_;
  std::shared_ptr<void> attachment_;
  std::atomic<int> traces_{0};
};

FunctionCore::FunctionCore(FunctionOptions options, Site site)
    : impl_(std::make_unique<Impl>(std::move(options), site)) {}

FunctionCore::~FunctionCore() = default;

FunctionCore::Result FunctionCore::call(const Call& call, const Trace& trace) {
  bool symbolic = false;
  for (const Tensor& tensor : call.tensors) {
    symbolic |= tensor.body("function", call.site).symbol() != nullptr;
  }
  if (symbolic) {
    const TracingOnce once(impl_.get(), impl_->options().name, impl_->site());
    return trace(call.tensors);
  }
  if (ops::active_tape != nullptr && taped_call.load() != nullptr) {
    if (std::optional<Result> result = taped_call.load()(*this, call, trace)) return *result;
  }
  const auto entry = impl_->entry_for(call, trace);
  entry->calls.fetch_add(1, std::memory_order_relaxed);
  const auto is_contiguous = [](const Tensor& tensor) { return tensor.is_contiguous(); };
  if (std::all_of(call.tensors.begin(), call.tensors.end(), is_contiguous)) {
    return {.tensors = entry->executable->run(call.tensors, call.site), .frame = entry->frame};
  }
  std::vector<Tensor> inputs;
  for (const Tensor& tensor : call.tensors) {
    inputs.push_back(contiguous(Operand(tensor, call.site)));
  }
  return {.tensors = entry->executable->run(inputs, call.site), .frame = entry->frame};
}

Plan FunctionCore::plan(const Call& call, const Trace& trace) {
  return impl_->entry_for(call, trace)->executable->plan();
}

std::vector<TraceInfo> FunctionCore::traces() const { return impl_->traces(); }

std::string FunctionCore::explain() const {
  const std::vector<TraceInfo> infos = traces();
  std::string text =
      fmt::format("function \"{}\": {} traces\n", impl_->options().name, infos.size());
  for (const TraceInfo& info : infos) {
    text += fmt::format("  {}: {}; {} calls, {} nodes, {}\n", info.signature, info.reason,
                        info.calls, info.nodes, format_bytes(info.bytes));
  }
  return text;
}

void FunctionCore::clear() { impl_->clear(); }

const FunctionOptions& FunctionCore::options() const { return impl_->options(); }
Site FunctionCore::site() const { return impl_->site(); }

FunctionCore::Result FunctionCore::trace_into(GraphState& graph, const std::vector<Tensor>& symbols,
                                              const Trace& trace) const {
  return impl_->trace_into(graph, symbols, trace);
}

std::shared_ptr<void> FunctionCore::attachment(const std::function<std::shared_ptr<void>()>& make) {
  return impl_->attachment(make);
}

namespace {

/// A symbol that nobody can compute with.
class SpecSymbol final : public Symbol {
 public:
  std::string describe() const override { return "a spec"; }
  std::shared_ptr<ops::Recorder> recorder(const char* user, Site site) const override {
    throw SymbolError(user, describe(), "can only be planned with", site, site);
  }
};

}  // namespace

Tensor spec_tensor(DType dtype, const Shape& shape, Site site) {
  check_shape(shape, size_of(dtype), "spec");
  return make_symbolic(std::make_unique<SpecSymbol>(), dtype, shape, "spec", site);
}

}  // namespace tenure::graph
