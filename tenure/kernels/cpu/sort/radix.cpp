#include "tenure/kernels/cpu/sort/radix.h"

#include <array>
#include <cstddef>
#include <utility>

namespace tenure::kernels::sort {
namespace {

// Below this, the histograms cost more than insertion.
constexpr std::int64_t kInsertion = 48;
constexpr std::size_t kDigits = 256;

template <class Item>
void insertion_sort(Item* items, std::int64_t n) {
  for (std::int64_t i = 1; i < n; ++i) {
    const Item item = items[i];
    std::int64_t j = i;
    for (; j > 0 && key_of(items[j - 1]) > key_of(item); --j) items[j] = items[j - 1];
    items[j] = item;
  }
}

}  // namespace

template <class Item>
Item* radix_sort(Item* a, Item* b, std::int64_t n) {
  if (n <= kInsertion) {
    insertion_sort(a, n);
    return a;
  }
  constexpr std::size_t passes = sizeof(decltype(key_of(*a)));
  std::array<std::array<std::int64_t, kDigits>, passes> places{};
  for (std::int64_t i = 0; i < n; ++i) {
    auto key = static_cast<std::uint64_t>(key_of(a[i]));
    for (std::size_t p = 0; p < passes; ++p, key >>= 8) ++places[p][key & 0xff];
  }
  for (std::size_t p = 0; p < passes; ++p) {
    const auto digit = [p](const Item& item) {
      return static_cast<std::uint64_t>(key_of(item)) >> (8 * p) & 0xff;
    };
    auto& place = places[p];
    if (place[digit(a[0])] == n) continue;  // All keys share this digit.
    std::int64_t next = 0;
    for (std::int64_t& count : place) next += std::exchange(count, next);
    for (std::int64_t i = 0; i < n; ++i) b[place[digit(a[i])]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

#define TENURE_RADIX(U)                                                                            \
  template U* radix_sort(U*, U*, std::int64_t);                                                    \
  template Keyed<U, std::uint32_t>* radix_sort(Keyed<U, std::uint32_t>*, Keyed<U, std::uint32_t>*, \
                                               std::int64_t);                                      \
  template Keyed<U, std::uint64_t>* radix_sort(Keyed<U, std::uint64_t>*, Keyed<U, std::uint64_t>*, \
                                               std::int64_t);
TENURE_RADIX(std::uint8_t)
TENURE_RADIX(std::uint16_t)
TENURE_RADIX(std::uint32_t)
TENURE_RADIX(std::uint64_t)
#undef TENURE_RADIX

}  // namespace tenure::kernels::sort
