#include "tenure/base/user_site.h"

#include <string_view>

namespace tenure {

Site user_site(Site site) noexcept {
  const std::string_view file = site.file_name();
  const bool is_library = file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
                          file.find("/include/c++/") != std::string_view::npos;
  return is_library ? Site() : site;
}

}  // namespace tenure
