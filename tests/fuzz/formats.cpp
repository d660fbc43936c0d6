#include "tests/fuzz/formats.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "tenure/base/json_reader.h"
#include "tenure/base/text.h"
#include "tenure/io/zip.h"
#include "tenure/planner/formats.h"
#include "tenure/profile/exports.h"
#include "tenure/profile/format.h"
#include "tenure/profile/queries.h"
#include "tenure/profile/report.h"
#include "tenure/tenure.h"

namespace tenure::fuzz {
namespace {

void require(bool holds, const std::string& promise) {
  if (!holds) throw std::logic_error(promise);
}

/// Touches all elements.
void use(const Tensor& tensor) { static_cast<void>(tensor.to_vector<float>()); }
void use(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) use(tensor);
}

void read_npy(const std::string& path, std::string_view) { use(load_npy(path)); }
void read_npz(const std::string& path, std::string_view) { use(load_npz(path)); }
void read_safetensors(const std::string& path, std::string_view) { use(load_safetensors(path)); }
void read_checkpoint(const std::string& path, std::string_view) {
  use(load_checkpoint(path).tensors);
}
void read_idx(const std::string& path, std::string_view) { use(data::read_idx(path)); }

void read_zip(const std::string& path, std::string_view) {
  const InputFile file(path);
  for (const io::ZipEntry& entry : io::read_zip(file)) {
    const auto source = io::open_entry(file, entry);
    std::byte buffer[4096];
    for (std::uint64_t left = entry.size; left > 0;) {
      const std::size_t part = std::min<std::uint64_t>(left, sizeof buffer);
      source->read({buffer, part});
      left -= part;
    }
  }
}

void read_csv(const std::string& path, std::string_view) {
  for (const data::Column& column : data::read_csv(path, {.header = true}).columns) {
    use(column.values);
  }
}

void read_png(const std::string& path, std::string_view) {
  for (const int channels : {1, 3, 4}) {
    use(data::read_png(path, {.channels = channels, .max_pixels = 1 << 16}));
  }
}

void read_recording(const std::string& path, std::string_view) {
  const profile::Recorded recorded(path);
  const profile::History history(recorded, true);
  static_cast<void>(profile::report_data(history));
  static_cast<void>(profile::to_chrome_trace(history));
  static_cast<void>(profile::to_pprof(history));
  static_cast<void>(profile::to_speedscope(history));
  static_cast<void>(profile::to_csv(history));
}

/// A recording of chunks with these payloads, each after its kind in one byte and its length in
/// two. Checksums, and chunks of 64 KiB, would keep changes of whole files from being read.
std::string recording_of(std::string_view payloads) {
  using namespace profile;
  constexpr std::size_t kMostChunks = 8;
  const auto bytes_of = [](const auto& head) { return std::as_bytes(std::span(&head, 1)); };
  FileHeader file{};
  std::memcpy(file.magic, kMagic, sizeof kMagic);
  file.version = kVersion;
  file.byte_order = kByteOrder;
  file.chunk_bytes = kChunkBytes;
  file.finished = 1;
  file.head_check = checksum(bytes_of(file).first(offsetof(FileHeader, head_check)));
  std::string all(reinterpret_cast<const char*>(&file), sizeof file);
  for (std::size_t n = 1; n <= kMostChunks && payloads.size() >= 3; ++n) {
    all.resize(n * kChunkBytes);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(payloads[i]); };
    const bool defines = byte(0) % 2 == 1;
    const std::size_t length =
        std::min<std::size_t>({byte(1) + 256U * byte(2), payloads.size() - 3, kPayloadBytes});
    ChunkHeader head{};
    head.magic = kChunkMagic;
    head.kind = defines ? ChunkKind::definitions : ChunkKind::events;
    head.thread = byte(0) / 2U;
    head.sequence = n;
    head.committed = static_cast<std::uint32_t>(length);
    head.head_check = checksum(bytes_of(head).first(offsetof(ChunkHeader, head_check)));
    all.append(reinterpret_cast<const char*>(&head), sizeof head);
    all.append(payloads.substr(3, length));
    payloads.remove_prefix(3 + length);
  }
  return all;
}

void read_buffers(const std::string&, std::string_view content) {
  const planner::BufferTable table = planner::read_buffers(content, "file");
  if (table.problem.buffers.size() > 32) return;
  const planner::OffsetPlan plan = planner::solve(table.problem, {.steps = 500});
  const auto problem = planner::validate(table.problem, plan);
  require(!problem, "a plan is valid: " + problem.value_or(""));
}

void read_program(const std::string&, std::string_view content) {
  const planner::Dag dag = planner::read_program(content, "file").dag;
  check(dag);
}

void read_json(const std::string&, std::string_view content) {
  JsonReader json(content, "file");
  json.skip_value();
  json.expect_end();
  const std::string quoted = json_string(content);
  const std::string back = JsonReader(quoted, "file").read_string("it");
  require(find_invalid_utf8(content) != std::string_view::npos || back == content,
          "a text comes back as it was");
}

void read_payloads(const std::string& path, std::string_view content);

constexpr Format kFormats[] = {
    {"npy", read_npy},
    {"npz", read_npz},
    {"zip", read_zip},
    {"safetensors", read_safetensors},
    {"checkpoint", read_checkpoint},
    {"idx", read_idx},
    {"csv", read_csv},
    {"png", read_png},
    {"recording", read_recording},
    {"payloads", read_payloads},
    {"buffers", read_buffers},
    {"program", read_program},
    {"json", read_json},
};

/// A file that is in memory alone.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    const auto size = static_cast<ssize_t>(content.size());
    if (file_ < 0 || write(file_, content.data(), content.size()) != size) {
      throw std::runtime_error("no file in memory");
    }
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  int file_;
};

void read_payloads(const std::string&, std::string_view content) {
  const MemoryFile file(recording_of(content));
  read_recording(file.path(), content);
}

}  // namespace

std::span<const Format> formats() { return kFormats; }

void survive(const Format& format, std::string_view content) {
  // Deflate makes a byte of at most 1032; then come elements of a wider type, and room for texts.
  const auto most = static_cast<std::int64_t>((16 * MiB) + (1032 * 8 * content.size()));
  const MemoryStats before = memory();
  reset_peak();
  try {
    const MemoryFile file(content);
    format.read(file.path(), content);
  } catch (const Error& error) {
    constexpr std::size_t kLongest = 2000;
    require(std::string_view(error.what()).size() < kLongest, "errors are short");
    require(dynamic_cast<const InternalError*>(&error) == nullptr, error.what());
  }
  require(memory().peak - before.bytes <= most, "memory is bounded by the file's size");
  require(memory().bytes == before.bytes && memory().tensors == before.tensors &&
              memory().foreign_bytes == before.foreign_bytes,
          "nothing is left behind");
}

}  // namespace tenure::fuzz
