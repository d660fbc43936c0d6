#pragma once

#include <type_traits>

namespace tenure {

/// An argument that is given to a call for good, and whose memory must be of use to it.
template <class T>
struct Donation {
  T& argument;
};

/// Gives a tensor, or a tree of them, to a function or a session's run for good, like std::move,
/// but the call throws DonationError unless it can compute in the memory of each: somebody else
/// holds the data, it is a part of a larger tensor, or nothing that is computed fits there. Then
/// all stay as they are.
template <class T>
Donation<std::remove_reference_t<T>> donate(T&& argument) {
  return {argument};
}

}  // namespace tenure
