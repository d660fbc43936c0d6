#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tenure/io/named_tensors.h"

namespace tenure {

class MappedFile;

/// Free text that a safetensors file has beside its tensors.
using TextMetadata = std::map<std::string, std::string>;

/// A safetensors file. Opening it reads the header alone; the system reads a tensor's bytes when
/// they are first touched. Throws FileError, and FormatError for a file that breaks the format:
/// names twice, gaps, overlaps, sizes that do not fit. In safetensors_read.cpp.
class SafetensorsFile {
 public:
  struct Entry {
    std::string name;
    std::string dtype;  ///< as the format calls it: "F32"
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;  ///< in the file
    std::uint64_t end = 0;
  };

  /// An unknown site leaves it to the caller to name the call in errors.
  explicit SafetensorsFile(std::string path, Site site = Site::current());

  const std::string& path() const { return path_; }
  /// In the order of their bytes.
  const std::vector<Entry>& entries() const { return entries_; }
  const TextMetadata& metadata() const { return metadata_; }
  bool contains(const std::string& name) const { return places_.count(name) != 0; }

  /// A tensor in the mapped file, which stays mapped as long as one of its tensors has data. Its
  /// bytes count as foreign memory in the ledger. Throws ValueError if there is none of this name,
  /// DTypeError for an element type that Tenure lacks.
  Tensor tensor(const std::string& name, Site site = Site::current()) const;

 private:
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::vector<Entry> entries_;
  std::map<std::string, std::size_t> places_;  // in entries_
  TextMetadata metadata_;
};

/// All tensors of a safetensors file, as SafetensorsFile::tensor gives them.
NamedTensors load_safetensors(const std::string& path, Site site = Site::current());

/// Writes byte for byte what the format's own library writes; the file is there as a whole or not
/// at all. Throws FileError, and ValueError for a name that the format reserves or that is not
/// UTF-8. In safetensors_write.cpp.
void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const TextMetadata& metadata = {}, Site site = Site::current());

}  // namespace tenure
