#pragma once

#include <concepts>
#include <utility>

#include "tenure/base/site.h"

namespace tenure {

/// What an operator[] is asked for, with the line that asks: operators take no default arguments.
template <class T>
struct Asked {
  template <std::convertible_to<T> U>
  Asked(U&& value, Site site = Site::current())  // NOLINT(google-explicit-constructor)
      : value(std::forward<U>(value)), site(site) {}

  T value;
  Site site;
};

}  // namespace tenure
