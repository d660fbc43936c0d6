#include "tenure/profile/text.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "tenure/profile/profile.h"

namespace tenure::profile {
namespace {

/// Bytes of the well-formed UTF-8 character that `text` begins with; 0: there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool is_short = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_outside = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return is_short || is_outside ? 0 : length;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const char c = text[0];
    if (length == 0) {
      result += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result + '"';
}

std::string plain(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    // C1 controls are commands to some terminals too.
    const bool is_control =
        c < 0x20 || c == 0x7f ||
        (length == 2 && c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (length == 0 || is_control) {
      result += '?';
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string base64(std::string_view bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  result.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t there = std::min<std::size_t>(3, bytes.size() - i);
    unsigned group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < there ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      result += j <= there ? digits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return result;
}

std::string packed(std::string_view bytes, Packing packing) {
  constexpr int kFast = 3;
  z_stream stream{};
  const int window = packing == Packing::gzip ? 15 + 16 : 15;
  if (deflateInit2(&stream, kFast, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw ProfileError("there is no memory to compress with");
  }
  std::string result(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  constexpr std::size_t kMost = std::size_t{1} << 30;  // zlib counts in 32 bits
  std::size_t written = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const std::size_t part = std::min(kMost, bytes.size());
    const std::size_t room = std::min(kMost, result.size() - written);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(part);
    stream.next_out = reinterpret_cast<Bytef*>(result.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    status = deflate(&stream, part == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    bytes.remove_prefix(part - stream.avail_in);
    written += room - stream.avail_out;
    if (status == Z_STREAM_ERROR || (status == Z_BUF_ERROR && room == 0)) break;
  }
  deflateEnd(&stream);
  internal_check(status == Z_STREAM_END, "compression comes to an end");
  result.resize(written);
  return result;
}

}  // namespace tenure::profile
