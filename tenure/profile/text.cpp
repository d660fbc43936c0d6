#include "tenure/profile/text.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "tenure/profile/profile.h"

namespace tenure::profile {

std::string valid_utf8(std::string_view text) {
  std::string result;
  for (;;) {
    const std::size_t end = find_invalid_utf8(text);
    result += text.substr(0, end);
    if (end == std::string_view::npos) return result;
    result += "\xef\xbf\xbd";
    text.remove_prefix(end + 1);
  }
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.0f} us", seconds * 1e6);
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
