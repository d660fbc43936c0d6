#include "tenure/graph/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tenure/base/error.h"
#include "tenure/base/units.h"
#include "tenure/graph/place/donation.h"
#include "tenure/graph/run/brought.h"
#include "tenure/graph/trace/state.h"
#include "tenure/graph/trace/trace_cache.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/core/tape.h"

namespace tenure::graph {

class FunctionCore::Impl {
 public:
  Impl(FunctionOptions given, Site made)
      : options(std::move(given)), site(made), traces(options, made) {
    const std::string what = fmt::format("function \"{}\"", options.name);
    mem::require_in(mem::kAtLeastZero, what, {{"recompute", options.recompute}}, site);
    mem::require_least(what,
                       {{"effort", options.effort},
                        {"warn_after", options.warn_after, 0},
                        {"cache_limit", options.cache_limit, 0},
                        {"packed_limit", options.packed_limit, 0}},
                       site);
    for (const int i : options.batched) mem::require_least(what, {{"batched", i, 0}}, site);
  }

  /// Says in an error which function it is of.
  void name(Error& error) const {
    mem::name_call(error, fmt::format("function \"{}\"", options.name), site);
  }
  /// The standard library found no memory for what a call needs beside its data.
  [[noreturn]] void throw_no_memory() const {
    try {
      mem::throw_out_of_memory(OutOfMemory::Cause::system, 0, nullptr);
    } catch (Error& error) {
      name(error);
      throw;
    }
  }

  const FunctionOptions options;
  const Site site;
  TraceCache traces;
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
    is_inline |= tensor.body("function", impl_->site).symbol() != nullptr;
  }
  if (is_inline) return prepared(call_inline(call, trace));
  std::optional<Brought> brought;
  if (mem::has_other_devices()) brought.emplace(call.tensors, device_of(call), impl_->site);
  if (ops::current_tape() != nullptr) {
    if (auto result = call_taped(*this, call, trace)) return prepared(*std::move(result));
  }
  const Donations donations(call.tensors, call.ownership,
                            {"function", impl_->options.name, "tensor"});
  const auto entry = impl_->traces.entry_for(call, donations.accepted(), trace);
  donations.require_use(entry->executable->plan());
  Result result = prepared({.frame = entry->traced->frame});
  result.tensors = entry->executable->run(call.tensors, impl_->options.name, impl_->site);
  entry->calls.fetch_add(1, std::memory_order_relaxed);
  return result;
} catch (Error& error) {
  impl_->name(error);
  throw;
} catch (const std::bad_alloc&) {
  impl_->throw_no_memory();
}

Plan FunctionCore::plan(const Call& call, const Trace& trace) try {
  for (const Tensor& tensor : call.tensors) {
    static_cast<void>(tensor.body("plan", impl_->site));
  }
  std::vector<bool> donated;
  for (const Call::Ownership ownership : call.ownership)
    donated.push_back(ownership != Call::Ownership::kept);
  return impl_->traces.entry_for(call, donated, trace)->executable->plan();
} catch (Error& error) {
  impl_->name(error);
  throw;
} catch (const std::bad_alloc&) {
  impl_->throw_no_memory();
}

std::vector<TraceInfo> FunctionCore::traces() const { return impl_->traces.traces(); }

std::string FunctionCore::explain() const {
  const std::vector<TraceInfo> infos = traces();
  std::string text = fmt::format("function \"{}\": {} traces\n", impl_->options.name, infos.size());
  for (const TraceInfo& info : infos) {
    text += fmt::format("  {}: {}; {} calls, {} nodes, {}\n", info.signature, info.reason,
                        info.calls, info.nodes, format_bytes(info.bytes));
  }
  return text;
}

void FunctionCore::clear() { impl_->traces.clear(); }

void FunctionCore::forget(const std::vector<std::int64_t>& layout) { impl_->traces.forget(layout); }

FunctionCore::Result FunctionCore::call_inline(const Call& call, const Trace& trace) const {
  for (std::size_t i = 0; i < call.ownership.size(); ++i) {
    if (call.ownership[i] != Call::Ownership::donated || call.tensors[i].is_symbolic()) continue;
    throw DonationError(
        fmt::format("function \"{}\": tensor {} cannot be donated to a call that a trace or nested "
                    "tapes take in",
                    impl_->options.name, i));
  }
  const TracingOnce once(&impl_->traces, impl_->options.name, impl_->site);
  const auto symbol = std::find_if(call.tensors.begin(), call.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.is_symbolic(); });
  if (symbol == call.tensors.end()) return trace(call.tensors);
  const ops::GraphScope scope(*symbol, "function", impl_->site);
  return trace(call.tensors);
}

const FunctionOptions& FunctionCore::options() const { return impl_->options; }
Site FunctionCore::site() const { return impl_->site; }

FunctionCore::Result FunctionCore::trace_into(GraphState& graph, const std::vector<Tensor>& symbols,
                                              const Trace& trace) const {
  const TracingOnce once(&impl_->traces, impl_->options.name, impl_->site);
  const ops::TraceScope scope(&graph);
  return trace(symbols);
}

CompiledTrace FunctionCore::compiled(const Call& call, const TraceVariant& variant) {
  const auto entry = impl_->traces.entry_for(call, {}, {}, &variant);
  entry->calls.fetch_add(1, std::memory_order_relaxed);
  return {.traced = entry->traced, .executable = entry->executable};
}

}  // namespace tenure::graph
