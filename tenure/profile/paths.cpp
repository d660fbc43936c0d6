#include "tenure/profile/paths.h"

#include <filesystem>
#include <system_error>

#include "tenure/base/user_site.h"

namespace tenure::profile {

std::string seen_from(std::string_view from, std::string_view path) {
  const std::filesystem::path target = std::filesystem::path(path).lexically_normal();
  const std::filesystem::path folder = std::filesystem::path(from).lexically_normal();
  if (!target.is_absolute() || !folder.is_absolute()) return std::string(path);
  const auto first = [](const std::filesystem::path& p) { return *p.relative_path().begin(); };
  if (!target.has_relative_path() || !folder.has_relative_path() ||
      first(target) != first(folder)) {
    return std::string(path);
  }
  return target.lexically_relative(folder).string();
}

RecordedPlace recorded_place(Site site) noexcept {
  const Site place = user_site(site);
  if (site.line() != 0 && place.line() == 0) return {.file = "(standard library)"};
  const char* const file = place.file_name();
  return {.file = file == nullptr ? "" : file, .line = static_cast<std::uint32_t>(place.line())};
}

std::string current_folder() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

}  // namespace tenure::profile
