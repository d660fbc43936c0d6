#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// What the records of a zip archive consist of: little-endian numbers without gaps.

namespace tenure::io::zip {

inline constexpr std::uint32_t kLocalHeader = 0x04034b50;
inline constexpr std::uint32_t kListedEntry = 0x02014b50;
inline constexpr std::uint32_t kEnd = 0x06054b50;
inline constexpr std::uint32_t kEnd64 = 0x06064b50;
inline constexpr std::uint32_t kEnd64Place = 0x07064b50;

inline constexpr std::size_t kLocalHeaderSize = 30;
inline constexpr std::size_t kListedEntrySize = 46;
inline constexpr std::size_t kEndSize = 22;
inline constexpr std::size_t kEnd64Size = 56;
inline constexpr std::size_t kEnd64PlaceSize = 20;

/// Number of the extra field with 64-bit sizes.
inline constexpr std::uint16_t kExtra64 = 1;
/// Stands for a number that is in the extra field instead.
inline constexpr std::uint32_t kElsewhere = 0xffffffff;

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kDeflated = 8;
inline constexpr std::uint16_t kEncrypted = 1;   // a flag
inline constexpr std::uint16_t kUtf8 = 1 << 11;  // a flag: of the name

template <class T>
T read(std::string_view record, std::size_t at) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(record[at + i]));
  }
  return value;
}

/// A record in the making.
class Fields {
 public:
  template <class T>
  Fields& put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      text_ += static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * i & 0xff);
    }
    return *this;
  }
  Fields& put_text(std::string_view text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace tenure::io::zip
