#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/base/json_reader.h"
#include "tenure/base/text.h"
#include "tenure/planner/cycle.h"
#include "tenure/planner/formats.h"

namespace tenure::planner {
namespace {

/// An id and the line where it stands.
using Reference = std::pair<std::string, int>;

struct Entry {
  int line = 0;
  std::string id;
  std::string op;
  bool has_bytes = false;
  Node node;
  std::vector<Reference> inputs;
  std::vector<Reference> overwrites;
};

std::vector<Reference> read_references(JsonReader& json, const char* what) {
  std::vector<Reference> list;
  json.read_array(what, [&] {
    const int line = json.line();
    list.emplace_back(json.read_name("an input"), line);
  });
  return list;
}

std::int64_t read_amount(JsonReader& json, const char* what) {
  const int line = json.line();
  const std::int64_t amount = json.read_integer(what);
  if (amount < 0) json.fail(line, fmt::format("{} is {}; it cannot be negative", what, amount));
  return amount;
}

/// Refuses a member that an object has already.
class Members {
 public:
  explicit Members(JsonReader& json) : json_(json) {}
  void add(const std::string& key) {
    if (seen_.insert(key).second) return;
    json_.fail(json_.line(), fmt::format("the member \"{}\" is there twice", excerpt(key)));
  }

 private:
  JsonReader& json_;
  std::set<std::string> seen_;
};

Entry read_entry(JsonReader& json) {
  Entry entry;
  entry.line = json.line();
  bool has_id = false;
  Members members(json);
  json.read_object("a node", [&](const std::string& key) {
    members.add(key);
    if (key == "id") {
      entry.id = json.read_name("id");
      has_id = true;
    } else if (key == "bytes") {
      entry.node.bytes = read_amount(json, "bytes");
      entry.has_bytes = true;
    } else if (key == "workspace") {
      entry.node.workspace = read_amount(json, "workspace");
    } else if (key == "cost") {
      entry.node.cost = read_amount(json, "cost");
    } else if (key == "inputs") {
      entry.inputs = read_references(json, "inputs");
    } else if (key == "overwrites") {
      entry.overwrites = read_references(json, "overwrites");
    } else if (key == "pure") {
      entry.node.pure = json.read_bool("pure");
    } else if (key == "output") {
      entry.node.output = json.read_bool("output");
    } else if (key == "op") {
      entry.op = json.read_string("op");
    } else {
      json.skip_value();
    }
  });
  if (!has_id) json.fail(entry.line, "a node has no `id`");
  if (!entry.has_bytes)
    json.fail(entry.line, fmt::format("node {} has no `bytes`", excerpt(entry.id)));
  return entry;
}

/// The entries as nodes that name each other by index.
void link(const JsonReader& json, std::vector<Entry>& entries) {
  std::unordered_map<std::string_view, int> index;
  for (const Entry& entry : entries) {
    const int next = static_cast<int>(index.size());
    const auto [found, is_new] = index.emplace(entry.id, next);
    if (!is_new) {
      json.fail(entry.line, fmt::format("id {} was given in line {} already", excerpt(entry.id),
                                        entries[static_cast<std::size_t>(found->second)].line));
    }
  }
  for (Entry& entry : entries) {
    std::vector<int>& inputs = entry.node.inputs;
    for (const auto& [id, line] : entry.inputs) {
      const auto found = index.find(id);
      if (found == index.end()) {
        json.fail(line, fmt::format("node {} reads {}, and no node has that id", excerpt(entry.id),
                                    excerpt(id)));
      }
      if (std::find(inputs.begin(), inputs.end(), found->second) != inputs.end()) {
        json.fail(line,
                  fmt::format("node {} names its input {} twice", excerpt(entry.id), excerpt(id)));
      }
      inputs.push_back(found->second);
    }
    for (const auto& [id, line] : entry.overwrites) {
      const auto same = [&, &wanted = id](const Reference& input) { return input.first == wanted; };
      const auto found = std::find_if(entry.inputs.begin(), entry.inputs.end(), same);
      const auto place = found - entry.inputs.begin();
      if (found == entry.inputs.end() || place >= 32) {
        json.fail(line, fmt::format("node {} overwrites {}, which is none of its first 32 inputs",
                                    excerpt(entry.id), excerpt(id)));
      }
      entry.node.overwrites |= std::uint32_t{1} << place;
    }
  }
}

}  // namespace

Program read_program(std::string_view text, const std::string& file) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  JsonReader json(text, file);
  Program program;
  std::vector<Entry> entries;
  bool has_nodes = false;
  Members members(json);
  json.read_object("the file", [&](const std::string& key) {
    members.add(key);
    if (key == "nodes") {
      json.read_array("nodes", [&] { entries.push_back(read_entry(json)); });
      has_nodes = true;
    } else if (key == "fixed_bytes") {
      program.dag.resident = read_amount(json, "fixed_bytes");
    } else if (key == "name") {
      program.name = json.read_string("name");
    } else {
      json.skip_value();
    }
  });
  json.expect_end();
  if (!has_nodes) json.fail(1, "there are no `nodes`");
  link(json, entries);
  for (Entry& entry : entries) {
    program.ids.push_back(std::move(entry.id));
    program.ops.push_back(std::move(entry.op));
    program.dag.nodes.push_back(std::move(entry.node));
  }
  if (const std::vector<int> cycle = find_cycle(program.dag); !cycle.empty()) {
    std::vector<std::string> ids;
    ids.reserve(cycle.size() + 1);
    constexpr std::size_t kNamed = 10;
    for (std::size_t i = 0; i < std::min(cycle.size(), kNamed); ++i)
      ids.push_back(excerpt(program.ids[static_cast<std::size_t>(cycle[i])]));
    ids.push_back(cycle.size() > kNamed ? fmt::format("... (a cycle of {})", cycle.size())
                                        : ids[0]);
    const int line = entries[static_cast<std::size_t>(cycle[0])].line;
    json.fail(line, fmt::format("nodes wait for each other: {}", fmt::join(ids, " -> ")));
  }
  try {
    check(program.dag);
  } catch (const ValueError& error) {
    throw ValueError(fmt::format("{}: {}", file, error.what()));  // of all lines together
  }
  return program;
}

}  // namespace tenure::planner
