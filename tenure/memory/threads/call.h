#pragma once

#include <string>
#include <string_view>

#include "tenure/base/error.h"
#include "tenure/base/site.h"

namespace tenure::mem {

/// Where a call of this thread stands, for messages: "train.cpp:12 in scope block2/attention". What
/// the standard library calls for the user has no line of the program; the scope around it has.
std::string place_of(Site site);

/// Adds a line to an error of `call` at `site` that says so; false, and nothing done, if it names
/// another place already: the innermost knows best. So it is for an unknown site, which leaves it
/// to callers further out, and if memory is short.
bool name_call(Error& error, std::string_view call, Site site) noexcept;

/// Runs `f`; what it throws has the name and the line of the call that the user made.
template <class F>
decltype(auto) in_call(std::string_view call, Site site, const F& f) {
  try {
    return f();
  } catch (Error& error) {
    name_call(error, call, site);
    throw;
  }
}

}  // namespace tenure::mem
