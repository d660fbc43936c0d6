#include "tenure/base/error.h"

#include <fmt/format.h>

#include <system_error>

#include "tenure/base/error_calls.h"
#include "tenure/base/text.h"
#include "tenure/base/units.h"
#include "tenure/base/user_site.h"

namespace tenure {

constinit std::atomic<void (*)(Error&, const char*) noexcept> error_calls{nullptr};

namespace {

constexpr const char* kUse = "calls that used it";

void add_calls(Error& error, const char* heading) noexcept {
  if (auto* const add = error_calls.load(std::memory_order_acquire)) add(error, heading);
}

constexpr std::size_t kLongestProblem = 400;  // it may quote a file, whose names may be of any size

std::string disposed_text(const DisposedError::Facts& f) {
  return fmt::format(
      "{} was used by {} after its data was disposed\n"
      "  created   {} by {}\n"
      "  disposed  {} by {}\n"
      "  used      {} by {}\n"
      "  keep() it or return it from the scope, dispose it later, or clone() it before",
      f.tensor, f.used_by, to_string(f.created), f.created_by, to_string(f.disposed), f.disposed_by,
      to_string(f.used), f.used_by);
}

std::string out_of_memory_text(const OutOfMemory::Facts& f) {
  const bool is_host = f.device == "cpu";
  const std::string where = is_host ? "" : " on " + f.device;
  std::string text;
  switch (f.cause) {
    case OutOfMemory::Cause::budget:
      text = fmt::format("budget \"{}\" refused {}{}: {} of {} are in use", f.budget,
                         format_bytes(static_cast<std::int64_t>(f.requested)), where,
                         format_bytes(static_cast<std::int64_t>(f.used)),
                         format_bytes(static_cast<std::int64_t>(f.limit)));
      break;
    case OutOfMemory::Cause::system:
      text = fmt::format("{} has no {} left; Tenure holds {}{}",
                         is_host ? "the system" : "device " + f.device,
                         f.requested == 0 ? std::string("memory")
                                          : format_bytes(static_cast<std::int64_t>(f.requested)),
                         format_bytes(static_cast<std::int64_t>(f.used)), is_host ? "" : " there");
      break;
    case OutOfMemory::Cause::injected:
      text = fmt::format("allocation of {}{} failed by request of a FaultInjection",
                         format_bytes(static_cast<std::int64_t>(f.requested)), where);
      break;
  }
  if (!f.largest.empty()) text += "\n  largest live holders:";
  for (const HolderGroup& group : f.largest) {
    text +=
        fmt::format("\n    {:>12}  in {} tensor{} made by {} at {}", format_bytes(group.bytes),
                    group.tensors, group.tensors == 1 ? "" : "s", group.op, to_string(group.site));
  }
  if (f.cause == OutOfMemory::Cause::budget) {
    text += "\n  dispose or move what is no longer needed, process smaller batches, or raise the ";
    text += fmt::format("budget to {} or more",
                        format_bytes(static_cast<std::int64_t>(f.used + f.requested)));
  }
  return text;
}

}  // namespace

void Error::show_nul() {
  for (std::size_t at = text_.find('\0'); at != text_.npos; at = text_.find('\0', at)) {
    text_.replace(at, 1, "\\0");
  }
}

ShapeError::ShapeError(std::string_view op, const std::string& problem, Shapes shapes)
    : Error(fmt::format("{}: {}", op, problem)), op_(op), shapes_(std::move(shapes)) {}

DTypeError::DTypeError(std::string_view op, const std::string& problem)
    : Error(fmt::format("{}: {}", op, problem)), op_(op) {}

IndexError::IndexError(std::string_view op, const std::string& problem, std::int64_t index,
                       std::int64_t size)
    : Error(fmt::format("{}: {}", op, problem)), op_(op), index_(index), size_(size) {}

EmptyTensorError::EmptyTensorError(std::string_view user, Site used)
    : Error(fmt::format("{} at {} got an empty handle: it was default-constructed, or its tensor "
                        "was moved away",
                        user, to_string(used)),
            Placed{}),
      used_(used) {
  add_calls(*this, kUse);
}

DisposedError::DisposedError(Facts facts)
    : Error(disposed_text(facts), Placed{}), facts_(std::move(facts)) {}

OutOfMemory::OutOfMemory(Facts facts)
    : Error(out_of_memory_text(facts)), facts_(std::move(facts)) {}

SymbolError::SymbolError(std::string_view user, const std::string& symbol,
                         const std::string& problem, Site created, Site used)
    : Error(fmt::format("{}: {} {}\n  created at {}\n  used    at {}", user, symbol, problem,
                        to_string(created), to_string(used)),
            Placed{}),
      symbol_(symbol),
      created_(created),
      used_(used) {
  add_calls(*this, kUse);
}

ClosedError::ClosedError(const std::string& what, Site closed, Site used)
    : Error(fmt::format("{} is closed\n  closed at {}\n  used   at {}", what, to_string(closed),
                        to_string(used)),
            Placed{}),
      closed_(closed),
      used_(used) {
  add_calls(*this, kUse);
}

GraphError::GraphError(const std::string& problem, Site site)
    : Error(fmt::format("{}\n  at {}", problem, to_string(site)), Placed{}), site_(site) {
  add_calls(*this, "calls that led here");
}

LeakError::LeakError(const std::string& text, std::vector<Growth> growing)
    : Error(text), growing_(std::move(growing)) {}

FileError::FileError(std::string_view action, const std::string& path, int code)
    : Error(
          fmt::format("cannot {} \"{}\": {}", action, path, std::generic_category().message(code))),
      path_(path),
      code_(code) {}

FormatError::FormatError(const std::string& path, std::uint64_t offset, const std::string& problem)
    : Error(fmt::format("\"{}\", byte {}: {}", path, offset, excerpt(problem, kLongestProblem))),
      path_(path),
      offset_(offset) {}

InternalError::InternalError(const std::string& problem, Site site)
    : Error(fmt::format("internal error at {}: {}; please report it", to_string(site), problem)) {}

std::string to_string(Site site) {
  if (site.line() != 0 && user_site(site).line() == 0) return "(standard library)";
  std::string_view file = site.file_name();
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  if (file.empty()) return "(unknown)";
  return fmt::format("{}:{}", file, site.line());
}

}  // namespace tenure
