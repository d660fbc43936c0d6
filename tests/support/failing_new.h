#pragma once

#include <cstdint>

namespace tenure::test {

/// Makes the n-th `new` of this thread from now on throw std::bad_alloc, whoever asks: Tenure, the
/// standard library, a library between them. n counts from 1. Only in programs that link it, whose
/// `new` it replaces.
class FailingNew {
 public:
  explicit FailingNew(std::int64_t n);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
  /// Whether it has happened.
  bool fired() const;
};

}  // namespace tenure::test
