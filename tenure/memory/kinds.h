#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure {

/// Where a storage lives.
struct Device {
  enum class Kind : std::uint8_t {
    cpu,
    cuda,
    test,    ///< of the library's own tests
    pinned,  ///< memory of the host's that copies to and from the GPU of this index go through
  };
  Kind kind = Kind::cpu;
  std::uint8_t index = 0;
  /// As one word: every allocation asks it.
  friend constexpr bool operator==(Device a, Device b) {
    return std::bit_cast<std::uint16_t>(a) == std::bit_cast<std::uint16_t>(b);
  }
};
inline constexpr Device cpu{};

/// What a storage is for; the ledger counts each apart.
enum class Category : std::uint8_t {
  activation,
  parameter,
  gradient,
  optimizer,
  workspace,
  cache,
};
inline constexpr int kCategories = 6;

/// What kind of owner keeps a reference to a storage.
enum class HolderKind : std::uint8_t {
  user,
  view,
  tape,
  variable,
  optimizer,
  constant,
  session,
  cache,
};

constexpr std::string_view name_of(Category category) {
  constexpr std::string_view names[] = {"activation", "parameter", "gradient",
                                        "optimizer",  "workspace", "cache"};
  return names[static_cast<int>(category)];
}
constexpr std::string_view name_of(HolderKind kind) {
  constexpr std::string_view names[] = {"user",      "view",     "tape",    "variable",
                                        "optimizer", "constant", "session", "cache"};
  return names[static_cast<int>(kind)];
}
/// "cpu", "cuda:1"
std::string name_of(Device device);

}  // namespace tenure
