#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/held.h"
#include "cli/recording.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "tenure/profile/text.h"

namespace tenure::cli {
namespace {

using profile::History;
using profile::StorageLife;
using profile::TensorLife;

struct HoldersOptions {
  std::string file;
  std::string by;
  std::string at = "peak";
  std::size_t rows = 10;
  bool json = false;
};

/// A storage that was live at the moment, with all that held it then: none where it is the arena
/// of a compiled program, or the tensor that it is for is being made.
struct Shared {
  const StorageLife* storage = nullptr;
  std::vector<const TensorLife*> holders{};
};

std::int64_t moment_of(const History& history, const std::string& text) {
  if (text == "peak") return peak(history).time_ns;
  if (text == "end") return history.end_ns;
  double seconds = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = problem == std::errc() && rest == text.data() + text.size();
  if (!is_number || !(seconds >= 0) || seconds > 1e9) {
    throw UsageError(
        fmt::format("--at: {} is no moment; peak, end, or seconds since the beginning", text));
  }
  return static_cast<std::int64_t>(seconds * 1e9);
}

/// Whether an op, a line or a scope has this text.
bool matches(const profile::Origin& origin, const std::string& text) {
  return text.empty() ||
         fmt::format("{} {} {}", origin.op, place_text(origin), origin.scope).find(text) !=
             std::string::npos;
}

std::vector<Shared> shared_at(const History& history, std::int64_t time_ns, const std::string& by) {
  std::map<std::uint32_t, Shared> found;
  std::map<std::uint32_t, bool> wanted;
  for (std::uint32_t i = 0; i < history.storages.size(); ++i) {
    const StorageLife& life = history.storages[i];
    if (life.birth_ns > time_ns || life.death_ns <= time_ns) continue;
    found[i].storage = &life;
    wanted[i] = matches(history.recorded.origin(life.origin), by);
  }
  for (const TensorLife& tensor : history.tensors) {
    const auto shared = found.find(tensor.storage);
    if (shared == found.end() || !tensor.holds_at(time_ns)) continue;
    shared->second.holders.push_back(&tensor);
    wanted[tensor.storage] =
        wanted[tensor.storage] || matches(history.recorded.origin(tensor.origin), by);
  }
  std::vector<Shared> result;
  for (auto& [storage, shared] : found) {
    if (wanted[storage]) result.push_back(std::move(shared));
  }
  std::stable_sort(result.begin(), result.end(), [](const Shared& a, const Shared& b) {
    return a.storage->bytes != b.storage->bytes ? a.storage->bytes > b.storage->bytes
                                                : a.holders.size() > b.holders.size();
  });
  return result;
}

profile::LiveHolder as_holder(const History& history, const TensorLife& tensor) {
  return {tensor.id, tensor.storage, tensor.kind, tensor.origin,
          history.recorded.string(tensor.name)};
}

std::int64_t bytes_of(const std::vector<Shared>& all) {
  std::int64_t bytes = 0;
  for (const Shared& one : all) bytes += one.storage->bytes;
  return bytes;
}

/// What was live before the recording began, of which nothing else is known.
std::int64_t bytes_before(const History& history, const std::string& by) {
  return by.empty() ? history.base_bytes : 0;
}

Json json_of(const History& history, std::int64_t time_ns, const std::vector<Shared>& all,
             std::int64_t before) {
  Json storages = Json::array();
  for (const Shared& one : all) {
    Json holders = Json::array();
    for (const TensorLife* tensor : one.holders) {
      holders.push_back({{"kind", name_of(tensor->kind)},
                         {"name", history.recorded.string(tensor->name)},
                         {"origin", origin_json(history.recorded.origin(tensor->origin))},
                         {"since_seconds", static_cast<double>(tensor->birth_ns) * 1e-9}});
    }
    storages.push_back(
        {{"bytes", one.storage->bytes},
         {"origin", origin_json(history.recorded.origin(one.storage->origin))},
         {"tensor", profile::to_string(history.recorded.layout(one.storage->layout))},
         {"category", name_of(one.storage->category)},
         {"holders", std::move(holders)}});
  }
  return {{"seconds", static_cast<double>(time_ns) * 1e-9},
          {"storages", all.size()},
          {"bytes", bytes_of(all) + before},
          {"before_bytes", before},
          {"held", std::move(storages)}};
}

void print_text(const History& history, std::int64_t time_ns, const std::vector<Shared>& all,
                std::int64_t before, std::size_t rows) {
  const Terminal terminal;
  std::deque<profile::LiveHolder> holders;
  std::vector<profile::Held> held;
  for (const Shared& one : all) {
    held.push_back({.storage = one.storage});
    for (const TensorLife* const tensor : one.holders) {
      held.back().holders.push_back(&holders.emplace_back(as_holder(history, *tensor)));
    }
  }
  const std::vector<Alike> groups = alike(history, held, true);
  fmt::print("{}\n", terminal.bold(fmt::format("After {}: {} in {} {}, and who holds each",
                                               seconds_text(static_cast<double>(time_ns) * 1e-9),
                                               size_text(bytes_of(all) + before), all.size(),
                                               all.size() == 1 ? "storage" : "storages")));
  std::int64_t shown = 0;
  for (std::size_t i = 0; i < std::min(rows, groups.size()); ++i) {
    const Alike& group = groups[i];
    const std::string number = group.storages > 1 ? fmt::format("{} x ", group.storages) : "";
    print_beside(
        terminal, size_text(group.bytes),
        fmt::format("{}  {}{}", origin_text(history.recorded.origin(group.first->origin)), number,
                    plain(to_string(history.recorded.layout(group.first->layout)))));
    for (const Alike::Holder& holder : group.holders) {
      print_beside(terminal, "", holder_text(holder, history.recorded), true);
    }
    shown += group.storages;
  }
  const auto rest = static_cast<std::int64_t>(all.size()) - shown;
  if (rest > 0) fmt::print("  and {} more\n", rest);
  if (before > 0) print_beside(terminal, size_text(before), "(before the recording)");
}

void holders(const HoldersOptions& options) {
  const auto loaded = load(options.file);
  const History& history = loaded->history;
  const std::int64_t time_ns = moment_of(history, options.at);
  const std::vector<Shared> all = shared_at(history, time_ns, options.by);
  const std::int64_t before = bytes_before(history, options.by);
  if (options.json) return print_json(json_of(history, time_ns, all, before));
  print_text(history, time_ns, all, before, options.rows);
}

}  // namespace

void add_holders(CLI::App& app) {
  const Command command(app, "holders", "Who holds each storage at a moment, and who shares it");
  const auto options = std::make_shared<HoldersOptions>();
  command.option("FILE", options->file, "A recording").required();
  command
      .option("--by", options->by,
              "Only what was made or is held by an op, line or scope with this text")
      .type_name("TEXT");
  command.option("--at", options->at, "peak, end, or seconds since the beginning")
      .completes({"peak", "end"})
      .show_default();
  command.option("-n,--rows", options->rows, "Entries of the list; --json has all").show_default();
  command.flag("--json", options->json, "Print JSON");
  command.footer(
      R"(A view has no memory of its own: it shares that of another tensor, and keeps it alive. Storages that
are alike, held by the same lines, are one entry, and so are holders of one line; --json has each.

Examples:
  tenure holders train.tenure                       what was live at the peak, largest first
  tenure holders train.tenure --at end --by slice   what slices hold at the end
  tenure holders train.tenure --by model.cpp:23 --json)");
  command.run([options] { holders(*options); });
}

}  // namespace tenure::cli
