#include "tenure/graph/trace/trace_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "tenure/base/error.h"
#include "tenure/base/lasting.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/ops/core/call_context.h"

namespace tenure::graph {
namespace {

/// Those that hold traces. A function's traces have a bound, its cache's; functions have none.
mem::Population& functions_of_process() {
  static constinit Lasting<mem::Population> functions;
  return functions.get([] { return new mem::Population("function"); });
}

Signature begin_signature(const FunctionCore::Call& call, const TraceVariant* variant) {
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

bool serves(const TraceEntry& entry, const FunctionCore::Call& call,
            const std::vector<bool>& accepted, const TraceVariant* variant) {
  const CallSignature& signature = entry.signature;
  const auto fits = [&signature](const ops::Spec& spec, const Tensor& tensor) {
    return spec.dtype == tensor.dtype() && spec.shape == tensor.shape() &&
           signature.device == tensor.device();
  };
  const auto lies_so = [](const Strides& strides, const Tensor& tensor) {
    const TensorBody& body = tensor.body("function");
    return body.contiguous || body.symbol() != nullptr ? strides.empty() : strides == body.strides;
  };
  return std::equal(signature.specs.begin(), signature.specs.end(), call.tensors.begin(),
                    call.tensors.end(), fits) &&
         (!call.tensors.empty() || signature.device == default_device()) &&
         std::equal(signature.strides.begin(), signature.strides.end(), call.tensors.begin(),
                    lies_so) &&
         signature.layout == call.layout && entry.donated == accepted &&
         signature.autocast == ops::call_context().autocast &&
         (variant == nullptr ? signature.variant.empty() : signature.variant == variant->key);
}

}  // namespace

TraceCache::TraceCache(const FunctionOptions& options, Site site)
    : options_(options), site_(site), cache_(options.cache_limit) {}

std::shared_ptr<TraceEntry> TraceCache::entry_for(const Call& call,
                                                  const std::vector<bool>& donated,
                                                  const Trace& trace, const TraceVariant* variant) {
  {
    const std::lock_guard lock(mutex_);
    if (latest_ != nullptr && serves(*latest_, call, donated, variant)) return latest_;
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
  std::shared_ptr<TraceEntry> entry = make_entry(call, donated, trace, variant);
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

std::vector<TraceInfo> TraceCache::traces() const {
  const std::lock_guard lock(mutex_);
  std::vector<TraceInfo> infos;
  std::vector<const TraceEntry*> oldest_first;
  for (const auto& [signature, entry] : entries_) oldest_first.push_back(entry.get());
  std::sort(oldest_first.begin(), oldest_first.end(),
            [](const TraceEntry* a, const TraceEntry* b) { return a->number < b->number; });
  for (const TraceEntry* const entry : oldest_first) {
    infos.push_back(entry->info);
    infos.back().calls = entry->calls.load(std::memory_order_relaxed);
  }
  return infos;
}

void TraceCache::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
  traced_.clear();
  cache_.clear();
  newest_.clear();
  latest_.reset();
  counted_.reset();
  traces_ = 0;
}

void TraceCache::forget(const std::vector<std::int64_t>& layout) {
  std::vector<std::shared_ptr<TraceEntry>> gone;  // ends after the lock
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

std::vector<ops::Spec> TraceCache::open_specs(const Call& call) const {
  if (call.traced != nullptr) return call.traced->specs();
  for (const int i : options_.batched) {
    if (i >= 0 && static_cast<std::size_t>(i) < call.tensors.size()) continue;
    throw ValueError(fmt::format("function \"{}\": tensor {} is said to have a batch; there are {}",
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

std::shared_ptr<const Traced> TraceCache::find_traced(const Signature& key) {
  const std::lock_guard lock(mutex_);
  const auto found = traced_.find(key);
  return found == traced_.end() ? nullptr : found->second.lock();
}

void TraceCache::trace_for(TraceEntry& entry, const Call& call, const Trace& trace,
                           const TraceVariant* variant) {
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
  const int traces = ++traces_;
  TraceReason reason = reason_for(call, variant, traces);
  warn_of_trace(options_, site_, traces, reason);
  entry.info.reason = std::move(reason.text);
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

std::shared_ptr<TraceEntry> TraceCache::make_entry(const Call& call,
                                                   const std::vector<bool>& donated,
                                                   const Trace& trace,
                                                   const TraceVariant* variant) {
  auto entry = std::make_shared<TraceEntry>();
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

TraceReason TraceCache::reason_for(const Call& call, const TraceVariant* variant,
                                   int traces) const {
  const std::lock_guard lock(mutex_);
  if (variant == nullptr && traces > 1 && newest_.empty())
    return {.text = "no call before succeeded"};
  const auto last = newest_.find(variant == nullptr ? nullptr : variant->reason);
  return reason_of(call, variant, last == newest_.end() ? nullptr : &last->second,
                   options_.batched);
}

}  // namespace tenure::graph
