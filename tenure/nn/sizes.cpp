#include "tenure/nn/sizes.h"

#include <fmt/format.h>

#include "tenure/base/error.h"
#include "tenure/memory/threads/call.h"

namespace tenure::nn {

void require_positive(const char* what, std::initializer_list<std::int64_t> sizes, Site site) {
  mem::in_call(what, site, [&] {
    for (const std::int64_t size : sizes) {
      if (size <= 0) {
        throw ValueError(fmt::format("{}: a size of {}; sizes are positive", what, size));
      }
    }
  });
}

}  // namespace tenure::nn
