#include "tenure/graph/ir/probe_sizes.h"

#include <cstdlib>
#include <limits>
#include <variant>

namespace tenure::graph {
namespace {

constexpr std::int64_t kLarge = 131071;

void add_number(std::vector<std::int64_t>& numbers, std::int64_t number) {
  if (number == std::numeric_limits<std::int64_t>::min()) return;
  number = std::abs(number);
  if (number < 2 || number > kLargestSize) return;
  if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
}

/// The product of the known ones.
std::int64_t known_product(const Dims& dims) {
  std::int64_t product = 1;
  for (const std::int64_t d : dims) {
    if (d > 0 && __builtin_mul_overflow(product, d, &product)) return kLargestSize + 1;
  }
  return product;
}

}  // namespace

InPlay in_play(std::span<const ArgumentSpec> arguments, const ops::Attributes& attributes) {
  InPlay found;
  for (int i = 0; i < attributes.size(); ++i) {
    if (const auto* const number = std::get_if<std::int64_t>(&attributes[i])) {
      add_number(found.named, *number);
    } else if (const auto* const dims = std::get_if<Dims>(&attributes[i])) {
      for (const std::int64_t d : *dims) add_number(found.named, d);
      found.products.push_back(known_product(*dims));
    }
  }
  for (const ArgumentSpec& argument : arguments) {
    const Shape& shape = argument.spec.shape;
    for (const std::int64_t d : shape) add_number(found.sizes, d);
    (has_unknown(shape) ? found.known_elements : found.products).push_back(known_product(shape));
  }
  return found;
}

std::vector<std::int64_t> candidates_for(const InPlay& found) {
  constexpr std::size_t kCombined = 12;  // numbers that are added
  Candidates sizes;
  for (const std::int64_t small : kSmallSizes) sizes.add(small);
  std::vector<std::int64_t> numbers = found.named;
  for (const std::int64_t size : found.sizes) add_number(numbers, size);
  for (const std::int64_t number : numbers) sizes.add_around(number);
  for (const std::int64_t number : numbers) {
    for (const std::int64_t part : {2, 3, 4}) {  // gates of a cell, heads, groups
      if (number % part == 0) sizes.add(number / part);
      sizes.add(number * part);
    }
    for (const std::int64_t more : {2, 1}) sizes.add(2 * number - more);  // of half a spectrum
  }
  for (const std::int64_t product : found.products) {
    sizes.add(product);
    for (const std::int64_t known : found.known_elements) {
      if (product % known == 0) sizes.add(product / known);
    }
  }
  if (numbers.size() > kCombined) numbers.resize(kCombined);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::size_t j = i + 1; j < numbers.size(); ++j) {
      sizes.add(numbers[i] + numbers[j]);
      sizes.add(std::abs(numbers[i] - numbers[j]));
    }
  }
  sizes.add(kStandIn);
  sizes.add(kLarge);
  return sizes.all();
}

bool is_named(const InPlay& found, std::int64_t size) {
  return std::any_of(found.named.begin(), found.named.end(),
                     [&](std::int64_t number) { return std::abs(size - number) <= 1; });
}

bool is_explained(const InPlay& found, std::int64_t size) {
  const auto has = [&](const std::vector<std::int64_t>& list) {
    return std::find(list.begin(), list.end(), size) != list.end();
  };
  return size == 1 || has(found.sizes) || has(found.products);
}

}  // namespace tenure::graph
