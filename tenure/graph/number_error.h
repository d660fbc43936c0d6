#pragma once

#include <cstdint>
#include <string>

#include "tenure/base/error.h"
#include "tenure/base/site.h"

namespace tenure {

/// A result is NaN or infinite, and the program was to be stopped by that.
class NumberError : public Error {
 public:
  NumberError(const std::string& maker, Site site, std::int64_t element)
      : Error("element " + std::to_string(element) + " of the result is not finite; made by " +
              maker),
        site_(site),
        element_(element) {}

  /// Where the op stands that made it.
  Site site() const { return site_; }
  std::int64_t element() const { return element_; }

 private:
  Site site_;
  std::int64_t element_;
};

}  // namespace tenure
