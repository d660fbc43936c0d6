#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "tenure/base/object_mutex.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"
#include "tenure/tensor/tensor.h"

namespace tenure::graph {

/// What the copies of a variable share. Any thread may use it.
class VariableState {
 public:
  /// `value` is contiguous and nobody else's.
  VariableState(std::string name, bool trainable, Tensor value, Site site);

  const std::uint64_t number;  ///< no two variables of a process have the same
  const std::string name;
  const bool trainable;
  const DType dtype;
  const Shape shape;
  const Site created;
  /// Of what it holds: that of the scope in which it was made, a parameter unless one was set.
  const Category category;

  /// Where what it holds is.
  Device device() const noexcept { return device_.load(std::memory_order_relaxed); }
  /// For messages: its name, behind the names of the layers that it is in.
  std::string path() const;
  /// Of a path that ends as its path does; others are of a second place, and change nothing.
  void extend_path(std::string path);

  /// What it holds now.
  Tensor value() const;
  /// The same, and which of all that it has held that is: elements of one version are the same,
  /// unless somebody was given the right to write to them (Storage::last_write).
  struct Held {
    Tensor value;
    std::uint64_t version = 0;
  };
  Held held() const;
  /// While it lives, nobody else reads or changes what the variable holds.
  std::unique_lock<ObjectMutex> lock() const { return std::unique_lock(mutex_); }
  /// For whoever has the lock. The handle is the variable's own: to copy it keeps the data from
  /// being computed in.
  Tensor& locked_value() { return value_; }
  /// For whoever has the lock: takes over a tensor that fits, is contiguous and nobody else's.
  /// Gives what it held before.
  Tensor replace_locked(Tensor value) {
    ++version_;
    return std::exchange(value_, prepared(std::move(value)));
  }
  /// Throws DisposedError. For whoever has the lock.
  void require_data(const char* user, Site site) const;
  /// Takes over a tensor that is contiguous and nobody else's. Throws ShapeError or DTypeError, and
  /// DisposedError if the variable was disposed.
  void replace(Tensor value, Site site);
  /// Writes the elements of a tensor that fits to the memory that it has; false if others hold
  /// that.
  bool copy_in(const Tensor& from, Site site);
  /// Computes `op` of what it holds and `value` in the memory that it has; false if others hold
  /// that, or the result does not fit. Throws what the op throws; then it holds what it held.
  bool update(const ops::OpRecord& op, const Operand& value);
  /// Throws ShapeError or DTypeError unless such a tensor may be assigned.
  void require_fit(DType type, const Shape& dims) const;
  void dispose(Site site) const;
  /// For whoever has the lock: replace_locked() by a tensor that is elsewhere.
  Tensor move_locked(Tensor value);

 private:
  bool can_compute_in() const;
  static mem::Population& population();

  /// Makes a tensor the variable's own.
  Tensor prepared(Tensor value) const;

  const mem::Counted counted_;
  std::atomic<Device> device_;
  mutable ObjectMutex mutex_;
  Tensor value_;
  std::uint64_t version_ = 1;  // of what value_ has: elements may change in place
  std::string path_;           // empty: the name
};

}  // namespace tenure::graph
