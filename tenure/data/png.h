#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenure/data/dataset.h"

namespace tenure::data {

struct PngOptions {
  /// 1: grey, 3: red, green, blue, 4: with opacity. Images are converted; opacity is dropped, and
  /// 16 bits become 8.
  int channels = 3;
  /// A file that claims more is refused before memory is taken for it.
  std::int64_t max_pixels = std::int64_t{1} << 26;
};

/// An image as uint8 [height, width, channels]. Throws FileError, FormatError.
Tensor read_png(const std::string& path, const PngOptions& options = {},
                Site site = Site::current());

/// Writes uint8 [height, width] or [height, width, channels] with 1, 3 or 4 channels; the file is
/// there as a whole or not at all. Throws FileError, ShapeError, DTypeError.
void write_png(const std::string& path, const Tensor& image, Site site = Site::current());

/// Images of a folder that has a folder for each class.
struct ImageFolder {
  /// Elements are {image, label}: as read_png gives it when it is asked for, and int64.
  Dataset dataset;
  /// The names of the folders, in the order of their labels: sorted.
  std::vector<std::string> classes;
};

/// All .png files of the folders in `folder`, sorted by name. Throws FileError, and ValueError if
/// there is none. In image_folder.cpp.
ImageFolder image_folder(const std::string& folder, const PngOptions& options = {},
                         Site site = Site::current());

}  // namespace tenure::data
