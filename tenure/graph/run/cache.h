#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "tenure/graph/run/executable.h"

namespace tenure::graph {

/// What tells one compiled program from another: the values asked for, and what is given.
using Signature = std::vector<std::int64_t>;

void append(Signature& signature, const ops::Spec& spec);
void append(Signature& signature, const Strides& strides);

/// Compiled programs, the least recently used ones dropped when they pass a limit in bytes. A
/// program that is running stays until it is done.
class ProgramCache {
 public:
  explicit ProgramCache(std::int64_t limit) : limit_(limit) {}

  std::shared_ptr<const Executable> find(const Signature& signature);
  /// `bytes` is what it takes with all that comes with it.
  void insert(const Signature& signature, std::shared_ptr<const Executable> executable,
              std::int64_t bytes);
  bool contains(const Signature& signature) const { return entries_.contains(signature); }
  void erase(const Signature& signature);
  void clear();
  std::int64_t bytes() const { return bytes_; }
  std::size_t size() const { return entries_.size(); }
  std::int64_t limit() const { return limit_; }
  void set_limit(std::int64_t bytes);

 private:
  struct Entry {
    std::shared_ptr<const Executable> executable;
    std::int64_t bytes = 0;
    std::list<const Signature*>::iterator use;
  };
  void shrink();

  std::int64_t limit_;
  std::int64_t bytes_ = 0;
  std::map<Signature, Entry> entries_;
  std::list<const Signature*> uses_;  // the most recent first
};

}  // namespace tenure::graph
