#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "tenure/base/error.h"
#include "tenure/ops/linalg/einsum.h"

namespace tenure::ops {
namespace {

// Characters that no user writes stand for the dimensions of "...": the last one is kEllipsis, the
// one before it kEllipsis - 1, and so on, so that they align from the right.
constexpr char kEllipsis = '\x1f';

[[noreturn]] void fail(const std::string& text, const std::string& problem) {
  throw ValueError(fmt::format("einsum: \"{}\" {}", text, problem));
}

std::string without_spaces(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) result += c;
  }
  return result;
}

std::string ellipsis_letters(int dimensions) {
  std::string letters;
  for (int i = dimensions - 1; i >= 0; --i) letters += static_cast<char>(kEllipsis - i);
  return letters;
}

/// One term with "..." replaced by `dimensions` stand-ins.
std::string expand_term(const std::string& text, const std::string& term, int dimensions) {
  std::string letters;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      if (letters.find(kEllipsis) != std::string::npos) fail(text, "has \"...\" twice in a term");
      letters += ellipsis_letters(dimensions);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      letters += term[i];
    } else {
      fail(text, fmt::format("has an unexpected '{}'", term[i]));
    }
  }
  return letters;
}

std::vector<std::string> split_terms(const std::string& left) {
  std::vector<std::string> terms(1);
  for (const char c : left) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  return terms;
}

void check_sizes(const std::string& text, const Equation& equation, std::span<const Shape> shapes) {
  std::map<char, std::int64_t> sizes;
  for (std::size_t o = 0; o < shapes.size(); ++o) {
    for (int i = 0; i < shapes[o].size(); ++i) {
      const char letter = equation.operands[o][static_cast<std::size_t>(i)];
      const std::int64_t size = shapes[o][i];
      auto [it, added] = sizes.try_emplace(letter, size);
      if (added || it->second == size || (letter <= kEllipsis && size == 1)) continue;
      if (letter <= kEllipsis && it->second == 1) {
        it->second = size;
        continue;
      }
      throw ShapeError("einsum",
                       fmt::format("\"{}\": {} is {} in one place and {} in another", text,
                                   letter <= kEllipsis ? std::string("a dimension of \"...\"")
                                                       : fmt::format("'{}'", letter),
                                   it->second, size),
                       {shapes[o].to_vector()});
    }
  }
}

}  // namespace

Equation parse_equation(const std::string& original, std::span<const Shape> shapes) {
  const std::string text = without_spaces(original);
  const std::size_t arrow = text.find("->");
  const std::vector<std::string> terms = split_terms(text.substr(0, arrow));
  if (terms.size() != shapes.size()) {
    fail(original, fmt::format("has {} terms for {} tensors", terms.size(), shapes.size()));
  }
  Equation equation;
  int widest = 0;
  for (std::size_t o = 0; o < terms.size(); ++o) {
    const bool open = terms[o].find("...") != std::string::npos;
    const int named = static_cast<int>(terms[o].size()) - (open ? 3 : 0);
    const int rest = shapes[o].size() - named;
    if (rest < 0 || (rest > 0 && !open)) {
      fail(original, fmt::format("names {} dimensions of tensor {}, which has {}", named, o,
                                 shapes[o].size()));
    }
    widest = std::max(widest, rest);
    equation.operands.push_back(expand_term(original, terms[o], rest));
  }
  if (arrow != std::string::npos) {
    equation.result = expand_term(original, text.substr(arrow + 2), widest);
  } else {
    std::map<char, int> uses;
    for (const std::string& term : equation.operands) {
      for (const char c : term) ++uses[c];
    }
    equation.result = ellipsis_letters(widest);
    for (const auto& [letter, n] : uses) {
      if (n == 1 && letter > kEllipsis) equation.result += letter;
    }
  }
  for (const char c : equation.result) {
    if (std::count(equation.result.begin(), equation.result.end(), c) > 1) {
      fail(original, "has a letter twice in its result");
    }
    const bool known =
        c <= kEllipsis ||
        std::any_of(equation.operands.begin(), equation.operands.end(),
                    [c](const std::string& term) { return term.find(c) != std::string::npos; });
    if (!known) fail(original, fmt::format("has '{}' in its result alone", c));
  }
  check_sizes(original, equation, shapes);
  return equation;
}

}  // namespace tenure::ops
