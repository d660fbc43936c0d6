#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tenure/graph/function.h"

namespace tenure::graph {

/// What a call's donations are of, for messages.
struct Receiver {
  const char* what;  ///< "function"
  const std::string& name;
  const char* item;  ///< "tensor"
};

/// Which tensors of a call may be computed in.
class Donations {
 public:
  /// Throws DonationError for a tensor given by donate() that somebody else holds, or that is no
  /// whole storage.
  Donations(std::span<const Tensor> tensors, std::span<const Ownership> ownership,
            const Receiver& receiver);

  /// Per tensor; empty: none.
  const std::vector<bool>& accepted() const { return accepted_; }
  /// Throws DonationError for a tensor given by donate() that the plan has no use for.
  void require_use(const Plan& plan) const {
    if (!accepted_.empty()) require_each(plan);
  }

 private:
  void require_each(const Plan& plan) const;
  [[noreturn]] void refuse(std::size_t i, const std::string& reason) const;

  std::span<const Tensor> tensors_;
  std::span<const Ownership> ownership_;
  Receiver receiver_;
  std::vector<bool> accepted_;
};

}  // namespace tenure::graph
