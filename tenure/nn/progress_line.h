#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tenure/nn/progress.h"
#include "tenure/nn/trainer.h"

namespace tenure::nn {

/// Writes the progress of one epoch: rate, time left, loss, metrics, live and peak memory of a
/// device.
class ProgressLine {
 public:
  /// `automatic` asks whether standard output is a terminal if `out` is std::cout.
  ProgressLine(std::ostream& out, Progress mode, Device device, std::vector<std::string> metrics);

  /// `steps` is 0 where the number of batches is not known.
  void begin(int epoch, int epochs, std::int64_t steps);
  /// The means so far. A bar is redrawn ten times a second at most.
  void update(std::int64_t step, const Scores& means);
  /// The epoch is over; `validation` is what evaluate() said, or null.
  void end(const Scores& means, const Scores* validation);

 private:
  using Clock = std::chrono::steady_clock;
  std::string scores_text(const Scores& scores, const char* prefix) const;
  std::string head() const;
  double seconds() const;
  void draw(const Scores& means);

  std::ostream& out_;
  Progress mode_;
  Device device_;
  std::vector<std::string> metrics_;
  int epoch_ = 0;
  int epochs_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t step_ = 0;
  Clock::time_point started_{};
  Clock::time_point drawn_{};
};

}  // namespace tenure::nn
