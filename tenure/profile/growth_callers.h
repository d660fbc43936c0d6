#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tenure/profile/growth.h"

namespace tenure::profile {

/// How many of the tensors that a line left were made by which calls (stacks of the recording), as
/// far as that was looked at; if at none of them, of all that it made. Then callers are known only
/// where all had the same.
struct CallsSeen {
  std::map<std::uint32_t, std::int64_t> stacks{};
  bool is_of_all = false;
};

/// Says of lines that grow who called them: by what was seen of each, or by their origins where the
/// recording has the calls of all.
void name_callers(std::vector<Growth>& growing, const std::vector<CallsSeen>& seen,
                  const Recorded& recorded);

}  // namespace tenure::profile
