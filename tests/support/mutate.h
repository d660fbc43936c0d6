#pragma once

#include <random>
#include <string>

namespace tenure::test {

/// `content` with a few bytes changed, cut off, doubled or taken out; the same for the same engine.
inline std::string mutated(std::string content, std::mt19937& engine) {
  const auto below = [&engine](std::size_t n) { return n == 0 ? 0 : engine() % n; };
  for (std::size_t changes = 1 + below(4); changes > 0 && !content.empty(); --changes) {
    const std::size_t at = below(content.size());
    const std::size_t size = 1 + below(8);
    switch (below(8)) {
      case 0:
        content.resize(at);
        break;
      case 1:
        content.erase(at, size);
        break;
      case 2:
        content.insert(at, content.substr(below(content.size()), size));
        break;
      case 3:
        content.replace(at, size, std::string(size, '\xff'));
        break;
      case 4:  // a digit for a digit, where there is one
        for (std::size_t i = at; i < content.size(); ++i) {
          if (content[i] < '0' || content[i] > '9') continue;
          content[i] = static_cast<char>('0' + below(10));
          break;
        }
        break;
      default:
        content[at] = static_cast<char>(below(256));
    }
  }
  return content;
}

}  // namespace tenure::test
