#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "tenure/ops/core/attributes.h"

// Note: how an optimizer's update is written
//
// An update changes the elements of a parameter and of its state by those of a gradient, one by
// one: an elementwise op of several outputs, each in the memory of its input. It is one struct in
// updates-inl.h with a line in the list there, which makes its record, its kernels and the public
// function. A call has the tensors that the update changes first, then the gradient, the rate and,
// if the update counts them, the number of the step; its attributes are the options.
//
//   name, signature, doc  as of every op
//   each                  the options in the order of the signature: how they become attributes,
//   and
//                         attributes become them
//   change                the body, a template in the kind of value (elementwise/value_kinds.h):
//                         changes an element of the parameter and of each state by one of the
//                         gradient. It is a function of update_bodies-inl.h, which devices read
//   element               the same in long double, as it would be written down: the reference
//   settings              options that the tests call it with
//
// What a body needs of the options and the step, such as a corrected rate, is a member that the
// struct's constructor computes, once for a call.

namespace tenure::ops {

/// A parameter x[0] and its state x[1...], one element of each.
using UpdateElements = std::array<long double, 3>;

/// What all updates have: how many tensors they change, and what they compute with.
template <std::size_t n, class OptionsType, bool counts = false>
struct Update {
  using Options = OptionsType;
  static constexpr std::size_t tensors = n;
  static constexpr bool counts_steps = counts;
  static_assert(n <= std::tuple_size_v<UpdateElements>);

  Update(const Options& given, double rate_given, double /*step*/)
      : options(given), rate(rate_given) {}

  Options options;
  double rate;
};

template <class Op>
Attributes attributes_of(const typename Op::Options& options) {
  return std::apply([](const auto&... values) { return Attributes(values...); }, Op::each(options));
}

template <class Op>
typename Op::Options options_of(const Attributes& attributes) {
  typename Op::Options options;
  int i = 0;
  const auto read = [&](auto& value) {
    value = attributes.get<std::remove_reference_t<decltype(value)>>(i++);
  };
  std::apply([&](auto&... values) { (read(values), ...); }, Op::each(options));
  return options;
}

}  // namespace tenure::ops
