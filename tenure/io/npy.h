#pragma once

#include <string>

#include "tenure/io/named_tensors.h"

// NumPy's files. bfloat16, which NumPy lacks, is stored as its extension packages store it: as two
// opaque bytes ("<V2").

namespace tenure {

/// The array of a .npy file, of either byte order. An array in Fortran's order keeps it: its first
/// axis has the smallest stride. Throws FileError, FormatError.
Tensor load_npy(const std::string& path, Site site = Site::current());

/// Writes byte for byte what NumPy writes; the file is there as a whole or not at all. Throws
/// FileError.
void save_npy(const std::string& path, const Tensor& tensor, Site site = Site::current());

struct NpzOptions {
  bool compressed = false;
};

// In npz.cpp.

/// All arrays of a .npz file, stored or deflated. Throws FileError, FormatError.
NamedTensors load_npz(const std::string& path, Site site = Site::current());

/// An archive of .npy files; it is there as a whole or not at all. Throws FileError, and ValueError
/// for a name that no entry can have.
void save_npz(const std::string& path, const NamedTensors& tensors, const NpzOptions& options = {},
              Site site = Site::current());

}  // namespace tenure
