#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenure/autograd/error.h"
#include "tenure/graph/variable.h"
#include "tenure/tensor/tensor.h"

namespace tenure {

namespace autograd {
class TapeState;
}

/// What a source that the target does not depend on gets.
enum class Unconnected {
  error,  ///< GradientError
  zero,   ///< zeros of its shape
  none,   ///< an empty handle
};

struct GradientOptions {
  Unconnected unconnected = Unconnected::error;
  /// The gradient that arrives at the target, of its shape and type; ones unless given.
  Tensor output_gradient{};
};

/// One tensor that a tape holds.
struct SavedTensor {
  std::string op;    ///< that needs it on the way back
  Site site{};       ///< of that op's call
  std::string role;  ///< "input 0", "output 0"
  std::uint64_t tensor = 0;
  DType dtype = DType::float32;
  Shape shape{};
  std::int64_t bytes = 0;
  bool is_first = true;  ///< no tensor before it in the list has the same storage
};

struct SavedReport {
  std::vector<SavedTensor> tensors;  ///< in the order of the calls
  std::int64_t bytes = 0;            ///< of their storages, each counted once
};
/// A line each, and the total.
std::string to_string(const SavedReport& report);

/// Takes note of what this thread computes from the tensors that it watches, and computes gradients
/// of it. It holds the data that the way back needs, and nothing else; saved() lists it.
///
///     GradientTape tape;
///     tape.watch(x);
///     Tensor y = sum(x * x);
///     Tensor dx = tape.gradient(y, x);
///
/// What trainable variables hold is watched by itself. Tapes nest: an outer one takes note of the
/// inner one's way back, for gradients of gradients. In graphs and traced functions the gradients
/// become nodes like all else. A tape records on the thread that made it.
class GradientTape {
 public:
  struct Options {
    /// gradient() may be called again: the tape holds on to what it saved until it ends.
    bool persistent = false;
    /// Watches trainable variables when they are read.
    bool watch_variables = true;
  };
  explicit GradientTape(Site site = Site::current());
  explicit GradientTape(const Options& options, Site site = Site::current());
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  /// From here on. Throws DTypeError unless its elements are floats.
  void watch(const Tensor& tensor, Site site = Site::current());
  void watch(const std::vector<Tensor>& tensors, Site site = Site::current());
  void watch(const Variable& variable, Site site = Site::current());

  /// The gradient of the target, or of the sum of its elements if it has several. A tape that is
  /// not persistent stops recording and releases what it holds on the way. Throws GradientError and
  /// DTypeError.
  Tensor gradient(const Tensor& target, const Tensor& source, const GradientOptions& options = {},
                  Site site = Site::current());
  Tensor gradient(const Tensor& target, const Variable& source, const GradientOptions& options = {},
                  Site site = Site::current());
  std::vector<Tensor> gradient(const Tensor& target, const std::vector<Tensor>& sources,
                               const GradientOptions& options = {}, Site site = Site::current());
  std::vector<Tensor> gradient(const Tensor& target, const std::vector<Variable>& sources,
                               const GradientOptions& options = {}, Site site = Site::current());

  /// The derivative of every element of the target by every element of the source: the shape is
  /// the target's, then the source's. Goes back once for each element of the target.
  Tensor jacobian(const Tensor& target, const Tensor& source,
                  Unconnected unconnected = Unconnected::error, Site site = Site::current());

  /// What it holds now. In saved.cpp.
  SavedReport saved() const;

  /// While it lives, the tape takes no note.
  class Pause {
   public:
    explicit Pause(std::shared_ptr<autograd::TapeState> state);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    std::shared_ptr<autograd::TapeState> state_;
  };
  [[nodiscard]] Pause stop_recording() { return Pause(state_); }

 private:
  struct Sources;
  std::vector<Tensor> go_back(const Tensor& target, const Sources& sources,
                              const GradientOptions& options, Site site);
  void require_usable(const Tensor& target, Site site) const;
  void require_connected(const Tensor& target, const Sources& sources, Site site) const;
  void use_up(Site site);

  std::shared_ptr<autograd::TapeState> state_;
  Site used_{};
  bool is_used_ = false;
};

}  // namespace tenure
