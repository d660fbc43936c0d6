#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/nearest.h"
#include "cli/terminal.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/outputs.h"
#include "tenure/ops/core/record.h"

namespace tenure::cli {
namespace {

using ops::OpRecord;

struct OpsOptions {
  std::vector<std::string> names;
  bool json = false;
  bool markdown = false;
};

std::vector<std::string> type_names(const OpRecord& op) {
  std::vector<std::string> names;
  for (int i = 0; i < kDTypes; ++i) {
    if (op.takes(static_cast<DType>(i))) names.emplace_back(name_of(static_cast<DType>(i)));
  }
  return names;
}

std::string types_text(const OpRecord& op) {
  const std::uint32_t boolean = 1u << static_cast<int>(DType::boolean);
  const std::pair<std::uint32_t, const char*> sets[] = {
      {ops::kAllTypes, "all types"},
      {ops::kNumberTypes, "numbers"},
      {ops::kFloatTypes, "floats"},
      {ops::kIntegerTypes, "integers"},
      {ops::kIntegerTypes | boolean, "integers and bool"}};
  for (const auto& [set, text] : sets) {
    if (op.dtypes == set) return text;
  }
  return fmt::format("{}", fmt::join(type_names(op), ", "));
}

std::string bound_text(const OpRecord& op) {
  return op.tolerance_ulp <= 0.5 ? "exact to rounding"
                                 : fmt::format("within {} ulp", op.tolerance_ulp);
}

std::string saved_text(const OpRecord& op) {
  const std::string saved = ops::describe_saved(op);
  const bool is_plain = op.gradient == nullptr || op.gradient->run == nullptr;
  return is_plain ? saved : "gradient saves " + saved;
}

/// The named ops in the order of the list, or all. Throws UsageError for a name that is none.
std::vector<const OpRecord*> chosen_ops(const std::vector<std::string>& names) {
  if (names.empty()) return ops::all_ops();
  for (const std::string& name : names) {
    if (ops::find_op(name) != nullptr) continue;
    std::vector<std::string> all;
    for (const OpRecord* op : ops::all_ops()) all.emplace_back(op->name);
    const std::vector<std::string> near = nearest(name, all);
    throw UsageError(fmt::format("there is no op \"{}\"{}", name,
                                 near.empty()
                                     ? "; `tenure ops` lists all"
                                     : fmt::format("; did you mean {}?", fmt::join(near, " or "))));
  }
  std::vector<const OpRecord*> list;
  for (const OpRecord* op : ops::all_ops()) {
    if (std::find(names.begin(), names.end(), op->name) != names.end()) list.push_back(op);
  }
  return list;
}

nlohmann::ordered_json to_json(const OpRecord& op) {
  constexpr const char* kinds[] = {"allocates", "view", "view_or_copy"};
  std::vector<int> reuses;
  for (int i = 0; i < 8; ++i) {
    if ((op.memory.reuses >> i & 1) != 0) reuses.push_back(i);
  }
  return {{"name", op.name},
          {"family", op.family},
          {"signature", op.signature},
          {"doc", op.doc},
          {"outputs", op.outputs == ops::kAnyOutputs ? nlohmann::ordered_json()
                                                     : nlohmann::ordered_json(op.outputs)},
          {"elementwise", op.elementwise != nullptr},
          {"composite", op.expand != nullptr},
          {"data_dependent", op.data_dependent},
          {"memory",
           {{"kind", kinds[static_cast<int>(op.memory.kind)]},
            {"reuses", reuses},
            {"workspace", op.memory.workspace},
            {"text", to_string(op.memory)}}},
          {"saves", ops::describe_saved(op)},
          {"dtypes", type_names(op)},
          {"tolerance_ulp", op.tolerance_ulp}};
}

void print_ops_json(const std::vector<const OpRecord*>& list) {
  nlohmann::ordered_json document{{"version", TENURE_VERSION}, {"ops", nlohmann::json::array()}};
  for (const OpRecord* op : list) document["ops"].push_back(to_json(*op));
  fmt::print("{}\n", document.dump(2));
}

/// Calls `f(op, begins_family)` for each.
template <class F>
void for_each_by_family(const std::vector<const OpRecord*>& list, const F& f) {
  std::string_view family;
  for (const OpRecord* op : list) {
    f(*op, op->family != family);
    family = op->family;
  }
}

std::string escaped_cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

void print_markdown(const std::vector<const OpRecord*>& list) {
  bool first = true;
  for_each_by_family(list, [&](const OpRecord& op, bool begins) {
    if (begins) {
      fmt::print(
          "{}## {}\n\n| op | result | memory | saved for the gradient | takes | error |\n"
          "| --- | --- | --- | --- | --- | --- |\n",
          first ? "" : "\n", op.family);
    }
    first = false;
    fmt::print("| `{}` | {} | {} | {} | {} | {} |\n", escaped_cell(op.signature),
               escaped_cell(op.doc), to_string(op.memory), ops::describe_saved(op), types_text(op),
               bound_text(op));
  });
}

/// Two columns: the signature, and beside it what the op computes and, dimmed, its memory effect,
/// what a tape saves for its gradient, types and error bound.
void print_table(const std::vector<const OpRecord*>& list) {
  const Terminal terminal;
  std::size_t widest = 0;
  for (const OpRecord* op : list) widest = std::max(widest, std::string_view(op->signature).size());
  const std::size_t left = std::min(widest, terminal.width() / 3);
  const std::size_t right = terminal.width() - left - 4;
  bool first = true;
  for_each_by_family(list, [&](const OpRecord& op, bool begins) {
    if (begins) fmt::print("{}{}\n", first ? "" : "\n", terminal.bold(op.family));
    first = false;
    std::string_view beside = op.signature;
    if (beside.size() > left) {  // lines of its own
      for (const std::string& line : wrap(beside, terminal.width() - 2)) fmt::print("  {}\n", line);
      beside = "";
    }
    for (const std::string& line : wrap(op.doc, right)) {
      fmt::print("  {:<{}}  {}\n", beside, left, line);
      beside = "";
    }
    const std::string facts = fmt::format("{} | {} | {} | {}", to_string(op.memory), saved_text(op),
                                          types_text(op), bound_text(op));
    for (const std::string& line : wrap(facts, right)) {
      fmt::print("  {:<{}}  {}\n", "", left, terminal.dim(line));
    }
  });
}

void print(const OpsOptions& options) {
  const std::vector<const OpRecord*> list = chosen_ops(options.names);
  if (options.json) return print_ops_json(list);
  if (options.markdown) return print_markdown(list);
  print_table(list);
}

}  // namespace

void add_ops(CLI::App& app) {
  const Command command(app, "ops",
                        "Lists operations: what each computes and what it does to memory");
  const auto options = std::make_shared<OpsOptions>();
  std::vector<std::string> names;
  for (const OpRecord* op : ops::all_ops()) names.emplace_back(op->name);
  command.option("NAME", options->names, "Only these ops").completes(names);
  const Option json = command.flag("--json", options->json, "Print JSON");
  command.flag("--markdown", options->markdown, "Print Markdown tables").excludes(json);
  command.footer(
      R"(The memory effect says whether a call allocates. "in place in a moved input 0": written as
f(std::move(x)), with nobody else holding x, the call computes in the memory of x and allocates
nothing. "view": the result shares the memory of the first input. "gradient saves": what a gradient
tape holds of the call. The error is measured in units in the last place (ulp) of the exact result.

Examples:
  tenure ops
  tenure ops add softmax
  tenure ops --json | jq '.ops[] | select(.name == "matmul")')");
  command.run([options] { print(*options); });
}

}  // namespace tenure::cli
