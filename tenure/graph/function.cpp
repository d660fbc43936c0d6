#include "tenure/graph/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>

#include "tenure/base/error.h"
#include "tenure/base/lasting.h"
#include "tenure/base/object_mutex.h"
#include "tenure/base/units.h"
#include "tenure/graph/place/donation.h"
#include "tenure/graph/run/brought.h"
#include "tenure/graph/run/cache.h"
#include "tenure/graph/trace/call_signature.h"
#include "tenure/graph/trace/state.h"
#include "tenure/graph/trace/traced.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/core/tape.h"

namespace tenure::graph {
namespace {

/// Those that hold traces. A function's traces have a bound, its cache's; functions have none.
mem::Population& functions_of_process() {
  static constinit Lasting<mem::Population> functions;
  return functions.get([] { return new mem::Population("function"); });
}

}  // namespace

class FunctionCore::Impl {
 public:
  Impl(FunctionOptions options, Site site)
      : options_(std::move(options)), site_(site), cache_(options_.cache_limit) {
    const std::string what = fmt::format("function \"{}\"", options_.name);
    mem::require_in(mem::kAtLeastZero, what, {{"recompute", options_.recompute}}, site);
    mem::require_least(what,
                       {{"effort", options_.effort},
                        {"warn_after", options_.warn_after, 0},
                        {"cache_limit", options_.cache_limit, 0},
                        {"packed_limit", options_.packed_limit, 0}},
                       site);
    for (const int i : options_.batched) mem::require_least(what, {{"batched", i, 0}}, site);
  }

  /// A trace compiled for tensors of certain types and shapes, some of them donated.
  struct Entry {
    std::shared_ptr<const Traced> traced;
    std::shared_ptr<const Executable> executable;
    CallSignature signature;
    std::vector<bool> donated;
    TraceInfo info;
    int number = 0;
    std::atomic<std::int64_t> calls{0};

    bool serves(const Call& call, const std::vector<bool>& accepted,
                const TraceVariant* variant) const {
      const auto fits = [this](const ops::Spec& spec, const Tensor& tensor) {
        return spec.dtype == tensor.dtype() && spec.shape == tensor.shape() &&
               signature.device == tensor.device();
      };
      const auto lies_so = [](const Strides& strides, const Tensor& tensor) {
        const TensorBody& body = tensor.body("function");
        return body.contiguous || body.symbol() != nullptr ? strides.empty()
                                                           : strides == body.strides;
      };
      return std::equal(signature.specs.begin(), signature.specs.end(), call.tensors.begin(),
                        call.tensors.end(), fits) &&
             (!call.tensors.empty() || signature.device == default_device()) &&
             std::equal(signature.strides.begin(), signature.strides.end(), call.tensors.begin(),
                        lies_so) &&
             signature.layout == call.layout && donated == accepted &&
             signature.autocast == ops::call_context().autocast &&
             (variant == nullptr ? signature.variant.empty() : signature.variant == variant->key);
    }
  };

  /// `donated` tells which tensors the call may compute in; empty: none. The trace is of the
  /// variant, if there is one.
  std::shared_ptr<Entry> entry_for(const Call& call, const std::vector<bool>& donated,
                                   const Trace& trace, const TraceVariant* variant = nullptr) {
    {
      const std::lock_guard lock(mutex_);
      if (latest_ != nullptr && latest_->serves(call, donated, variant)) return latest_;
    }
    Signature signature = begin_signature(call, variant);
    for (const Tensor& tensor : call.tensors) {
      append(signature, ops::Spec{tensor.dtype(), tensor.shape()});
      append(signature, given_strides(tensor));
    }
    signature.insert(signature.end(), donated.begin(), donated.end());
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(signature);
      if (found != entries_.end()) {
        static_cast<void>(cache_.find(signature));  // it is in use
        return latest_ = found->second;
      }
    }
    std::shared_ptr<Entry> entry = make_entry(call, donated, trace, variant);
    const std::lock_guard lock(mutex_);
    if (!counted_) counted_.emplace(functions_of_process(), site_);
    cache_.insert(signature, entry->executable, entry->info.bytes);
    entries_[signature] = entry;
    latest_ = entry;
    if (variant != nullptr || call.traced == nullptr) {
      newest_[variant == nullptr ? nullptr : variant->reason] = entry->signature;
    }
    std::erase_if(entries_, [&](const auto& item) { return !cache_.contains(item.first); });
    std::erase_if(traced_, [](const auto& item) { return item.second.expired(); });
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
    traced_.clear();
    cache_.clear();
    newest_.clear();
    latest_.reset();
    counted_.reset();
    traces_ = 0;
  }

  void forget(const std::vector<std::int64_t>& layout) {
    std::vector<std::shared_ptr<Entry>> gone;  // ends after the lock
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& item) {
      if (item.second->signature.layout != layout) return false;
      cache_.erase(item.first);
      gone.push_back(item.second);
      return true;
    });
    if (latest_ != nullptr && latest_->signature.layout == layout) latest_.reset();
    std::erase_if(traced_, [](const auto& item) { return item.second.expired(); });
  }

  Result trace_into(GraphState& graph, const std::vector<Tensor>& symbols, const Trace& trace) {
    const TracingOnce once(this, options_.name, site_);
    const ops::TraceScope scope(&graph);
    return trace(symbols);
  }

  const FunctionOptions& options() const { return options_; }
  Site site() const { return site_; }
  /// The standard library found no memory for what a call needs beside its data.
  [[noreturn]] void throw_no_memory() const {
    try {
      mem::throw_out_of_memory(OutOfMemory::Cause::system, 0, nullptr);
    } catch (Error& error) {
      mem::name_call(error, fmt::format("function \"{}\"", options_.name), site_);
      throw;
    }
  }

 private:
  /// What is traced: the call's types and shapes, but for the sizes that are left open.
  std::vector<ops::Spec> open_specs(const Call& call) const {
    if (call.traced != nullptr) return call.traced->specs();
    for (const int i : options_.batched) {
      if (i >= 0 && static_cast<std::size_t>(i) < call.tensors.size()) continue;
      throw ValueError(
          fmt::format("function \"{}\": tensor {} is said to have a batch; there are {}",
                      options_.name, i, call.tensors.size()));
    }
    std::vector<ops::Spec> specs = specs_of(call);
    for (const int i : options_.batched) {
      Shape& shape = specs[static_cast<std::size_t>(i)].shape;
      if (shape.empty()) {
        throw ShapeError(fmt::format("function \"{}\"", options_.name),
                         fmt::format("tensor {} is said to have a batch and is a number", i));
      }
      shape[0] = kUnknown;
    }
    return specs;
  }

  static Signature begin_signature(const Call& call, const TraceVariant* variant) {
    Signature signature{0};
    if (variant != nullptr) {
      signature = variant->key;
      signature.insert(signature.begin(), static_cast<std::int64_t>(variant->key.size()));
    }
    signature.push_back(static_cast<std::int64_t>(mem::place_of(device_of(call))));
    signature.push_back(static_cast<std::int64_t>(ops::call_context().autocast));
    signature.insert(signature.end(), call.layout.begin(), call.layout.end());
    return signature;
  }

  std::shared_ptr<const Traced> find_traced(const Signature& key) {
    const std::lock_guard lock(mutex_);
    const auto found = traced_.find(key);
    return found == traced_.end() ? nullptr : found->second.lock();
  }

  /// Finds what was traced for such a call, or traces it.
  void trace_for(Entry& entry, const Call& call, const Trace& trace, const TraceVariant* variant) {
    if (variant == nullptr && call.traced != nullptr) {
      entry.traced = call.traced;
      entry.info.reason = call.purpose;
      return;
    }
    const auto key_of = [&](const std::vector<ops::Spec>& specs) {
      Signature key = begin_signature(call, variant);
      for (const ops::Spec& spec : specs) append(key, spec);
      return key;
    };
    std::vector<ops::Spec> specs = open_specs(call);
    const Signature open = key_of(specs);
    entry.traced = find_traced(open);
    if (entry.traced != nullptr && key_of(entry.traced->specs()) != open) {
      specs = entry.signature.specs;  // it had to know the sizes
      entry.traced = find_traced(key_of(specs));
    }
    if (entry.traced != nullptr) {
      entry.info.reason = "other sizes, strides or donations; compiled again, not traced";
      return;
    }
    entry.info.reason = explain_trace(call, variant, ++traces_);
    entry.traced =
        variant != nullptr
            ? variant->trace(specs)
            : std::make_shared<const Traced>(trace_call(trace, specs, this, options_.name, site_));
    entry.info.bytes = static_cast<std::int64_t>(entry.traced->bytes());
    const Signature known = key_of(entry.traced->specs());
    if (known != key_of(specs)) entry.info.reason += "; it has to know the size of the batch";
    const std::lock_guard lock(mutex_);
    traced_[open] = traced_[known] = entry.traced;
  }

  std::shared_ptr<Entry> make_entry(const Call& call, const std::vector<bool>& donated,
                                    const Trace& trace, const TraceVariant* variant) {
    auto entry = std::make_shared<Entry>();
    entry->signature = {.device = device_of(call),
                        .specs = specs_of(call),
                        .strides = strides_of(call),
                        .layout = call.layout};
    const DeviceScope device(entry->signature.device);
    entry->signature.autocast = ops::call_context().autocast;
    if (variant != nullptr) entry->signature.variant = variant->key;
    entry->donated = donated;
    trace_for(*entry, call, trace, variant);
    entry->executable =
        entry->traced->compiled(entry->signature.specs, entry->signature.strides, donated, site_,
                                {.budget = options_.budget,
                                 .recompute = options_.recompute,
                                 .effort = options_.effort,
                                 .check_numbers = options_.check_numbers,
                                 .packed_limit = options_.packed_limit});
    entry->number = ++numbers_;
    entry->info.signature = text_of(call, donated);
    entry->info.nodes = static_cast<std::int64_t>(entry->traced->program.nodes.size());
    entry->info.bytes += entry->executable->bytes();
    return entry;
  }

  /// Whether some tensors have another first size than they had, which could be left open, and
  /// nothing else of any shape or type differs.
  bool changes_first_sizes(const Call& call, const CallSignature& last) const {
    bool changes = false;
    for (std::size_t i = 0; i < call.tensors.size(); ++i) {
      const Tensor& tensor = call.tensors[i];
      Shape before = last.specs[i].shape;
      if (tensor.dtype() != last.specs[i].dtype || tensor.shape().size() != before.size()) {
        return false;
      }
      if (tensor.shape() == before) continue;
      before[0] = tensor.shape()[0];
      if (!(tensor.shape() == before)) return false;
      const std::vector<int>& open = options_.batched;
      changes |= std::find(open.begin(), open.end(), static_cast<int>(i)) == open.end();
    }
    return changes;
  }

  /// A loop that traces in every step would otherwise print as often.
  bool is_reported(int traces) const {
    const int limit = options_.warn_after;
    if (limit <= 0 || traces <= limit) return false;
    return traces == limit + 1 ||
           (traces % limit == 0 && std::has_single_bit(static_cast<unsigned>(traces / limit)));
  }

  std::string explain_trace(const Call& call, const TraceVariant* variant, int traces) {
    std::string reason = variant == nullptr ? "the first call" : variant->reason;
    bool may_batch = false;
    {
      const std::lock_guard lock(mutex_);
      if (variant == nullptr && traces > 1 && newest_.empty()) reason = "no call before succeeded";
      const auto last = newest_.find(variant == nullptr ? nullptr : variant->reason);
      if (last != newest_.end()) {
        const std::string change = difference(call, variant, last->second);
        reason = variant == nullptr ? change : fmt::format("{}; {}", reason, change);
        may_batch = call.tensors.size() == last->second.specs.size() &&
                    changes_first_sizes(call, last->second);
      }
    }
    if (is_reported(traces)) {
      const std::string text = fmt::format(
          "tenure: function \"{}\" ({}) has been traced {} times, now because: {}{}", options_.name,
          tenure::to_string(site_), traces, reason,
          may_batch ? "; if only the first size changes, name the tensors in .batched" : "");
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
  mutable ObjectMutex mutex_;
  std::optional<mem::Counted> counted_;  // while it has traces
  ProgramCache cache_;
  std::map<Signature, std::shared_ptr<Entry>> entries_;
  std::map<Signature, std::weak_ptr<const Traced>>
      traced_;                                   // by what was traced; entries hold them
  std::map<const char*, CallSignature> newest_;  // entry, by its variant's reason
  std::shared_ptr<Entry> latest_;                // of the last call: most are like the one before
  std::atomic<int> traces_{0};                   // since clear()
  std::atomic<int> numbers_{0};                  // of traces and of their variants
};

FunctionCore::FunctionCore(FunctionOptions options, Site site)
    : impl_(std::make_unique<Impl>(std::move(options), site)) {}

FunctionCore::~FunctionCore() = default;

FunctionCore::Result FunctionCore::call(Call& call, const Trace& trace,
                                        const Prepare& prepare) try {
  const auto prepared = [&prepare](Result result) {
    if (prepare) prepare(result.frame.get());
    return result;
  };
  // A trace takes in also what has no symbols: it may read variables, or draw random numbers.
  bool is_inline = ops::current_trace() != nullptr;
  for (const Tensor& tensor : call.tensors) {
    is_inline |= tensor.body("function", impl_->site()).symbol() != nullptr;
  }
  if (is_inline) return prepared(call_inline(call, trace));
  std::optional<Brought> brought;
  if (mem::has_other_devices()) brought.emplace(call.tensors, device_of(call), impl_->site());
  if (ops::current_tape() != nullptr) {
    if (auto result = call_taped(*this, call, trace)) return prepared(*std::move(result));
  }
  const Donations donations(call.tensors, call.ownership,
                            {"function", impl_->options().name, "tensor"});
  const auto entry = impl_->entry_for(call, donations.accepted(), trace);
  donations.require_use(entry->executable->plan());
  Result result = prepared({.frame = entry->traced->frame});
  result.tensors = entry->executable->run(call.tensors, impl_->options().name, impl_->site());
  entry->calls.fetch_add(1, std::memory_order_relaxed);
  return result;
} catch (Error& error) {
  mem::name_call(error, fmt::format("function \"{}\"", impl_->options().name), impl_->site());
  throw;
} catch (const std::bad_alloc&) {
  impl_->throw_no_memory();
}

Plan FunctionCore::plan(const Call& call, const Trace& trace) try {
  for (const Tensor& tensor : call.tensors) {
    static_cast<void>(tensor.body("plan", impl_->site()));
  }
  std::vector<bool> donated;
  for (const Call::Ownership ownership : call.ownership)
    donated.push_back(ownership != Call::Ownership::kept);
  return impl_->entry_for(call, donated, trace)->executable->plan();
} catch (Error& error) {
  mem::name_call(error, fmt::format("function \"{}\"", impl_->options().name), impl_->site());
  throw;
} catch (const std::bad_alloc&) {
  impl_->throw_no_memory();
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

void FunctionCore::forget(const std::vector<std::int64_t>& layout) { impl_->forget(layout); }

FunctionCore::Result FunctionCore::call_inline(const Call& call, const Trace& trace) const {
  for (std::size_t i = 0; i < call.ownership.size(); ++i) {
    if (call.ownership[i] != Call::Ownership::donated || call.tensors[i].is_symbolic()) continue;
    throw DonationError(
        fmt::format("function \"{}\": tensor {} cannot be donated to a call that a trace or nested "
                    "tapes take in",
                    impl_->options().name, i));
  }
  const TracingOnce once(impl_.get(), impl_->options().name, impl_->site());
  const auto symbol = std::find_if(call.tensors.begin(), call.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.is_symbolic(); });
  if (symbol == call.tensors.end()) return trace(call.tensors);
  const ops::GraphScope scope(*symbol, "function", impl_->site());
  return trace(call.tensors);
}

const FunctionOptions& FunctionCore::options() const { return impl_->options(); }
Site FunctionCore::site() const { return impl_->site(); }

FunctionCore::Result FunctionCore::trace_into(GraphState& graph, const std::vector<Tensor>& symbols,
                                              const Trace& trace) const {
  return impl_->trace_into(graph, symbols, trace);
}

CompiledTrace FunctionCore::compiled(const Call& call, const TraceVariant& variant) {
  const auto entry = impl_->entry_for(call, {}, {}, &variant);
  entry->calls.fetch_add(1, std::memory_order_relaxed);
  return {.traced = entry->traced, .executable = entry->executable};
}

namespace {

/// A symbol that nobody can compute with.
class SpecSymbol final : public Symbol {
 public:
  std::string describe() const override { return "a spec"; }
  const char* lack() const override { return "has no data: it is a shape and a type to plan with"; }
  std::shared_ptr<ops::Recorder> recorder(const char* user, Site site) const override {
    throw SymbolError(user, describe(), "can only be planned with", site, site);
  }
};

}  // namespace

Tensor spec_tensor(DType dtype, const Shape& shape, Site site) try {
  check_shape(shape, size_of(dtype), "spec");
  return make_symbolic(std::make_unique<SpecSymbol>(), dtype, shape, "spec", site,
                       default_device());
} catch (Error& error) {
  mem::name_call(error, "spec", site);
  throw;
}

}  // namespace tenure::graph
