#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tenure/graph/function.h"

namespace tenure::graph {

/// Which tensors of a call may be computed in.
class Donations {
 public:
  /// Throws DonationError for a tensor given by donate() that somebody else holds, or that is no
  /// whole storage.
  Donations(const FunctionCore::Call& call, const std::string& function);

  /// Per tensor; empty: none.
  const std::vector<bool>& accepted() const { return accepted_; }
  /// Throws DonationError for a tensor given by donate() that the plan has no use for.
  void require_use(const Plan& plan) const {
    if (!accepted_.empty()) require_each(plan);
  }

 private:
  void require_each(const Plan& plan) const;
  [[noreturn]] void refuse(std::size_t i, const std::string& reason) const;

  const FunctionCore::Call& call_;
  const std::string& function_;
  std::vector<bool> accepted_;
};

}  // namespace tenure::graph
