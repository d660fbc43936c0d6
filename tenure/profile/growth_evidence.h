#pragma once

#include <cstdint>
#include <vector>

#include "tenure/profile/growth.h"
#include "tenure/profile/growth_lines.h"

namespace tenure::profile {

/// Of lines that grow: which of their scopes left most, who called them, who holds what they left.
/// `last_ns` is when that is looked at.
class Evidence {
 public:
  Evidence(const History& history, Lines& lines, std::int64_t last_ns)
      : history_(history), lines_(lines), last_(last_ns) {}
  /// Fills in origin, function, callers and holders.
  void add_to(std::vector<Growth>& growing);

 private:
  bool is_left(const TensorLife& tensor) const;
  void choose_origins(std::vector<Growth>& growing);
  void find_callers(std::vector<Growth>& growing);
  void find_holders(std::vector<Growth>& growing);

  const History& history_;
  Lines& lines_;
  const std::int64_t last_;
};

/// Says of holders that are a tape which one that is, where only one has more and more values.
void name_tapes(std::vector<Growth>& growing);

}  // namespace tenure::profile
