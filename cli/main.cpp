#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cli/commands.h"

namespace {

constexpr const char* kExamples = R"(Examples:
  tenure ops                      every op, what it computes and what it does to memory
  tenure ops add softmax          only these
  tenure ops --json | jq '.ops[] | select(.memory.kind == "view") | .name'
  tenure ops --markdown > ops.md  a table for a document
  tenure plan lifetimes.csv       offsets for buffers: how much memory do they need?
  tenure plan step.json --budget 8GiB
                                  what a training step costs within 8 GiB)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Looks at tensor programs: what operations do to memory, and how programs fit in it.");
  app.name("tenure");
  app.set_version_flag("--version", "tenure " TENURE_VERSION);
  app.footer(kExamples);
  app.require_subcommand(0, 1);
  tenure::cli::add_ops(app);
  tenure::cli::add_plan(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const tenure::cli::UsageError& error) {
    fmt::print(stderr, "tenure: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenure: {}\n", error.what());
    return 1;
  }
}
