#pragma once

#include <cstddef>
#include <functional>
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
// Results and arguments may be tensors, containers, queues and arrays of trees, what an optional, a
// variant, a unique_ptr or a shared_ptr holds or a reference_wrapper refers to, or plain structs
// whose members are trees (aggregates of up to 24 members). Numbers, texts and whatever else can be
// copied byte by byte are leaves. A type of another kind joins by a function `visit_tree(T&, f)` in
// its own namespace that calls f on each of its members; structs with more members, with arrays as
// members or with base classes must have one. Where tensors are looked for, a class of which nobody
// can tell whether it holds any (std::any, std::function, one with private members) is refused
// until it has one, empty if it holds none; so are pointers to tensors and iterators.

namespace tree {

struct AnyMember {
  template <class T>
  operator T() const;  // only named in requires-expressions
};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyMember{})...}; };
}

inline constexpr std::size_t kMaxMembers = 24;

/// How many members an aggregate has.
template <class T, std::size_t N = kMaxMembers>
constexpr std::size_t member_count() {
  if constexpr (N == 0) {
    return 0;
  } else if constexpr (takes<T>(std::make_index_sequence<N>{})) {
    return N;
  } else {
    return member_count<T, N - 1>();
  }
}

/// False where the members cannot be counted, as where one is a reference.
template <class T>
constexpr bool is_countable() {
  return std::is_empty_v<T> || member_count<T>() > 0;
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
  static_assert(!takes<Plain>(std::make_index_sequence<kMaxMembers + 1>{}),
                "this struct has more than 24 members: give it a visit_tree()");
  static_assert(!has_base<Plain>(), "this struct has a base class: give it a visit_tree()");
  constexpr std::size_t n = member_count<Plain>();
  static_assert(is_countable<Plain>(),
                "nobody can count the members of this struct, as where one is a reference: give it "
                "a visit_tree()");
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
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, g, h, i, j] = value;
    each(a, b, c, d, e, g, h, i, j);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, g, h, i, j, k] = value;
    each(a, b, c, d, e, g, h, i, j, k);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, g, h, i, j, k, l] = value;
    each(a, b, c, d, e, g, h, i, j, k, l);
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m);
  } else if constexpr (n == 13) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o);
  } else if constexpr (n == 14) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p);
  } else if constexpr (n == 15) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q);
  } else if constexpr (n == 16) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r);
  } else if constexpr (n == 17) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s);
  } else if constexpr (n == 18) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t);
  } else if constexpr (n == 19) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u);
  } else if constexpr (n == 20) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v);
  } else if constexpr (n == 21) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w);
  } else if constexpr (n == 22) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x);
  } else if constexpr (n == 23) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y);
  } else if constexpr (n == 24) {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, z] = value;
    each(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, z);
  }
}

template <class T>
concept Range = requires(T& t) {
  t.begin();
  t.end();
  std::distance(t.begin(), t.end());
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

template <class T>
inline constexpr bool is_reference = false;
template <class T>
inline constexpr bool is_reference<std::reference_wrapper<T>> = true;

/// std::queue, std::stack, std::priority_queue.
template <class T>
concept Adaptor = !Range<T> && requires(T & t) {
  typename T::container_type;
  t.pop();
  t.size();
};
/// Its container, which is protected and not private so that derived classes may.
template <class T>
struct Adapted : T {
  static auto& of(T& adaptor) { return adaptor.*(&Adapted::c); }
  static const auto& of(const T& adaptor) { return adaptor.*(&Adapted::c); }
};

template <class T>
using Element = std::remove_cvref_t<decltype(*std::declval<T&>().begin())>;
/// A range of numbers, of bits, or of things like itself, as a path is.
template <class T>
constexpr bool is_plain_range() {
  if constexpr (requires { typename std::remove_cv_t<T>::value_type; }) {
    using Value = typename std::remove_cv_t<T>::value_type;
    return std::is_arithmetic_v<Value> || std::is_same_v<Value, std::remove_cv_t<T>>;
  } else {
    return std::is_arithmetic_v<Element<T>> || std::is_same_v<Element<T>, std::remove_cv_t<T>>;
  }
}

/// A class whose tensors no scope disposes: variables, and what consists of them.
template <class T>
concept KeepsItsTensors = requires {
  typename T::KeepsItsTensors;
};

/// A pointer to a tensor or to a list of them, or an iterator: it may outlive what it points to, so
/// that nobody should look there.
template <class T>
constexpr bool points_to_tensors() {
  if constexpr (requires(T & t) { *t; }) {
    using Target = std::remove_cvref_t<decltype(*std::declval<T&>())>;
    if constexpr (std::is_same_v<Target, Tensor>) {
      return true;
    } else if constexpr (Range<Target>) {
      return std::is_same_v<Element<Target>, Tensor>;
    }
  }
  return false;
}

/// Whether a leaf may hold tensors that nobody sees.
template <class T>
constexpr bool is_opaque() {
  if constexpr (points_to_tensors<T>()) {
    return true;
  } else if constexpr (!std::is_class_v<T> || std::is_trivially_copyable_v<T> ||
                       std::is_empty_v<T> || KeepsItsTensors<T>) {
    return false;
  } else if constexpr (Range<T>) {
    return !is_plain_range<T>();
  } else {
    return true;
  }
}

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
  } else if constexpr (tree::is_reference<Plain>) {
    below(value.get());
  } else if constexpr (tree::Adaptor<Plain>) {
    below(tree::Adapted<Plain>::of(value));
  } else if constexpr (tree::Range<T>) {
    if constexpr (tree::is_plain_range<T>()) {
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
    using Leaf = std::remove_cvref_t<decltype(leaf)>;
    if constexpr (std::is_same_v<Leaf, Tensor>) {
      f(leaf);
    } else {
      static_assert(!tree::is_opaque<Leaf>(),
                    "nobody can tell whether this class holds tensors: return or pass the tensors "
                    "themselves, or give it a visit_tree(), an empty one if it holds none");
    }
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
