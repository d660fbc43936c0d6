#pragma once

#include "tenure/base/site.h"

namespace tenure {

/// The site, or an unknown one if it lies in a header of the standard library: what std::accumulate
/// or std::make_unique calls is called for the user, who did not write their lines.
Site user_site(Site site) noexcept;

}  // namespace tenure
