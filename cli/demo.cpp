#include <fmt/format.h>

#include <functional>
#include <memory>
#include <sstream>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/nearest.h"
#include "cli/recording.h"
#include "cli/terminal.h"
#include "tenure/tenure.h"

// Each demonstration runs the program that it shows, and prints what was measured.

namespace tenure::cli {
namespace {

/// What was expected, and what was measured.
struct Fact {
  std::string text;
  std::int64_t expected;
  std::int64_t measured;
};

struct Outcome {
  std::vector<Fact> facts{};
  std::string note{};
};

struct Demo {
  const char* name;
  const char* question;
  const char* program;  ///< as a user would write it
  const char* answer;
  std::function<Outcome()> run;
};

Outcome dispose() {
  Outcome outcome;
  const MemoryRegion region;
  const Tensor x = ones({256, 256});
  const Tensor view = reshape(x, {65536});
  x.dispose();
  outcome.facts.push_back(
      {"bytes left after x.dispose(): the view has them", 262144, region.left_bytes()});
  const std::vector<Holder> left = holders(view);
  outcome.facts.push_back({"holders of the data", 1, static_cast<std::int64_t>(left.size())});
  outcome.note = "who: " + to_string(left.at(0));
  outcome.facts.push_back({"x still knows its first dimension", 256, x.dim(0)});
  view.dispose();
  outcome.facts.push_back({"bytes left after view.dispose()", 0, region.left_bytes()});
  return outcome;
}

Outcome disposed() {
  Outcome outcome;
  const Tensor x = ones({2, 3});
  x.dispose();
  std::int64_t errors = 0;
  try {
    matmul(x, transpose(x));
  } catch (const DisposedError& error) {
    ++errors;
    outcome.note = error.what();
  }
  outcome.facts.push_back({"errors that name who made, disposed and used it", 1, errors});
  return outcome;
}

Outcome allocate() {
  Outcome outcome;
  const auto allocations = [](const std::function<void()>& work) {
    const MemoryRegion region;
    work();
    return region.allocations();
  };
  Tensor x = ones({64, 64});
  const Tensor w = ones({64, 64});
  outcome.facts.push_back(
      {"allocations of relu(x): x is used again", 1, allocations([&] { relu(x); })});
  outcome.facts.push_back(
      {"of reshape(x, {4096}): a view", 0, allocations([&] { reshape(x, {4096}); })});
  outcome.facts.push_back({"of tanh(relu(std::move(x)) + w): computed in the memory of x", 0,
                           allocations([&] { tanh(relu(std::move(x)) + w); })});
  return outcome;
}

Outcome graph_loop() {
  Outcome outcome;
  Graph graph("demo");
  const Tensor x = graph.placeholder("x", float32, {4});
  Session session(graph);
  const auto iterate = [&](int n) {
    for (int i = 0; i < n; ++i) {
      const Tensor y = relu(x * 2.0 + tensor({1.f, 2.f, 3.f, 4.f}));
      session.run(y, {{x, full({4}, 0.5 * i)}});
    }
  };
  iterate(10);
  const std::int64_t nodes = graph.nodes();
  const MemoryRegion region;
  iterate(1000);
  outcome.facts.push_back({"nodes added by 1000 more iterations", 0, graph.nodes() - nodes});
  outcome.facts.push_back({"bytes that they left", 0, region.left_bytes()});
  outcome.facts.push_back({"compiled programs", 1, static_cast<std::int64_t>(session.programs())});
  return outcome;
}

Outcome symbolic() {
  Outcome outcome;
  const Tensor w = full({4, 4}, 0.25);
  const auto model = function([&](const Tensor& x) { return tanh(matmul(x, w)); });
  const Tensor x = ones({8, 4});
  LeakGuard guard("calls");
  for (int i = 0; i < 1000; ++i) {
    model(x);
    guard.mark();
  }
  outcome.facts.push_back({"iterations that a LeakGuard found steady", 1000, guard.iterations()});
  outcome.facts.push_back(
      {"traces of 1000 calls", 1, static_cast<std::int64_t>(model.traces().size())});
  return outcome;
}

Outcome fit() {
  Outcome outcome;
  const Tensor w = full({64, 64}, 0.01);
  const auto model = function([&](const Tensor& x) { return softmax(tanh(matmul(x, w) + 1.0)); });
  const MemoryRegion planning;
  const Plan plan = model.plan(spec({1000, 64}));
  outcome.facts.push_back({"bytes allocated by planning", 0, planning.peak_bytes()});
  const Tensor x = ones({1000, 64});
  const MemoryRegion region;
  model(x);
  outcome.facts.push_back({"peak of the call, against the plan's", plan.peak, region.peak_bytes()});
  std::int64_t refused = 0;
  const std::int64_t live = memory().bytes;
  try {
    const Budget budget("request", static_cast<std::size_t>(plan.peak) - 1);
    model(x);
  } catch (const OutOfMemory& error) {
    ++refused;
    const std::string text = error.what();
    outcome.note = text.substr(0, text.find('\n'));
  }
  outcome.facts.push_back({"calls that a budget of one byte less refused", 1, refused});
  outcome.facts.push_back({"bytes lost by the refusal", 0, memory().bytes - live});
  return outcome;
}

const std::vector<Demo>& demos() {
  static const std::vector<Demo> list = {
      {"dispose", "What remains after dispose()?",
       "Tensor x = ones({256, 256});\nTensor view = reshape(x, {65536});\nx.dispose();\n"
       "view.dispose();",
       "The handle and its metadata remain; the data goes with its last holder.", dispose},
      {"disposed", "Why 'tensor disposed' here and not there?",
       "Tensor x = ones({2, 3});\nx.dispose();\nmatmul(x, transpose(x));",
       "The error names who made the tensor, who disposed it and who used it.", disposed},
      {"allocate", "Which operations allocate?",
       "relu(x);\nreshape(x, {4096});\ntanh(relu(std::move(x)) + w);",
       "Every op declares it, and `tenure ops` lists it; moves compute in place.", allocate},
      {"graph-loop", "Does building a graph in a loop leak?",
       "for (...) session.run(relu(x * 2.0 + tensor({1.f, 2.f, 3.f, 4.f})), {{x, ...}});",
       "Equal nodes are shared, so the same expression adds nothing.", graph_loop},
      {"symbolic", "Does applying a model to symbolic tensors leak?",
       "auto model = function([&](const Tensor& x) { return tanh(matmul(x, w)); });\n"
       "for (...) { model(x); guard.mark(); }",
       "Symbols own no data, and a call like one before is not traced again.", symbolic},
      {"fit", "Will it fit?",
       "Plan plan = model.plan(spec({1000, 64}));\nmodel(x);\n"
       "Budget budget(\"request\", plan.peak - 1);\nmodel(x);",
       "The plan gives the exact peak before the first byte is allocated.", fit},
  };
  return list;
}

struct DemoOptions {
  std::vector<std::string> names;
  bool json = false;
};

std::vector<const Demo*> chosen(const std::vector<std::string>& names) {
  std::vector<const Demo*> result;
  std::vector<std::string> all;
  for (const Demo& demo : demos()) all.emplace_back(demo.name);
  for (const std::string& name : names) {
    const auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end()) {
      const std::vector<std::string> near = nearest(name, all);
      throw UsageError(fmt::format("there is no demonstration \"{}\"; {}", name,
                                   near.empty()
                                       ? fmt::format("there are {}", fmt::join(all, ", "))
                                       : fmt::format("did you mean {}?", fmt::join(near, " or "))));
    }
    result.push_back(&demos()[static_cast<std::size_t>(found - all.begin())]);
  }
  if (names.empty()) {
    for (const Demo& demo : demos()) result.push_back(&demo);
  }
  return result;
}

void indent(const std::string& text, const std::function<std::string(std::string)>& style) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) fmt::print("    {}\n", style(line));
}

bool is_as_expected(const Outcome& outcome) {
  return std::all_of(outcome.facts.begin(), outcome.facts.end(),
                     [](const Fact& fact) { return fact.expected == fact.measured; });
}

void print(const Demo& demo, const Outcome& outcome, const Terminal& terminal) {
  fmt::print("{}  {}\n\n", terminal.bold(demo.question), terminal.dim(demo.name));
  indent(demo.program, [&](const std::string& line) { return line; });
  fmt::print("\n");
  for (const Fact& fact : outcome.facts) {
    fmt::print(
        "  {:>8}  {}{}\n", fact.measured, fact.text,
        fact.measured == fact.expected ? "" : fmt::format("; {} was expected", fact.expected));
  }
  if (!outcome.note.empty()) {
    fmt::print("\n");
    indent(outcome.note, [&](const std::string& line) { return terminal.dim(line); });
  }
  fmt::print("\n  {}\n\n", demo.answer);
}

void run_demos(const DemoOptions& options) {
  const Terminal terminal;
  Json list = Json::array();
  bool all_well = true;
  for (const Demo* demo : chosen(options.names)) {
    const Outcome outcome = demo->run();
    all_well = all_well && is_as_expected(outcome);
    if (!options.json) {
      print(*demo, outcome, terminal);
      continue;
    }
    Json facts = Json::array();
    for (const Fact& fact : outcome.facts) {
      facts.push_back(
          {{"text", fact.text}, {"measured", fact.measured}, {"expected", fact.expected}});
    }
    list.push_back({{"name", demo->name},
                    {"question", demo->question},
                    {"answer", demo->answer},
                    {"facts", std::move(facts)},
                    {"note", outcome.note}});
  }
  if (options.json) print_json({{"demos", std::move(list)}, {"as_expected", all_well}});
  if (!all_well) throw ExitWith{kFound};
}

}  // namespace

void add_demo(CLI::App& app) {
  const Command command(app, "demo", "Answers the questions users bring, live and measured");
  const auto options = std::make_shared<DemoOptions>();
  std::string names;
  std::vector<std::string> all;
  for (const Demo& demo : demos()) {
    names += fmt::format("  {:<12} {}\n", demo.name, demo.question);
    all.emplace_back(demo.name);
  }
  command.option("NAME", options->names, "Only these; all unless given").completes(all);
  command.flag("--json", options->json, "Print JSON");
  command.footer("Demonstrations:\n" + names + R"(
Exit status: 0 if all that was measured is as expected, 1 if not.

Examples:
  tenure demo
  tenure demo fit dispose)");
  command.run([options] { run_demos(*options); });
}

}  // namespace tenure::cli
