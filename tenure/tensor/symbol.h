#pragma once

#include <memory>
#include <string>

#include "tenure/base/site.h"
#include "tenure/memory/holders/tenant.h"

namespace tenure::ops {
class Recorder;
}

namespace tenure {

/// What a symbolic tensor stands for: a value that has no data until its graph runs.
class Symbol : public mem::TenantPart {
 public:
  /// `placeholder "x" of graph "model"`
  virtual std::string describe() const = 0;
  /// Why it has no data, after that; and what gives some.
  virtual const char* lack() const { return "has no data outside a run; run its graph for it"; }
  /// Where calls on it are recorded. Throws SymbolError in the name of `user` when they no longer
  /// can be: its graph is gone, or its trace has ended.
  virtual std::shared_ptr<ops::Recorder> recorder(const char* user, Site site) const = 0;
};

}  // namespace tenure
