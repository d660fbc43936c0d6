#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "tenure/base/error.h"

namespace tenure {

/// A handle was used after what it stood for had been moved to another one.
class EmptyHandleError : public Error {
 public:
  /// `made` is where what it stood for was made: calls that know no line of their own, as those of
  /// accessors and operators, have that one to tell.
  EmptyHandleError(const std::string& what, Site made)
      : Error("the " + what + " made at " + to_string(made) +
              " was moved away from here; use the one that it was moved to") {}
};

/// A text as a template's argument.
template <std::size_t n>
struct HandleName {
  constexpr HandleName(const char (&name)[n]) {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < n; ++i) text[i] = name[i];
  }
  char text[n]{};
};

/// What the copies of a public class share. Moving leaves none behind, and to use that throws
/// EmptyHandleError: `Handle<State, "variable"> state_;`
template <class T, HandleName name>
class Handle {
 public:
  Handle() = default;
  Handle(std::shared_ptr<T> state, Site made) : state_(std::move(state)), made_(made) {}

  const std::shared_ptr<T>& shared() const {
    if (state_ == nullptr) [[unlikely]]
      throw EmptyHandleError(name.text, made_);
    return state_;
  }
  T& operator*() const { return *shared(); }
  T* operator->() const { return shared().get(); }

 private:
  std::shared_ptr<T> state_;
  Site made_{};  // stays when the state is moved away
};

}  // namespace tenure
