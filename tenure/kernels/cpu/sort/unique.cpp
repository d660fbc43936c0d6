#include <algorithm>

#include "tenure/kernels/cpu/index/loop.h"
#include "tenure/kernels/cpu/sort/keys.h"
#include "tenure/kernels/cpu/sort/radix.h"
#include "tenure/kernels/cpu/sort/scratch.h"
#include "tenure/kernels/cpu/sort/sort.h"

namespace tenure::kernels {
namespace {

using namespace sort;

template <class U>
U make_item(U key, std::int64_t, TypeTag<U>) {
  return key;
}
template <class U>
Keyed<U, std::uint64_t> make_item(U key, std::int64_t i, TypeTag<Keyed<U, std::uint64_t>>) {
  return {key, static_cast<std::uint64_t>(i)};
}

/// Calls `f(keys, TypeTag<Item>{})`.
template <class F>
auto visit_item(DType dtype, bool with_inverse, const F& f) {
  return visit_keys(dtype, [&]<class K>(const K& keys) {
    using U = typename K::U;
    return with_inverse ? f(keys, TypeTag<Keyed<U, std::uint64_t>>{}) : f(keys, TypeTag<U>{});
  });
}

template <class Item>
Item* items_in(std::span<std::byte> workspace, std::int64_t n) {
  const std::size_t bytes = 2 * static_cast<std::size_t>(n) * sizeof(Item);
  return reinterpret_cast<Item*>(align(workspace, bytes).data());
}

}  // namespace

std::size_t unique_workspace(const View& in, bool with_inverse) {
  const auto n = static_cast<std::size_t>(in.count());
  return visit_item(in.dtype, with_inverse, [n]<class Item>(const auto&, TypeTag<Item>) {
    return n == 0 ? 0 : 2 * n * sizeof(Item) + kAlignment;
  });
}

std::int64_t unique_count(const View& in, bool with_inverse, std::span<std::byte> workspace) {
  const std::int64_t n = in.count();
  if (n == 0) return 0;
  return visit_item(in.dtype, with_inverse,
                    [&]<class K, class Item>(const K& keys, TypeTag<Item> tag) {
                      Item* items = items_in<Item>(workspace, n);
                      const Row<typename K::U> elements{in.as<std::byte>(), 1};
                      std::int64_t i = 0;
                      index::make_loop(in.shape, in.strides).each(0, n, [&](const auto& at) {
                        items[i] = make_item(keys.encode(elements[at[0]]), i, tag);
                        ++i;
                      });
                      const Item* sorted = radix_sort(items, items + n, n);
                      if (sorted != items) std::copy_n(sorted, n, items);
                      std::int64_t found = 1;
                      for (i = 1; i < n; ++i) found += key_of(items[i]) != key_of(items[i - 1]);
                      return found;
                    });
}

void unique(const View& in, bool with_inverse, std::span<std::byte> workspace, const View& values,
            const View* inverse, const View* counts) {
  const std::int64_t n = in.count();
  internal_check(with_inverse || inverse == nullptr, "the inverse was prepared");
  if (n == 0) return;
  visit_item(in.dtype, with_inverse, [&]<class K, class Item>(const K& keys, TypeTag<Item>) {
    const Row<typename K::U> different{values.as<std::byte>(), 1};
    const Item* items = items_in<Item>(workspace, n);
    std::int64_t group = 0;
    for (std::int64_t begin = 0, end = 0; begin < n; begin = end, ++group) {
      const auto key = key_of(items[begin]);
      for (end = begin; end < n && key_of(items[end]) == key; ++end) {
        if constexpr (!std::is_integral_v<Item>) {
          if (inverse != nullptr) inverse->as<std::int64_t>()[items[end].index] = group;
        }
      }
      different.set(group, keys.decode(key));
      if (counts != nullptr) counts->as<std::int64_t>()[group] = end - begin;
    }
  });
}

}  // namespace tenure::kernels
