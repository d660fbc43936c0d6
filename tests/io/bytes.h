#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::test {

/// Bytes from pairs of hexadecimal digits.
inline std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// The bytes of a value as memory has them.
template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

/// A .npy file as NumPy writes it, for headers of up to 117 letters.
inline std::string npy(std::string header, std::string_view elements) {
  header.resize(117, ' ');
  return "\x93NUMPY" + std::string("\1\0v\0", 4) + header + '\n' + std::string(elements);
}

/// A safetensors file with this header, as it is.
inline std::string safetensors(std::string_view header, std::string_view data) {
  return bytes_of(std::uint64_t{header.size()}) + std::string(header) + std::string(data);
}

}  // namespace tenure::test
