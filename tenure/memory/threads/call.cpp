#include "tenure/memory/threads/call.h"

#include <fmt/format.h>

#include <string_view>

#include "tenure/base/user_site.h"
#include "tenure/memory/accounts/name_path.h"
#include "tenure/memory/callers.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/scope.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure::mem {

std::string place_of(Site site) {
  const ThreadContext& context = this_thread();
  std::string place = to_string(site);
  if (context.path != nullptr) return fmt::format("{} in scope {}", place, context.path->text());
  if (user_site(site).line() == 0 && context.scope != nullptr) {
    place += fmt::format(" in the scope that began at {}", to_string(context.scope->site));
  }
  return place;
}

bool name_call(Error& error, std::string_view call, Site site) noexcept {
  try {
    if (error.has_place() || site.line() == 0) return false;
    const bool has_name = std::string_view(error.what()).starts_with(fmt::format("{}:", call));
    error.add_place(has_name ? fmt::format("at {}", place_of(site))
                             : fmt::format("in {} at {}", call, place_of(site)));
    add_calls_here(error, "calls that led here");
    ThreadContext& context = this_thread();
    Observer* const o = observer(context);
    if (o != nullptr && dynamic_cast<const OutOfMemory*>(&error) != nullptr) {
      o->refusal_named(context, call, site);
    }
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace tenure::mem
