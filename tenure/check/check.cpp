#include "tenure/check/check.h"

#include <fmt/format.h>

#include <ostream>

#include "tenure/check/checks.h"
#include "tenure/check/findings.h"

namespace tenure {
namespace check {

std::span<const NamedCheck> all_checks() {
  static constexpr NamedCheck kAll[] = {{"record", check_record},
                                        {"bounds", check_bounds, true},
                                        {"numerics", check_numerics},
                                        {"layouts", check_layouts},
                                        {"special values", check_special_values},
                                        {"numbers", check_scalars},
                                        {"memory effect", check_memory},
                                        {"heap", check_heap},
                                        {"errors", check_errors},
                                        {"lines of errors", check_error_sites},
                                        {"failed allocations", check_faults},
                                        {"modes", check_modes},
                                        {"unknown sizes", check_unknown_sizes},
                                        {"parts", check_parts},
                                        {"gradient", check_gradient},
                                        {"saved", check_saved},
                                        {"gradient in a function", check_gradient_modes}};
  return kAll;
}

}  // namespace check

std::string to_string(const OpReport& report) {
  if (report.ok()) return fmt::format("{}: {} checks, all passed\n", report.op, report.checks);
  std::string text =
      fmt::format("{}: {} checks, {} findings\n", report.op, report.checks, report.failures.size());
  for (const std::string& failure : report.failures) text += fmt::format("- {}\n", failure);
  return text;
}

std::ostream& operator<<(std::ostream& out, const OpReport& report) {
  return out << to_string(report);
}

OpReport check_op(const ops::OpRecord& op) {
  OpReport report{.op = op.name};
  for (const auto& [name, run, is_condition] : check::all_checks()) {
    ++report.checks;
    const check::Findings findings;
    try {
      run(op);
    } catch (const std::exception& error) {
      check::Findings::add(fmt::format("the call threw: {}", error.what()));
    } catch (...) {
      check::Findings::add("the call threw something that is no std::exception");
    }
    for (const std::string& finding : findings.all()) {
      report.failures.push_back(fmt::format("{}, {}: {}", op.name, name, finding));
    }
    if (is_condition && !findings.all().empty()) break;
  }
  return report;
}

OpReport check_op(const CustomOp& op) { return check_op(op.record()); }

}  // namespace tenure
