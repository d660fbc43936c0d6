#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "tenure/base/json_reader.h"
#include "tenure/base/text.h"
#include "tenure/io/elements.h"
#include "tenure/io/safetensors.h"
#include "tenure/io/safetensors_format.h"
#include "tenure/memory/threads/call.h"

namespace tenure {
namespace {

using Entry = SafetensorsFile::Entry;

/// In front of the header: its length.
constexpr std::uint64_t kFront = 8;

/// What the header says; offsets count from the end of the header until they are checked.
struct Header {
  std::vector<Entry> entries;
  TextMetadata metadata;
};

std::uint64_t read_size(JsonReader& json, const char* what) {
  const std::int64_t size = json.read_integer(what);
  if (size < 0) json.fail(json.line(), fmt::format("{} is negative: {}", what, size));
  return static_cast<std::uint64_t>(size);
}

Entry read_entry(JsonReader& json, const std::string& name) {
  Entry entry;
  entry.name = name;
  std::vector<std::uint64_t> offsets;
  std::set<std::string> seen;
  json.read_object("a tensor", [&](const std::string& key) {
    if (!seen.insert(key).second) {
      json.fail(json.line(), fmt::format("\"{}\" has \"{}\" twice", name, key));
    }
    if (key == "dtype") {
      entry.dtype = json.read_string("dtype");
    } else if (key == "shape") {
      json.read_array("shape", [&] {
        entry.shape.push_back(static_cast<std::int64_t>(read_size(json, "a size")));
        if (entry.shape.size() > kMaxRank) {
          json.fail(json.line(), fmt::format("\"{}\" has more than {} axes", name, kMaxRank));
        }
      });
    } else if (key == "data_offsets") {
      json.read_array("data_offsets", [&] {
        offsets.push_back(read_size(json, "an offset"));
        if (offsets.size() > 2) json.fail(json.line(), "data_offsets has more than two numbers");
      });
    } else {
      json.fail(json.line(), fmt::format("\"{}\" has an unknown key \"{}\"", name, key));
    }
  });
  if (seen.size() != 3 || offsets.size() != 2) {
    json.fail(json.line(), fmt::format("\"{}\" needs dtype, shape and two data_offsets", name));
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

Header read_header(std::string_view text, const std::string& path) {
  Header header;
  std::set<std::string> names;
  JsonReader json(text, "header");
  try {
    json.read_object("the header", [&](const std::string& name) {
      if (!names.insert(name).second) {
        json.fail(json.line(), fmt::format("two entries have the name \"{}\"", name));
      }
      if (name != io::kMetadataName) {
        header.entries.push_back(read_entry(json, name));
        return;
      }
      json.read_object("__metadata__", [&](const std::string& key) {
        if (!header.metadata.emplace(key, json.read_string("metadata")).second) {
          json.fail(json.line(), fmt::format("__metadata__ has \"{}\" twice", key));
        }
      });
    });
    json.expect_end();
  } catch (const ValueError& error) {
    throw FormatError(path, kFront + json.offset(), error.what());
  }
  return header;
}

/// Bytes that shape and type call for; none if the type is unknown.
std::optional<std::uint64_t> expected_bytes(const Entry& entry, const std::string& path,
                                            std::uint64_t offset) {
  const auto* const type =
      std::find_if(std::begin(io::kSafetensorsTypes), std::end(io::kSafetensorsTypes),
                   [&](const auto& candidate) { return candidate.name == entry.dtype; });
  if (type == std::end(io::kSafetensorsTypes)) return std::nullopt;
  try {
    return static_cast<std::uint64_t>(
               check_shape(Shape(std::span(entry.shape)), type->size, "shape")) *
           type->size;
  } catch (const ShapeError& error) {
    throw FormatError(path, offset, fmt::format("\"{}\": {}", entry.name, error.what()));
  }
}

/// Sorts the entries by place and holds them to covering [begin, end) without gaps.
void place_entries(std::vector<Entry>& entries, std::uint64_t begin, std::uint64_t end,
                   const std::string& path) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (Entry& entry : entries) {
    const auto fail = [&](const std::string& problem) {
      throw FormatError(path, begin + at, fmt::format("\"{}\" {}", entry.name, problem));
    };
    if (entry.begin != at) {
      fail(fmt::format("begins at byte {} of the data; {} is expected", entry.begin, at));
    }
    if (entry.end < entry.begin || entry.end > end - begin) {
      fail(fmt::format("ends at byte {} of the data, which has {}", entry.end, end - begin));
    }
    const std::optional<std::uint64_t> expected = expected_bytes(entry, path, begin + at);
    if (expected && *expected != entry.end - entry.begin) {
      fail(fmt::format("has {} bytes; {}{} needs {}", entry.end - entry.begin, entry.dtype,
                       to_string(Shape(entry.shape)), *expected));
    }
    at = entry.end;
    entry.begin += begin;
    entry.end += begin;
  }
  if (at != end - begin) {
    throw FormatError(path, begin + at,
                      fmt::format("{} bytes belong to no tensor", end - begin - at));
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path, Site site) try : path_(std::move(path)) {
  const InputFile input(path_);
  std::uint64_t length = 0;
  input.read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > io::kLongestHeader || length > input.size() - kFront) {
    throw FormatError(
        path_, 0,
        fmt::format("a header of {} bytes is claimed; the file has {}, and the format "
                    "allows {}",
                    length, input.size(), io::kLongestHeader));
  }
  file_ = std::make_shared<MappedFile>(input);
  const std::string_view text(reinterpret_cast<const char*>(file_->bytes().data()) + kFront,
                              static_cast<std::size_t>(length));
  if (!text.starts_with('{')) throw FormatError(path_, kFront, "the header must begin with `{`");
  if (const std::size_t at = find_invalid_utf8(text); at != std::string_view::npos) {
    throw FormatError(path_, kFront + at, "the header is not UTF-8");
  }
  Header header = read_header(text, path_);
  place_entries(header.entries, kFront + length, input.size(), path_);
  entries_ = std::move(header.entries);
  metadata_ = std::move(header.metadata);
  for (std::size_t i = 0; i < entries_.size(); ++i) places_.emplace(entries_[i].name, i);
} catch (Error& error) {
  mem::name_call(error, "SafetensorsFile", site);
}

Tensor SafetensorsFile::tensor(const std::string& name, Site site) const try {
  const auto place = places_.find(name);
  if (place == places_.end()) {
    throw ValueError(
        fmt::format("\"{}\" has no tensor \"{}\" among its {}", path_, name, entries_.size()));
  }
  const Entry& entry = entries_[place->second];
  for (const io::SafetensorsType& type : io::kSafetensorsTypes) {
    if (type.name != entry.dtype || !type.dtype) continue;
    const auto begin = static_cast<std::size_t>(entry.begin);
    return io::map_elements(
        file_, path_, entry.begin,
        file_->bytes().subspan(begin, static_cast<std::size_t>(entry.end) - begin),
        {.dtype = *type.dtype, .shape = Shape(entry.shape)},
        {.op = "load_safetensors", .site = site});
  }
  throw DTypeError("load_safetensors",
                   fmt::format("\"{}\" of \"{}\" has elements of type {}, which "
                               "Tenure lacks",
                               name, path_, entry.dtype));
} catch (Error& error) {
  mem::name_call(error, "tensor", site);
  throw;
}

NamedTensors load_safetensors(const std::string& path, Site site) try {
  const SafetensorsFile file(path, Site());
  NamedTensors tensors;
  for (const Entry& entry : file.entries()) {
    tensors.emplace(entry.name, file.tensor(entry.name, site));
  }
  return tensors;
} catch (Error& error) {
  mem::name_call(error, "load_safetensors", site);
  throw;
}

}  // namespace tenure
