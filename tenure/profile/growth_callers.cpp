#include "tenure/profile/growth_callers.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace tenure::profile {
namespace {

using Calls = std::vector<const CallFrame*>;  // the outermost first

bool has_line(const CallFrame* call) { return call->line != 0; }
bool has_name(const CallFrame* call) { return call->has_name; }

/// Python's calls are none of the machine's.
bool is_python(const Origin& origin) {
  return origin.file.ends_with(".py") || origin.file.starts_with("In[");
}

/// The calls from the innermost of another line than the origin's on.
std::vector<std::string> callers_in(const Calls& calls, const Origin& origin) {
  std::vector<std::string> names;
  const CallFrame* const caller = caller_of(origin, calls);
  if (caller == nullptr) return names;
  for (auto call = std::find(calls.rbegin(), calls.rend(), caller); call != calls.rend(); ++call) {
    if ((*call)->has_name) names.push_back(to_string(**call));
  }
  return names;
}

/// The function that the origin's line is in: that of the innermost call from it.
std::string function_in(const Calls& calls, const Origin& origin) {
  const auto own = std::find_if(calls.rbegin(), calls.rend(), [&](const CallFrame* call) {
    return call->has_name && call->line != 0 && is_at(*call, origin);
  });
  return own == calls.rend() ? std::string() : (*own)->function;
}

/// None are left where a thread began with the line.
Growth::Callers known_by(const Calls& calls) {
  return calls.empty() || std::any_of(calls.begin(), calls.end(), has_name)
             ? Growth::Callers::told
             : Growth::Callers::unnamed;
}

/// By what was seen of one line. Where some calls have lines, those without are of libraries.
void name_callers(Growth& growth, const Origin& origin,
                  const std::vector<std::pair<Calls, std::int64_t>>& seen, bool must_agree) {
  growth.has_callers = Growth::Callers::unseen;
  std::map<std::vector<std::string>, std::int64_t> by_names;  // several stacks may have the same
  std::map<std::string, std::int64_t> functions;              // a line of a template is in many
  for (const auto& [all, times] : seen) {
    if (growth.has_callers != Growth::Callers::told) growth.has_callers = known_by(all);
    const bool has_lines = std::any_of(all.begin(), all.end(), has_line);
    Calls calls;
    std::copy_if(all.begin(), all.end(), std::back_inserter(calls),
                 has_lines ? has_line : has_name);
    by_names[callers_in(calls, origin)] += times;
    functions[function_in(calls, origin)] += times;
  }
  if (functions.size() == 1) growth.function = functions.begin()->first;
  if (must_agree && by_names.size() > 1) {
    growth.has_callers = Growth::Callers::unseen;
    return;
  }
  const auto most =
      std::max_element(by_names.begin(), by_names.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != by_names.end()) growth.callers = most->first;
}

}  // namespace

void name_callers(std::vector<Growth>& growing, const std::vector<CallsSeen>& seen,
                  const Recorded& recorded) {
  if (recorded.has_stacks()) {
    for (Growth& growth : growing) {
      const Origin& origin = recorded.origin(growth.origin);
      if (is_python(origin)) continue;
      const Calls calls = recorded.calls(origin);
      growth.callers = callers_in(calls, origin);
      growth.function = function_in(calls, origin);
      growth.has_callers = known_by(calls);
    }
    return;
  }
  std::vector<std::uint32_t> stacks;
  for (const CallsSeen& calls : seen) {
    for (const auto& [stack, times] : calls.stacks) stacks.push_back(stack);
  }
  const NamedCalls named = stacks.empty() ? NamedCalls() : recorded.names_of(stacks);
  std::size_t next = 0;  // of the stacks
  for (std::size_t i = 0; i < growing.size(); ++i) {
    std::vector<std::pair<Calls, std::int64_t>> of_line;
    for (const auto& [stack, times] : seen[i].stacks) {
      Calls& calls = of_line.emplace_back(Calls(), times).first;
      for (const std::uint32_t frame : named.stacks[next]) calls.push_back(&named.frames[frame]);
      ++next;
    }
    if (is_python(recorded.origin(growing[i].origin))) continue;
    name_callers(growing[i], recorded.origin(growing[i].origin), of_line, seen[i].is_of_all);
  }
}

}  // namespace tenure::profile
