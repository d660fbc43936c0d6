#include "tenure/io/checkpoint.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "tenure/base/json_reader.h"
#include "tenure/base/text.h"
#include "tenure/io/safetensors.h"
#include "tenure/memory/threads/call.h"

namespace tenure {
namespace {

/// Names the format and its version in the metadata.
constexpr const char* kMark = "tenure_checkpoint";
constexpr const char* kVersion = "1";

/// A number that reads as one with a fraction, so that it comes back as a double.
std::string written(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
std::string written(std::int64_t value) { return std::to_string(value); }
std::string written(const std::string& value) {
  if (find_invalid_utf8(value) != std::string::npos) {
    throw ValueError(fmt::format("save_checkpoint: the text \"{}\" is not UTF-8", excerpt(value)));
  }
  return json_string(value);
}

Fact read_number(const std::string& text, const std::string& path, const std::string& name) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity" || text == "-Infinity") return text[0] == '-' ? -kInfinity : kInfinity;
  const auto read = [&text](auto value) -> std::optional<Fact> {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Fact(value);
  };
  std::optional<Fact> fact = read(std::int64_t{});
  if (!fact) fact = read(double{});
  if (!fact) {
    throw FormatError(path, 0, fmt::format("the fact \"{}\" is {}, no value of JSON", name, text));
  }
  return *std::move(fact);
}

Fact read_fact(const std::string& text, const std::string& path, const std::string& name) {
  if (!text.starts_with('"')) return read_number(text, path, name);
  JsonReader json(text, "fact");
  try {
    std::string value = json.read_string("a fact");
    json.expect_end();
    return value;
  } catch (const ValueError& error) {
    throw FormatError(path, 0, fmt::format("the fact \"{}\": {}", name, error.what()));
  }
}

template <class Map>
const auto& find(const Map& map, const std::string& name, const std::string& path,
                 const char* what) {
  const auto found = map.find(name);
  if (found == map.end()) {
    throw ValueError(fmt::format("the checkpoint \"{}\" has no {} \"{}\" among its {}", path, what,
                                 name, map.size()));
  }
  return found->second;
}

[[noreturn]] void throw_other_type(const std::string& path, const std::string& name,
                                   const char* wanted) {
  throw ValueError(fmt::format("the fact \"{}\" of \"{}\" is not {}", name, path, wanted));
}

template <class T>
const T& get(const Checkpoint& checkpoint, const std::string& name, const char* wanted) {
  const auto* const value =
      std::get_if<T>(&find(checkpoint.facts, name, checkpoint.path, "fact").value());
  if (value == nullptr) throw_other_type(checkpoint.path, name, wanted);
  return *value;
}

Generator::State read_state(const Checkpoint& checkpoint, const std::string& name) {
  constexpr std::string_view kSeed = "seed ";
  constexpr std::string_view kOffset = " offset ";
  constexpr const char* kWanted = "the state of a generator";
  std::string_view rest = get<std::string>(checkpoint, name, "a text");
  const auto read = [&](std::string_view word) {
    std::uint64_t number = 0;
    const bool has_word = rest.starts_with(word);
    if (has_word) rest.remove_prefix(word.size());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (!has_word || error != std::errc()) throw_other_type(checkpoint.path, name, kWanted);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return number;
  };
  Generator::State state;
  state.seed = read(kSeed);
  state.offset = read(kOffset);
  if (!rest.empty()) throw_other_type(checkpoint.path, name, kWanted);
  return state;
}

}  // namespace

Fact::Fact(const Generator::State& state)
    : value_(fmt::format("seed {} offset {}", state.seed, state.offset)) {}

const Tensor& Checkpoint::tensor(const std::string& name, Site site) const {
  return mem::in_call("tensor()", site,
                      [&]() -> const Tensor& { return find(tensors, name, path, "tensor"); });
}

std::int64_t Checkpoint::integer(const std::string& name, Site site) const {
  return mem::in_call("integer()", site,
                      [&] { return get<std::int64_t>(*this, name, "an integer"); });
}

double Checkpoint::number(const std::string& name, Site site) const {
  return mem::in_call("number()", site, [&] {
    const Fact& fact = find(facts, name, path, "fact");
    const auto* const integer = std::get_if<std::int64_t>(&fact.value());
    return integer == nullptr ? get<double>(*this, name, "a number")
                              : static_cast<double>(*integer);
  });
}

const std::string& Checkpoint::text(const std::string& name, Site site) const {
  return mem::in_call("text()", site, [&]() -> const std::string& {
    return get<std::string>(*this, name, "a text");
  });
}

Generator::State Checkpoint::generator_state(const std::string& name, Site site) const {
  return mem::in_call("generator_state()", site, [&] { return read_state(*this, name); });
}

void save_checkpoint(const std::string& path, const NamedTensors& tensors, const Facts& facts,
                     Site site) try {
  TextMetadata metadata{{kMark, kVersion}};
  for (const auto& [name, fact] : facts) {
    const std::string text =
        std::visit([](const auto& value) { return written(value); }, fact.value());
    if (!metadata.emplace(name, text).second) {
      throw ValueError(fmt::format("save_checkpoint: the name \"{}\" is reserved", kMark));
    }
  }
  save_safetensors(path, tensors, metadata, site);
} catch (Error& error) {
  mem::name_call(error, "save_checkpoint", site);
  throw;
}

Checkpoint load_checkpoint(const std::string& path, Site site) try {
  const SafetensorsFile file(path, Site());
  const auto mark = file.metadata().find(kMark);
  if (mark == file.metadata().end()) {
    throw FormatError(path, 0, "this is no checkpoint; load_safetensors reads its tensors");
  }
  if (mark->second != kVersion) {
    throw FormatError(path, 0,
                      fmt::format("checkpoints of version {} are not supported", mark->second));
  }
  Checkpoint checkpoint{.path = path};
  for (const auto& [name, text] : file.metadata()) {
    if (name != kMark) checkpoint.facts.emplace(name, read_fact(text, path, name));
  }
  for (const SafetensorsFile::Entry& entry : file.entries()) {
    checkpoint.tensors.emplace(entry.name, file.tensor(entry.name, site));
  }
  return checkpoint;
} catch (Error& error) {
  mem::name_call(error, "load_checkpoint", site);
  throw;
}

}  // namespace tenure
