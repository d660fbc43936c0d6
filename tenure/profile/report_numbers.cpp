#include "tenure/profile/report_numbers.h"

namespace tenure::profile {

ReportPlace ReportNumbers::place(std::uint32_t number) {
  const auto [found, is_new] = places_.try_emplace(number);
  if (is_new) {
    const Origin& origin = recorded_.origin(number);
    found->second = {origin.op.empty() ? 0 : ops_(std::string(origin.op)),
                     origin.file.empty() ? 0 : sites_({std::string(origin.file), origin.line}),
                     origin.scope.empty() ? 0 : scopes_(std::string(origin.scope)), 0};
    std::string calls;
    for (const CallFrame* const call : recorded_.calls(origin)) {
      calls += (calls.empty() ? "" : "\n") + to_string(*call);
    }
    if (!calls.empty()) found->second.calls = strings_(calls);
  }
  return found->second;
}

std::uint32_t ReportNumbers::op(std::string_view op) {
  if (op.empty()) return 0;
  const auto [found, is_new] = op_numbers_.try_emplace(op.data());
  if (is_new) found->second = ops_(std::string(op));
  return found->second;
}

std::uint32_t ReportNumbers::scope(std::string_view scope) {
  const auto [found, is_new] = scope_numbers_.try_emplace(scope);
  if (is_new) found->second = scopes_(std::string(scope));
  return found->second;
}

}  // namespace tenure::profile
