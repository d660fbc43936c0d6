#include "tenure/memory/call.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "tenure/base/user_site.h"
#include "tenure/memory/name_path.h"
#include "tenure/memory/scope.h"
#include "tenure/memory/thread_context.h"

namespace tenure::mem {
namespace {

template <class... Types>
bool is_any(const Error& error) {
  return ((dynamic_cast<const Types*>(&error) != nullptr) || ...);
}

/// Whether the text names a place: of types that are made with one, or because an inner call was
/// named behind what the error was made with.
bool is_named(const Error& error) {
  const std::string_view text = error.what();
  const std::string_view made = error.std::runtime_error::what();
  return is_any<DisposedError, EmptyTensorError, SymbolError, GraphError, ClosedError>(error) ||
         text.substr(made.size()).find(" at ") != std::string_view::npos ||
         made.find("\n  at ") != std::string_view::npos;
}

}  // namespace

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
    if (is_named(error)) return false;
    const bool has_name = std::string_view(error.what()).starts_with(fmt::format("{}:", call));
    error.add_line(has_name ? fmt::format("at {}", place_of(site))
                            : fmt::format("in {} at {}", call, place_of(site)));
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace tenure::mem
