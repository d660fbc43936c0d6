#include "tenure/profile/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/recording.h"
#include "cli/resources.h"
#include "tenure/base/text.h"
#include "tenure/profile/exports.h"

namespace tenure::cli {
namespace {

struct ReportOptions {
  std::string file;
  std::vector<std::string> files;  ///< of a page: one, or the two that it compares
  bool diff = false;
  bool what_if = false;
  std::string picture;
  std::string output;
  std::string format = "chrome";
  bool json = false;
};

/// "dir/step.tenure" -> "dir/step" + ending.
std::string beside(const std::string& file, const std::string& ending) {
  const std::size_t name = file.find_last_of('/') + 1;
  const std::size_t dot = file.find_last_of('.');
  return file.substr(0, dot != std::string::npos && dot > name ? dot : file.size()) + ending;
}

/// Where the result goes: as told, or beside the recording, which it must not replace.
std::string output_of(const ReportOptions& options, const std::string& ending) {
  std::string output = options.output.empty() ? beside(options.file, ending) : options.output;
  std::error_code not_there;
  std::vector<std::string> read = options.files;
  read.push_back(options.file);
  for (const std::string& file : read) {
    if (output == "-" || !std::filesystem::equivalent(output, file, not_there)) continue;
    throw UsageError(fmt::format("{} is the recording itself; name another file with -o", output));
  }
  return output;
}

void tell(const ReportOptions& options, std::size_t bytes) {
  if (options.output == "-") return;
  if (options.json) {
    print_json({{"file", options.file}, {"output", options.output}, {"bytes", bytes}});
  } else {
    fmt::print("{} ({})\n", plain(options.output), size_text(static_cast<std::int64_t>(bytes)));
  }
}

/// The page with an SVG file in a corner, to be opened: the curves of a training, beside its
/// memory. It is a child of the document, as what the page shows takes the place of its body.
std::string with_picture(std::string page, const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string svg{std::istreambuf_iterator<char>(in), {}};
  if (!in || !svg.starts_with("<svg")) {
    throw UsageError(fmt::format("{} is no SVG picture that can be read", file));
  }
  const std::string more = fmt::format(
      R"html(<template id="picture"><details style="position:fixed;left:12px;bottom:12px;)html"
      R"html(z-index:20;max-height:90vh;overflow:auto;padding:4px 12px;border-radius:8px;)html"
      R"html(border:1px solid var(--line);background:var(--panel);color:var(--text)">)html"
      R"html(<summary>training</summary>{}</details></template><script>)html"
      R"html(document.documentElement.append(document.getElementById('picture').content))html"
      R"html(</script>)html",
      svg);
  return page.insert(page.rfind("</body>"), more);
}

void report(ReportOptions options) {
  const std::size_t wanted = options.diff ? 2 : 1;
  if (options.files.size() != wanted) {
    throw UsageError(options.diff ? "--diff takes two recordings: report --diff BEFORE AFTER"
                                  : "a page is of one recording; --diff makes one of two");
  }
  options.file = options.files.back();
  const auto loaded = load(options.file);
  const auto before = options.diff ? load(options.files[0]) : nullptr;
  options.output = output_of(options, options.diff ? ".diff.html" : ".html");
  std::string page =
      options.diff ? report_page(before->history, loaded->history, report_template())
                   : report_page(loaded->history, report_template(),
                                 options.what_if ? profile::WhatIfs::all : profile::WhatIfs::quick);
  if (!options.picture.empty()) page = with_picture(std::move(page), options.picture);
  write_file(options.output, page);
  tell(options, page.size());
}

void export_file(ReportOptions options) {
  const auto loaded = load(options.file, options.format == "chrome");
  const profile::History& history = loaded->history;
  std::string ending = "." + options.format;
  std::string bytes;
  if (options.format == "chrome") {
    bytes = to_chrome_trace(history);
    ending = ".trace.json";
  } else if (options.format == "pprof") {
    bytes = to_pprof(history);
    ending = ".pb.gz";
  } else if (options.format == "speedscope") {
    bytes = to_speedscope(history);
    ending = ".speedscope.json";
  } else {
    bytes = to_csv(history);
  }
  options.output = output_of(options, ending);
  write_file(options.output, bytes);
  tell(options, bytes.size());
}

}  // namespace

void add_report(CLI::App& app) {
  const Command command(app, "report", "Makes a page of a recording, to look at in a browser");
  const auto options = std::make_shared<ReportOptions>();
  command
      .option("FILE", options->files, "A recording; with --diff, the one before and the one after")
      .required();
  command.flag("--diff", options->diff, "Compare two recordings side by side");
  command.flag("--what-if", options->what_if,
               "What would parts of its peak cost each compiled program? Searches for a while");
  command
      .option("--picture", options->picture,
              "Beside it an SVG picture, as nn::plot() draws of a training")
      .type_name("FILE");
  command.option("-o,--output", options->output, "The page; - for standard output")
      .type_name("FILE");
  command.flag("--json", options->json, "Say in JSON what was written");
  command.footer(
      R"(One file that needs no network: a timeline of live bytes, a flame graph of allocations, the map
of memory, and tables that sort and filter. Of the largest compiled program it says what less memory
would cost, if that has at most 300 steps; of all with --what-if.

Examples:
  tenure report train.tenure                 writes train.html
  tenure report --diff old.tenure new.tenure writes new.diff.html
  tenure report train.tenure -o /tmp/page.html)");
  command.run([options] { report(*options); });
}

void add_export(CLI::App& app) {
  const Command command(app, "export", "Writes a recording in the formats of other tools");
  const auto options = std::make_shared<ReportOptions>();
  command.option("FILE", options->file, "A recording").required();
  command
      .option("--format", options->format, "chrome (also for Perfetto), pprof, speedscope or csv")
      .one_of({"chrome", "pprof", "speedscope", "csv"})
      .show_default();
  command.option("-o,--output", options->output, "The file; - for standard output")
      .type_name("FILE");
  command.flag("--json", options->json, "Say in JSON what was written");
  command.footer(R"(Examples:
  tenure export train.tenure                        train.trace.json, for ui.perfetto.dev
  tenure export train.tenure --format pprof         train.pb.gz, for go tool pprof
  tenure export train.tenure --format speedscope    for speedscope.app
  tenure export train.tenure --format csv -o - | head)");
  command.run([options] { export_file(*options); });
}

}  // namespace tenure::cli
