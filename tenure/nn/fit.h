#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenure/data/dataset.h"
#include "tenure/io/checkpoint.h"
#include "tenure/memory/leak_guard.h"
#include "tenure/nn/progress.h"
#include "tenure/nn/schedule.h"
#include "tenure/nn/trainer.h"

namespace tenure::nn {

class ProgressLine;

/// Means over batches, each with the weight of its rows; over no rows 0.
struct MeanScores {
  double rows = 0;
  double loss = 0;  ///< summed over rows, as the metrics are
  std::vector<double> metrics{};
  void add(const Scores& scores, double batch);
  Scores get() const;
};

/// What an epoch came to.
struct Epoch {
  int number = 0;  ///< the first is 1
  Scores training{};
  std::optional<Scores> validation{};
  double seconds = 0;
  std::int64_t peak = 0;  ///< most live bytes, of the process
};

/// What a training came to, epoch by epoch.
struct History {
  std::vector<Epoch> epochs{};
  std::vector<std::string> metrics{};  ///< the names of those in Scores
  bool was_interrupted = false;        ///< by Ctrl-C, or by Fit::stop()
  std::string reason{};                ///< why it ended before its last epoch
};

/// The loss became NaN or infinite, and training on would teach nothing.
class DivergedError : public Error {
 public:
  DivergedError(std::int64_t step, double loss);

  /// Of the optimizer, the first is 1.
  std::int64_t step() const { return step_; }
  double loss() const { return loss_; }

 private:
  std::int64_t step_;
  double loss_;
};

class Fit;

/// Looks on while a model is trained. Each function may call Fit::stop().
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_begin(Fit&) {}
  virtual void on_step(Fit&, const Scores&) {}
  virtual void on_epoch(Fit&, const Epoch&) {}
  /// When all callbacks have seen the epoch: what is saved here has the state of each.
  virtual void after_epoch(Fit&, const Epoch&) {}
  /// Also when it was interrupted, and then between two steps.
  virtual void on_end(Fit&, const History&) {}

  // What it must know to go on as if training had never stopped. Checkpoints hold it under its
  // name; one without a name has no state.
  virtual std::string name() const { return {}; }
  virtual Facts state() const { return {}; }
  /// Takes the facts that state() gave; without any it is as at the beginning. Throws ValueError
  /// if they are none of its own.
  virtual void set_state(const Checkpoint&) {}
};

struct FitOptions {
  int epochs = 1;
  std::optional<data::Dataset> validation{};
  std::vector<std::shared_ptr<Callback>> callbacks{};
  /// The rate of each step; unless set, the optimizer's stays.
  Schedule schedule{};
  /// Throws DivergedError after the first step whose loss is not finite. With a loss scale, which
  /// passes by steps that overflow, after 32 such steps in a row.
  bool stop_at_nan = true;
  /// Throws LeakError if steps leave more and more behind, over all epochs; see LeakGuard.
  bool leak_guard = true;
  Progress progress = Progress::automatic;
  std::ostream* out = nullptr;  ///< standard output unless set
};

/// One training of a model on a dataset of batches [x, target].
///
/// Ctrl-C ends it after the step that runs: callbacks are told, a second one ends the program.
class Fit {
 public:
  /// Throws ValueError for a dataset without batches, also to validate, less than one epoch, and a
  /// callback that is null.
  Fit(Trainer& trainer, data::Dataset training, FitOptions options = {},
      Site site = Site::current());

  History run();

  /// Ends it after the step that runs.
  void stop(std::string reason);

  /// Where progress is written from the next run() on; `out` must outlive that.
  void write_to(std::ostream& out) { options_.out = &out; }

  /// All that is needed to go on: model, optimizer, where the epoch stands, what it came to so far,
  /// the state of callbacks, and the default generator. Written as a whole or not at all. Throws
  /// FileError. In fit_checkpoint.cpp.
  void save(const std::string& path, Site site = Site::current()) const;
  /// Goes on as if it had never stopped: run() begins with the step after the last one before
  /// save(). Callbacks that the checkpoint does not know begin anew. Throws FileError, FormatError,
  /// and CheckpointError if it is that of another model or optimizer; then nothing has changed.
  void load(const std::string& path, Site site = Site::current());

  Trainer& trainer() const { return trainer_; }
  const FitOptions& options() const { return options_; }
  /// Where it was made.
  Site site() const { return site_; }

 private:
  Epoch run_epoch(ProgressLine& line, LeakGuard& guard);
  bool is_stopped() const { return !reason_.empty(); }
  void require_finite(double loss);

  Trainer& trainer_;
  data::Dataset training_;
  FitOptions options_;
  data::Position position_{};
  MeanScores means_;
  std::string reason_;
  int not_finite_ = 0;  // losses, one after the other
  Site site_;
};

/// Trains for some epochs; see Fit.
History fit(Trainer& trainer, const data::Dataset& training, const FitOptions& options = {},
            Site site = Site::current());
/// Means over a dataset of batches [x, target]. Throws ValueError if it has none.
Scores evaluate(const Trainer& trainer, const data::Dataset& batches, Site site = Site::current());
/// Predictions for a dataset of batches whose first tensor is x, one after the other.
Tensor predict(const Trainer& trainer, const data::Dataset& batches, Site site = Site::current());

}  // namespace tenure::nn
