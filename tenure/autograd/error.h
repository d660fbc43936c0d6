#pragma once

#include <string>

#include "tenure/base/error.h"

namespace tenure {

/// A gradient cannot be computed as asked: the tape was used up, a target does not depend on a
/// source, an op has no gradient.
class GradientError : public Error {
 public:
  GradientError(const std::string& problem, Site site)
      : Error(problem + "\n  at " + to_string(site), Placed{}), site_(site) {}

  Site site() const { return site_; }

 private:
  Site site_;
};

}  // namespace tenure
