#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenure/tensor/tensor.h"

namespace tenure {

/// One reference to a storage: who keeps the data alive, and from where.
struct Holder {
  HolderKind kind = HolderKind::user;
  Device device = cpu;
  std::uint64_t tensor = 0;
  std::string name;
  std::string op;
  Site site{};
  std::string scope;
};

/// Everyone who holds the data that `tensor` has, or had before it was disposed. Empty once that
/// data is freed.
std::vector<Holder> holders(const Tensor& tensor, Site site = Site::current());

/// A live tensor as a census saw it.
struct TensorInfo {
  std::uint64_t id = 0;
  std::string name;
  std::string op;
  Site site{};
  std::string scope;
  HolderKind kind = HolderKind::user;
  DType dtype = DType::float32;
  Shape shape;
  Device device = cpu;
  std::uint64_t storage = 0;       ///< equal for tensors that share their data
  std::int64_t storage_bytes = 0;  ///< of the whole storage
  bool is_evicted = false;         ///< a budget gave its data up: it is computed again when used
  Category category = Category::activation;
};

/// All tensors of the process that have data, oldest first. Stops the making and ending of tensors
/// on all threads while it looks.
std::vector<TensorInfo> live_tensors();

std::string to_string(const Holder& holder);

}  // namespace tenure
