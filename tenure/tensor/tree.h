#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tenure/memory/scope.h"
#include "tenure/tensor/tensor.h"

namespace tenure {

// Note: trees of tensors
//
// Results and arguments may be tensors, containers of trees, or plain structs whose members are
// trees (aggregates of up to eight members). Anything else is a leaf without tensors. A type of
// another kind joins by a function `visit_tree(T&, f)` in its own namespace that calls f on each of
// its members.

namespace tree {

struct AnyMember {
  template <class T>
  operator T() const;  // only named in requires-expressions
};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyMember{})...}; };
}

/// How many members an aggregate has, 0 to 8.
template <class T, std::size_t N = 8>
constexpr std::size_t member_count() {
  if constexpr (N == 0) {
    return 0;
  } else if constexpr (takes<T>(std::make_index_sequence<N>{})) {
    return N;
  } else {
    return member_count<T, N - 1>();
  }
}

template <class T, class F>
void visit_members(T& value, const F& f) {
  constexpr std::size_t n = member_count<std::remove_cv_t<T>>();
  const auto each = [&f](auto&... members) { (f(members), ...); };
  if constexpr (n == 1) {
    auto& [a] = value;
    each(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = value;
    each(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = value;
    each(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = value;
    each(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = value;
    each(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, g] = value;
    each(a, b, c, d, e, g);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, g, h] = value;
    each(a, b, c, d, e, g, h);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, g, h, i] = value;
    each(a, b, c, d, e, g, h, i);
  }
}

template <class T>
concept Range = requires(T& t) {
  t.begin();
  t.end();
};
template <class T>
concept TupleLike = requires {
  std::tuple_size<std::remove_cv_t<T>>::value;
};
template <class T>
concept HasVisitor = requires(T& t) {
  visit_tree(t, [](auto&) {});
};

}  // namespace tree

/// Calls `f(tensor)` on every tensor of a tree, in order.
template <class T, class F>
void for_each_tensor(T& value, const F& f) {
  using Plain = std::remove_cv_t<T>;
  const auto below = [&f](auto& member) { for_each_tensor(member, f); };
  if constexpr (std::is_same_v<Plain, Tensor>) {
    f(value);
  } else if constexpr (tree::HasVisitor<T>) {
    visit_tree(value, below);
  } else if constexpr (tree::TupleLike<T>) {
    std::apply([&](auto&... members) { (below(members), ...); }, value);
  } else if constexpr (tree::Range<T>) {
    if constexpr (!std::is_arithmetic_v<std::remove_cvref_t<decltype(*value.begin())>>) {
      for (auto& member : value) below(member);
    }
  } else if constexpr (requires {
                         typename Plain::value_type;
                         value.has_value();
                       }) {
    if (value.has_value()) below(*value);
  } else if constexpr (std::is_aggregate_v<Plain> && !std::is_array_v<Plain>) {
    tree::visit_members(value, below);
  }
}

/// Runs `fn` and disposes every tensor made in it on this thread, except those in its result and
/// those that were kept. Also when an exception leaves.
template <class F>
auto tidy(F&& fn, Site site = Site::current()) {
  Scope scope(site);
  if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
    std::forward<F>(fn)();
  } else {
    auto result = std::forward<F>(fn)();
    for_each_tensor(result, [&scope](const Tensor& tensor) {
      if (tensor.defined()) scope.escape(*tensor.body_or_null());
    });
    return result;
  }
}

}  // namespace tenure
