#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/text.h"
#include "tenure/base/units.h"
#include "tenure/io/elements.h"
#include "tenure/io/safetensors.h"
#include "tenure/io/safetensors_format.h"
#include "tenure/memory/threads/call.h"

namespace tenure {
namespace {

std::size_t type_of(DType dtype) {
  return static_cast<std::size_t>(
      std::find_if(std::begin(io::kSafetensorsTypes), std::end(io::kSafetensorsTypes),
                   [&](const auto& type) { return type.dtype == dtype; }) -
      std::begin(io::kSafetensorsTypes));
}

void check_text(const std::string& text, const char* what) {
  if (find_invalid_utf8(text) == std::string_view::npos) return;
  throw ValueError(fmt::format("save_safetensors: {} is not UTF-8", what));
}

std::string header_of(const std::vector<NamedTensors::const_pointer>& tensors,
                      const TextMetadata& metadata) {
  std::string header = "{";
  const auto comma = [&header] { header += header.back() == '{' ? "" : ","; };
  if (!metadata.empty()) {
    header += fmt::format("\"{}\":{{", io::kMetadataName);
    for (const auto& [key, value] : metadata) {
      check_text(key, "a key of the metadata");
      check_text(value, "a value of the metadata");
      comma();
      header += fmt::format("{}:{}", json_string(key), json_string(value));
    }
    header += '}';
  }
  std::size_t offset = 0;
  for (const auto* const named : tensors) {
    const auto& [name, tensor] = *named;
    check_text(name, "a name");
    comma();
    header += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          json_string(name), io::kSafetensorsTypes[type_of(tensor.dtype())].name,
                          fmt::join(tensor.shape(), ","), offset, offset + tensor.nbytes());
    offset += tensor.nbytes();
  }
  header += '}';
  header.resize(round_up(header.size(), 8), ' ');  // so that the data begins at a multiple of 8
  if (header.size() > io::kLongestHeader) {
    throw ValueError(
        fmt::format("save_safetensors: a header of {} bytes is more than the format "
                    "allows",
                    header.size()));
  }
  return header;
}

}  // namespace

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const TextMetadata& metadata, Site site) try {
  const io::Origin origin{.op = "save_safetensors", .site = site};
  std::vector<NamedTensors::const_pointer> order;
  for (const auto& named : tensors) {
    if (named.first == io::kMetadataName) {
      throw ValueError("save_safetensors: the name \"__metadata__\" is reserved");
    }
    static_cast<void>(named.second.body(origin.op, site));
    order.push_back(&named);
  }
  // The widest elements first, so that all are aligned; names, by which the map is sorted, next.
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return type_of(a->second.dtype()) > type_of(b->second.dtype());
  });
  const std::string header = header_of(order, metadata);
  const std::uint64_t length = header.size();
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const auto* const named : order) {
    file.write(io::WrittenElements(named->second, false, origin).bytes());
  }
  file.commit();
} catch (Error& error) {
  mem::name_call(error, "save_safetensors", site);
  throw;
}

}  // namespace tenure
