#include "cli/recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "cli/commands.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "tenure/base/descriptor.h"
#include "tenure/base/units.h"
#include "tenure/profile/text.h"

namespace tenure::cli {

using profile::History;
using profile::Origin;
using profile::Recorded;

std::string shortcomings(const Recorded& recorded) {
  std::string text;
  if (!recorded.finished) {
    const bool is_running = kill(static_cast<pid_t>(recorded.pid), 0) == 0;
    text += is_running ? "it is still being written; what is there so far is shown\n"
                       : "the program ended without closing it; all that it wrote is shown\n";
  }
  if (recorded.recycled != 0) {
    text += fmt::format(
        "the oldest events gave way to newer ones: it begins after {}{}\n",
        seconds_text(static_cast<double>(recorded.horizon_ns) * 1e-9),
        recorded.is_known_from_before ? "" : ", and who made what was live then is not known");
  }
  if (recorded.dropped != 0) {
    text += fmt::format("{} events found no room\n", recorded.dropped);
  }
  if (recorded.damaged != 0) {
    text += fmt::format("{} pieces are damaged or cut off and were left out\n", recorded.damaged);
  }
  return text;
}

static bool read_damage = false;

bool has_read_damage() { return read_damage; }

std::unique_ptr<Loaded> load(const std::string& path, bool with_spans) {
  auto loaded = std::make_unique<Loaded>(path, with_spans);
  read_damage = read_damage || loaded->recorded.damaged != 0;
  std::string text = shortcomings(loaded->recorded);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    fmt::print(stderr, "tenure: {}: {}\n", plain(path), text.substr(0, end));
    text.erase(0, end + 1);
  }
  return loaded;
}

std::string size_text(std::int64_t bytes, bool with_sign) {
  const std::string text = format_bytes(std::abs(bytes));
  return bytes < 0 ? "-" + text : with_sign && bytes > 0 ? "+" + text : text;
}

std::string taken_text(std::int64_t reserved, std::int64_t outside, std::int64_t total) {
  return fmt::format("{} of {} taken: {} reserved, {} outside (context, libraries, others)",
                     size_text(reserved + outside), size_text(total), size_text(reserved),
                     size_text(outside));
}

Json origin_json(const Origin& origin) {
  Json json = {
      {"op", origin.op}, {"file", origin.file}, {"line", origin.line}, {"scope", origin.scope}};
  if (!origin.caller.empty()) json["caller"] = origin.caller;
  return json;
}

std::string origin_text(const Origin& origin) {
  if (origin.op.empty()) return "buffers of unknown origin";
  return plain(fmt::format("{} at {}{}{}{}{}", origin.op, place_text(origin),
                           origin.scope.empty() ? "" : " in ", origin.scope,
                           origin.caller.empty() ? "" : ", called by ", origin.caller));
}

Json summary_json(const History& history) {
  const Recorded& recorded = history.recorded;
  const profile::Level highest = peak(history);
  std::int64_t allocated = 0;
  for (const profile::StorageLife& life : history.storages) {
    allocated += life.was_before ? 0 : life.bytes;
  }
  Json devices = Json::array();
  for (const profile::DeviceLevel& level : by_device(history)) {
    devices.push_back({{"device", name_of(level.device)},
                       {"peak_bytes", level.peak},
                       {"live_at_end_bytes", level.at_end},
                       {"reserved_bytes", level.reserved},
                       {"outside_bytes", level.outside},
                       {"total_bytes", level.total}});
  }
  return {{"file", recorded.path},
          {"program", recorded.program},
          {"library", recorded.library},
          {"complete", recorded.is_complete() && recorded.recycled == 0 && recorded.dropped == 0},
          {"begins_seconds", static_cast<double>(recorded.horizon_ns) * 1e-9},
          {"events", recorded.events},
          {"dropped", recorded.dropped},
          {"damaged", recorded.damaged},
          {"seconds", static_cast<double>(history.end_ns) * 1e-9},
          {"threads", history.threads},
          {"steps", history.steps.size()},
          {"storages", history.storages.size()},
          {"allocated_bytes", allocated},
          {"peak_bytes", highest.bytes},
          {"peak_seconds", static_cast<double>(highest.time_ns) * 1e-9},
          {"live_at_end_bytes", live_at_end(history)},
          {"devices", devices}};
}

void print_summary(const History& history) {
  const Recorded& recorded = history.recorded;
  const profile::Level highest = peak(history);
  const Terminal terminal;
  const std::string program = plain(recorded.program);
  const std::string facts =
      fmt::format("{} events in {}, {} {}", recorded.events,
                  seconds_text(static_cast<double>(history.end_ns) * 1e-9), history.threads,
                  history.threads == 1 ? "thread" : "threads");
  const bool is_one_line = width_of(program) + width_of(facts) + 2 <= terminal.width();
  fmt::print("{}:{}{}\n", terminal.bold(lines_of(program, terminal.width() - 1).front()),
             is_one_line ? " " : "\n  ", facts);
  fmt::print("  peak        {} after {}\n", terminal.bold(size_text(highest.bytes)),
             seconds_text(static_cast<double>(highest.time_ns) * 1e-9));
  fmt::print("  at the end  {} live\n", size_text(live_at_end(history)));
  if (history.devices.size() == 1) return;
  for (const profile::DeviceLevel& level : by_device(history)) {
    fmt::print("  {:<10}  {} at its peak, {} at the end\n", name_of(level.device),
               size_text(level.peak), size_text(level.at_end));
    if (level.total == 0) continue;
    print_beside(terminal, "", "at most " + taken_text(level.reserved, level.outside, level.total));
  }
}

void print_json(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', true, Json::error_handler_t::replace));
}

/// A file that only this user can read; nullptr, with errno, if it cannot be written.
static std::FILE* open_private(const std::string& path) {
  const int opened = open_descriptor(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  struct stat status {};
  if (opened != -1 && fstat(opened, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_uid == geteuid()) {
    static_cast<void>(fchmod(opened, 0600));  // it may have been there before
  }
  return opened == -1 ? nullptr : fdopen(opened, "wb");
}

void write_file(const std::string& path, const std::string& bytes) {
  const bool is_output = path == "-";
  // Pages and exports tell as much of a program's inside as its recording does.
  std::FILE* const file = is_output ? stdout : open_private(path);
  if (file == nullptr) {
    throw std::runtime_error(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
  }
  const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool is_closed = (is_output ? std::fflush(file) : std::fclose(file)) == 0;
  if (!is_written || !is_closed) {
    throw std::runtime_error(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
  }
}

profile::GroupBy group_by(const std::string& name) {
  if (name == "op") return profile::GroupBy::op;
  if (name == "scope") return profile::GroupBy::scope;
  if (name == "category") return profile::GroupBy::category;
  if (name == "device") return profile::GroupBy::device;
  if (name == "calls") return profile::GroupBy::calls;
  return profile::GroupBy::line;
}

}  // namespace tenure::cli
