#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tenure/base/object_mutex.h"
#include "tenure/graph/run/cache.h"
#include "tenure/graph/trace/call_signature.h"
#include "tenure/graph/trace/trace_reason.h"
#include "tenure/memory/accounts/population.h"

namespace tenure::graph {

/// A trace compiled for tensors of certain types and shapes, some of them donated.
struct TraceEntry {
  std::shared_ptr<const Traced> traced;
  std::shared_ptr<const Executable> executable;
  CallSignature signature;
  std::vector<bool> donated;
  TraceInfo info;
  int number = 0;
  std::atomic<std::int64_t> calls{0};
};

/// The traces of a function, with a bound on their bytes. What a call needs and is not there is
/// traced, or compiled of what was traced for other sizes.
class TraceCache {
 public:
  using Call = FunctionCore::Call;
  using Trace = FunctionCore::Trace;

  /// The options are the function's, and live as long as it.
  TraceCache(const FunctionOptions& options, Site site);

  /// `donated` tells which tensors the call may compute in; empty: none. The trace is of the
  /// variant, if there is one.
  std::shared_ptr<TraceEntry> entry_for(const Call& call, const std::vector<bool>& donated,
                                        const Trace& trace, const TraceVariant* variant = nullptr);
  std::vector<TraceInfo> traces() const;
  void clear();
  /// Those of calls with such a layout.
  void forget(const std::vector<std::int64_t>& layout);

 private:
  /// What is traced: the call's types and shapes, but for the sizes that are left open.
  std::vector<ops::Spec> open_specs(const Call& call) const;
  std::shared_ptr<const Traced> find_traced(const Signature& key);
  /// Finds what was traced for such a call, or traces it.
  void trace_for(TraceEntry& entry, const Call& call, const Trace& trace,
                 const TraceVariant* variant);
  std::shared_ptr<TraceEntry> make_entry(const Call& call, const std::vector<bool>& donated,
                                         const Trace& trace, const TraceVariant* variant);
  TraceReason reason_for(const Call& call, const TraceVariant* variant, int traces) const;

  const FunctionOptions& options_;
  const Site site_;
  mutable ObjectMutex mutex_;
  std::optional<mem::Counted> counted_;  // while it has traces
  ProgramCache cache_;
  std::map<Signature, std::shared_ptr<TraceEntry>> entries_;
  /// By what was traced; entries hold them.
  std::map<Signature, std::weak_ptr<const Traced>> traced_;
  /// What the newest entries were made for, by their variant's reason.
  std::map<const char*, CallSignature> newest_;
  std::shared_ptr<TraceEntry> latest_;  // of the last call: most are like the one before
  std::atomic<int> traces_{0};          // since clear()
  std::atomic<int> numbers_{0};         // of traces and of their variants
};

}  // namespace tenure::graph
