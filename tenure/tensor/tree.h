#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "tenure/memory/scope.h"
#include "tenure/tensor/tensor.h"

namespace tenure {

// Note: trees of tensors
//
// Results and arguments may be tensors, containers and arrays of trees, what an optional, a
// variant, a unique_ptr or a shared_ptr holds, or plain structs whose members are trees (aggregates
// of up to eight members). Anything else is a leaf without tensors. A type of another kind joins by
// a function `visit_tree(T&, f)` in its own namespace that calls f on each of its members; structs
// with more members, with arrays as members or with base classes must have one.

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

/// Only a base class of T.
template <class T>
struct AnyBase {
  template <class Base>
  requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>) operator Base() const;
};
template <class T>
constexpr bool has_base() {
  return requires { T{AnyBase<T>{}}; };
}

/// Whether T takes {} in place `before` and `after` more initializers behind it.
template <class T, std::size_t... Before, std::size_t... After>
constexpr bool takes_braces(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires {
    T{(static_cast<void>(Before), AnyMember{})..., {}, (static_cast<void>(After), AnyMember{})...};
  };
}

/// Whether member `at` of n is an array of several: its elements count as members, and {} stands
/// for all of them.
template <class T, std::size_t n, std::size_t at, std::size_t size = 1>
constexpr bool is_array_member() {
  if constexpr (at + size > n) {
    return false;
  } else if constexpr (takes_braces<T>(std::make_index_sequence<at>{},
                                       std::make_index_sequence<n - at - size>{})) {
    return size > 1;
  } else {
    return is_array_member<T, n, at, size + 1>();
  }
}
template <class T, std::size_t n, std::size_t... I>
constexpr bool has_array_member(std::index_sequence<I...>) {
  return (is_array_member<T, n, I>() || ...);
}

template <class T, class F>
void visit_members(T& value, const F& f) {
  using Plain = std::remove_cv_t<T>;
  static_assert(!takes<Plain>(std::make_index_sequence<9>{}),
                "this struct has more than eight members: give it a visit_tree()");
  static_assert(!has_base<Plain>(), "this struct has a base class: give it a visit_tree()");
  constexpr std::size_t n = member_count<Plain>();
  static_assert(!has_array_member<Plain, n>(std::make_index_sequence<n>{}),
                "this struct has an array as a member: use std::array, or give it a visit_tree()");
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
template <class T>
concept Variant = requires {
  std::variant_size<std::remove_cv_t<T>>::value;
};

template <class T>
inline constexpr bool is_owner = false;
template <class T, class D>
inline constexpr bool is_owner<std::unique_ptr<T, D>> = !std::is_array_v<T>;
template <class T>
inline constexpr bool is_owner<std::shared_ptr<T>> = !std::is_array_v<T> && !std::is_void_v<T>;

}  // namespace tree

/// Calls `f(leaf)` on every part of a tree that has no parts itself, in order: tensors, numbers,
/// texts and lists of numbers, and what else is no tree. Where `f` has it, `f.enter(n)` is told how
/// many parts a container has, or which one a variant.
template <class T, class F>
void for_each_leaf(T& value, const F& f) {
  using Plain = std::remove_cv_t<T>;
  const auto below = [&f](auto& member) { for_each_leaf(member, f); };
  const auto enter = [&f](std::size_t n) {
    if constexpr (requires { f.enter(n); }) f.enter(n);
  };
  if constexpr (std::is_same_v<Plain, Tensor>) {
    f(value);
  } else if constexpr (tree::HasVisitor<T>) {
    visit_tree(value, below);
  } else if constexpr (tree::is_owner<Plain>) {
    enter(value != nullptr ? 1 : 0);
    if (value != nullptr) below(*value);
  } else if constexpr (tree::Variant<T>) {
    enter(value.index());
    if (!value.valueless_by_exception()) std::visit(below, value);
  } else if constexpr (std::is_array_v<Plain>) {
    for (auto& member : value) below(member);
  } else if constexpr (tree::TupleLike<T>) {
    std::apply([&](auto&... members) { (below(members), ...); }, value);
  } else if constexpr (tree::Range<T>) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(*value.begin())>>) {
      f(value);
    } else {
      enter(static_cast<std::size_t>(std::distance(value.begin(), value.end())));
      for (auto& member : value) below(member);
    }
  } else if constexpr (requires {
                         typename Plain::value_type;
                         value.has_value();
                       }) {
    enter(value.has_value() ? 1 : 0);
    if (value.has_value()) below(*value);
  } else if constexpr (std::is_aggregate_v<Plain>) {
    tree::visit_members(value, below);
  } else {
    f(value);
  }
}

/// Calls `f(tensor)` on every tensor of a tree, in order.
template <class T, class F>
void for_each_tensor(T& value, const F& f) {
  for_each_leaf(value, [&f](auto& leaf) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, Tensor>) f(leaf);
  });
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
