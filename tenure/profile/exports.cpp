#include "tenure/profile/exports.h"

#include <fmt/format.h>

#include <map>

#include "tenure/profile/plan_moments.h"
#include "tenure/profile/queries.h"
#include "tenure/profile/rows.h"
#include "tenure/profile/stacks.h"
#include "tenure/profile/text.h"

namespace tenure::profile {
namespace {

std::string quoted_csv(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

// Texts come from fmt::format: format_to a string would compile all of fmt here.

std::string to_chrome_trace(const History& history) {
  constexpr const char* kinds[] = {"op", "scope", "run", "kernel", "launch"};
  const Recorded& recorded = history.recorded;
  const bool has_several = history.devices.size() > 1;
  // What a device did later is in a row of the device's, whose process comes after the program.
  const auto process_of = [](const Span& span) {
    return span.thread == Span::kNoThread ? 1 + mem::place_of(span.device) : std::size_t{1};
  };
  std::string out = R"({"displayTimeUnit":"ns","traceEvents":[)";
  out += fmt::format(R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":{}}}}})",
                     json_string(recorded.program));
  for (const Device device : history.devices) {
    if (device == cpu) continue;
    out += fmt::format(
        ",\n"
        R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"{}"}}}})",
        1 + mem::place_of(device), name_of(device));
  }
  for (const Span& span : history.spans) {
    const Origin& origin = recorded.origin(span.origin);
    const bool is_scope = span.kind == Span::Kind::scope;
    out += fmt::format(
        ",\n"
        R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"cat":"{}","name":{},"args":{{"place":{},"scope":{}{}}}}})",
        process_of(span), span.thread == Span::kNoThread ? 0 : span.thread,
        microseconds(span.begin_ns), microseconds(span.end_ns - span.begin_ns),
        kinds[static_cast<int>(span.kind)],
        json_string(is_scope && !origin.scope.empty() ? origin.scope : origin.op),
        json_string(place_text(origin)), json_string(origin.scope),
        has_several ? fmt::format(R"(,"device":"{}")", name_of(span.device)) : "");
  }
  for (const Device device : history.devices) {
    const std::string of = has_several ? fmt::format(" of {}", name_of(device)) : "";
    for (const Level& level : timeline(history, 2000, device)) {
      out += fmt::format(
          ",\n"
          R"({{"ph":"C","pid":{},"ts":{:.3f},"name":"live bytes{}","args":{{)",
          1 + mem::place_of(device), microseconds(level.time_ns), of);
      for (int c = 0; c < kKinds; ++c) {
        out += fmt::format(R"({}"{}":{})", c == 0 ? "" : ",", kind_name(c),
                           level.category[static_cast<std::size_t>(c)]);
      }
      out += "}}";
    }
  }
  for (const StepMark& step : history.steps) {
    out += fmt::format(
        ",\n"
        R"({{"ph":"i","s":"g","pid":1,"tid":0,"ts":{:.3f},"name":{}}})",
        microseconds(step.time_ns), json_string(recorded.origin(step.origin).op));
  }
  return out + "]}\n";
}

std::string to_speedscope(const History& history) {
  std::map<std::string, std::size_t> numbers;
  std::string frames;
  std::string samples;
  std::string peak_weights;
  std::string all_weights;
  std::int64_t at_peak = 0;
  std::int64_t allocated = 0;
  for (const Stack& stack : stacks(history)) {
    const std::vector<StackFrame> path =
        frames_of(history.recorded, history.recorded.origin(stack.origin));
    samples += samples.empty() ? "[" : ",[";
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto [number, is_new] = numbers.try_emplace(path[i].name, numbers.size());
      if (is_new) {
        frames +=
            fmt::format("{}{{\"name\":{}", frames.empty() ? "" : ",", json_string(path[i].name));
        if (!path[i].file.empty()) {
          frames +=
              fmt::format(",\"file\":{},\"line\":{}", json_string(path[i].file), path[i].line);
        }
        frames += "}";
      }
      samples += fmt::format("{}{}", i == 0 ? "" : ",", number->second);
    }
    samples += "]";
    const char* const comma = peak_weights.empty() ? "" : ",";
    peak_weights += fmt::format("{}{}", comma, stack.peak_bytes);
    all_weights += fmt::format("{}{}", comma, stack.allocated_bytes);
    at_peak += stack.peak_bytes;
    allocated += stack.allocated_bytes;
  }
  const auto profile = [&](const char* name, std::int64_t end, const std::string& weights) {
    return fmt::format(
        R"({{"type":"sampled","name":"{}","unit":"bytes","startValue":0,"endValue":{},"samples":[{}],"weights":[{}]}})",
        name, end, samples, weights);
  };
  return fmt::format(
      R"({{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"tenure","name":{},"shared":{{"frames":[{}]}},"profiles":[{},
{}]}}
)",
      json_string(history.recorded.program), frames,
      profile("live at the peak", at_peak, peak_weights),
      profile("allocated", allocated, all_weights));
}

std::string to_csv(const History& history) {
  const Recorded& recorded = history.recorded;
  std::string out =
      "storage,birth_ns,death_ns,bytes,category,op,file,line,scope,thread,tensor,last_use_ns,"
      "disposed_at,address,name,first_step,last_step,again,inside\n";
  for (const Row& row : rows(history)) {
    const Origin& origin = recorded.origin(row.origin);
    const bool is_storage = row.storage != Row::kNoStorage;
    const StorageLife& life = history.storages[is_storage ? row.storage : row.arena];
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},", life.serial, row.birth_ns,
                       row.death_ns == kNever ? std::string() : fmt::to_string(row.death_ns),
                       row.bytes, kind_name(row.kind), quoted_csv(row.op), quoted_csv(origin.file),
                       origin.line, quoted_csv(row.scope), row.thread);
    if (is_storage) {
      out += fmt::format(
          "{},{},{},{},{},,,,\"\"\n", quoted_csv(to_string(recorded.layout(life.layout))),
          life.last_use_ns < 0 ? std::string() : fmt::to_string(life.last_use_ns),
          quoted_csv(life.disposed == 0 ? std::string()
                                        : place_text(recorded.origin(life.disposed))),
          life.address, quoted_csv(recorded.string(life.name)));
    } else if (row.buffer != nullptr) {
      const RecordedPlan& plan = recorded.plans()[row.plan - 1];
      out +=
          fmt::format("{},,\"\",{},\"\",{},{},{},{}\n", quoted_csv(row.buffer->layout), row.address,
                      row.buffer->first, row.buffer->last, row.buffer->is_again ? 1 : 0,
                      quoted_csv(body_text(plan, row.buffer->body)));
    } else {
      out += "\"\",,\"\",,\"\",,,,\"\"\n";
    }
  }
  return out;
}

}  // namespace tenure::profile
