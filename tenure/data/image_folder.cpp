#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/data/png.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/creation.h"

namespace tenure::data {
namespace {

namespace fs = std::filesystem;

/// What a folder has, sorted by name.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    paths.push_back(entry->path());
  }
  if (error) throw FileError("list", folder.string(), error.value());
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_png(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return extension == ".png";
}

}  // namespace

ImageFolder image_folder(const std::string& folder, const PngOptions& options, Site site) try {
  std::vector<std::pair<std::string, std::int64_t>> files;
  std::vector<std::string> classes;
  for (const fs::path& entry : sorted_entries(folder)) {
    std::error_code error;
    if (!fs::is_directory(entry, error)) continue;
    const auto label = static_cast<std::int64_t>(classes.size());
    classes.push_back(entry.filename().string());
    for (const fs::path& file : sorted_entries(entry)) {
      if (is_png(file)) files.emplace_back(file.string(), label);
    }
  }
  if (files.empty()) {
    throw ValueError(
        fmt::format("image_folder: no folder in \"{}\" has a .png file; there must be a folder of "
                    "them for each class",
                    folder));
  }
  const auto count = static_cast<std::int64_t>(files.size());
  const auto read = [files = std::move(files), options, site](std::int64_t place) {
    const auto& [path, label] = files[static_cast<std::size_t>(place)];
    return Batch{read_png(path, options, site), tensor(label, DType::int64, site)};
  };
  return {.dataset = from_function(count, read, site), .classes = std::move(classes)};
} catch (Error& error) {
  mem::name_call(error, "image_folder", site);
  throw;
}

}  // namespace tenure::data
