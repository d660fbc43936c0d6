#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/memory/kinds.h"

namespace tenure::mem {

class BudgetAccount;

/// Throws an OutOfMemory that lists the largest live holders on the device that has no more.
/// `refusing` may be null; else it is a budget of that device.
[[noreturn]] void throw_out_of_memory(OutOfMemory::Cause cause, std::size_t requested,
                                      const BudgetAccount* refusing, Device device = cpu);

/// What `f` gives. Where the standard library finds no memory for its containers and texts, that is
/// an OutOfMemory too.
template <class F>
decltype(auto) or_out_of_memory(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(OutOfMemory::Cause::system, 0, nullptr);
  }
}

}  // namespace tenure::mem
