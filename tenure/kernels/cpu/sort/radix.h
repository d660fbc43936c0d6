#pragma once

#include <cstdint>

namespace tenure::kernels::sort {

/// A key and the place it came from.
template <class U, class I>
struct Keyed {
  U key;
  I index;
};

template <class U>
U key_of(U item) {
  return item;
}
template <class U, class I>
U key_of(const Keyed<U, I>& item) {
  return item.key;
}

/// Sorts the n items at `a` stably by key, with as much room at `b`. Returns a or b: where the
/// result is. An item is an unsigned integer or a Keyed. Defined for keys of 1, 2, 4 and 8 bytes
/// and places of 4 and 8.
template <class Item>
Item* radix_sort(Item* a, Item* b, std::int64_t n);

}  // namespace tenure::kernels::sort
