#include "tenure/graph/run/cache.h"

#include <utility>

namespace tenure::graph {

void append(Signature& signature, const ops::Spec& spec) {
  signature.push_back(static_cast<std::int64_t>(spec.dtype));
  signature.push_back(spec.shape.size());
  signature.insert(signature.end(), spec.shape.begin(), spec.shape.end());
}

void append(Signature& signature, const Strides& strides) {
  signature.push_back(strides.size());
  signature.insert(signature.end(), strides.begin(), strides.end());
}

std::shared_ptr<const Executable> ProgramCache::find(const Signature& signature) {
  const auto found = entries_.find(signature);
  if (found == entries_.end()) return nullptr;
  uses_.splice(uses_.begin(), uses_, found->second.use);
  return found->second.executable;
}

void ProgramCache::insert(const Signature& signature, std::shared_ptr<const Executable> executable,
                          std::int64_t bytes) {
  const auto [entry, fresh] = entries_.try_emplace(signature);
  if (!fresh) return;  // another thread compiled it too
  uses_.push_front(&entry->first);
  entry->second = {.executable = std::move(executable), .bytes = bytes, .use = uses_.begin()};
  bytes_ += bytes;
  shrink();
}

void ProgramCache::shrink() {
  while (bytes_ > limit_ && entries_.size() > 1) {
    const Signature oldest = *uses_.back();
    erase(oldest);
  }
}

void ProgramCache::erase(const Signature& signature) {
  const auto found = entries_.find(signature);
  if (found == entries_.end()) return;
  bytes_ -= found->second.bytes;
  uses_.erase(found->second.use);
  entries_.erase(found);
}

void ProgramCache::set_limit(std::int64_t bytes) {
  limit_ = bytes;
  shrink();
}

void ProgramCache::clear() {
  entries_.clear();
  uses_.clear();
  bytes_ = 0;
}

}  // namespace tenure::graph
