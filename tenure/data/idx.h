#pragma once

#include <string>

#include "tenure/data/dataset.h"

namespace tenure::data {

/// The tensor of an IDX file, as MNIST and its relatives come, plain or compressed by gzip. Throws
/// FileError, FormatError.
Tensor read_idx(const std::string& path, Site site = Site::current());

/// What a model learns from, and what it is judged by.
struct Split {
  Dataset train;
  Dataset test;
};

/// Handwritten digits: elements are {image, label}, uint8 [28, 28] and int64, 60,000 to learn from
/// and 10,000 to test. The folder has the four IDX files of MNIST, each under its own name, with or
/// without ".gz"; tools/fetch_mnist fetches them. Throws FileError, FormatError.
Split mnist(const std::string& folder, Site site = Site::current());
/// Whether the folder has the four files.
bool has_mnist(const std::string& folder);

/// n drawn digits in the form of MNIST, for where that cannot be had: strokes of a pen, bent,
/// turned and stretched at random, in grey. The same for the same seed, and its first elements do
/// not depend on n. In digits.cpp.
Dataset digits(std::int64_t n, std::uint64_t seed, Site site = Site::current());

}  // namespace tenure::data
