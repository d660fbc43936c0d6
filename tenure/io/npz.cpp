#include <fmt/format.h>

#include "tenure/io/npy.h"
#include "tenure/io/npy_format.h"
#include "tenure/io/zip.h"
#include "tenure/memory/threads/call.h"

namespace tenure {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

NamedTensors load_npz(const std::string& path, Site site) try {
  const InputFile file(path);
  NamedTensors tensors;
  for (const io::ZipEntry& entry : io::read_zip(file)) {
    std::string_view name = entry.name;
    if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
    const std::unique_ptr<io::ByteSource> source = io::open_entry(file, entry);
    Tensor tensor = io::read_npy(*source, {.op = "load_npz", .site = site});
    if (!tensors.emplace(name, std::move(tensor)).second) {
      throw FormatError(path, entry.begin, fmt::format("two arrays have the name \"{}\"", name));
    }
  }
  return tensors;
} catch (Error& error) {
  mem::name_call(error, "load_npz", site);
  throw;
}

void save_npz(const std::string& path, const NamedTensors& tensors, const NpzOptions& options,
              Site site) try {
  AtomicFile file(path);
  io::ZipWriter zip(file);
  for (const auto& [name, tensor] : tensors) {
    const io::WrittenElements elements(tensor, true, {.op = "save_npz", .site = site});
    const std::string header =
        io::npy_header(tensor.dtype(), tensor.shape(), elements.is_fortran_order());
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(header)), elements.bytes()};
    zip.add(name + std::string(kSuffix), options.compressed, parts);
  }
  zip.finish();
  file.commit();
} catch (Error& error) {
  mem::name_call(error, "save_npz", site);
  throw;
}

}  // namespace tenure
