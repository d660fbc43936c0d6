#pragma once

#include <limits>
#include <string>

#include "tenure/nn/fit.h"

namespace tenure::nn {

/// A number of an epoch: "loss", "val loss", or a metric with or without "val ".
/// Throws ValueError if there is none of this name.
double score_of(const Fit& fit, const Epoch& epoch, const std::string& name,
                Site site = Site::current());

/// The best value of a number so far. What callbacks that wait for better ones have in common.
class BestScore {
 public:
  /// Whether it is better by more than `least_change`, or the first; then it is the best.
  bool improve(double score, bool larger_is_better, double least_change = 0);
  double value() const { return best_; }

  /// Empty facts if there was none.
  Facts state() const;
  void set_state(const Checkpoint& state);

 private:
  double best_ = 0;
  bool has_best_ = false;
};

/// Stops when a number has not become better for so many epochs. A training that it stopped stays
/// stopped, unless it goes on with more patience.
class EarlyStopping final : public Callback {
 public:
  struct Options {
    std::string score = "val loss";
    bool larger_is_better = false;
    int patience = 3;
    double least_change = 0;
  };
  explicit EarlyStopping(Options options, Site site = Site::current());
  void on_begin(Fit& fit) override;
  void on_epoch(Fit& fit, const Epoch& epoch) override;
  std::string name() const override { return "early stopping by " + options_.score; }
  Facts state() const override;
  void set_state(const Checkpoint& state) override;

 private:
  void stop_without_patience(Fit& fit) const;

  Options options_;
  BestScore best_;
  int worse_ = 0;
};

/// Lowers the learning rate when a number has not become better for so many epochs. Not together
/// with FitOptions::schedule, which sets the rate of every step: ValueError when training begins.
class ReduceOnPlateau final : public Callback {
 public:
  struct Options {
    std::string score = "val loss";
    bool larger_is_better = false;
    int patience = 10;
    double least_change = 0;
    double factor = 0.1;    ///< above 0 and below 1
    double least_rate = 0;  ///< it does not go below
    int pause = 0;          ///< epochs after a change that do not count
  };
  explicit ReduceOnPlateau(Options options, Site site = Site::current());
  void on_begin(Fit& fit) override;
  void on_epoch(Fit& fit, const Epoch& epoch) override;
  std::string name() const override { return "reduce on plateau of " + options_.score; }
  Facts state() const override;
  void set_state(const Checkpoint& state) override;

 private:
  Options options_;
  BestScore best_;
  int worse_ = 0;
  int paused_ = 0;
};

/// Saves the weights of the model after each epoch in which a number is better than ever;
/// load_weights() reads them.
class SaveBest final : public Callback {
 public:
  struct Options {
    std::string score = "val loss";
    bool larger_is_better = false;
    bool restore = false;  ///< the model ends with the best weights, also when it was interrupted
  };
  explicit SaveBest(std::string path) : SaveBest(std::move(path), Options()) {}
  SaveBest(std::string path, Options options)
      : path_(std::move(path)), options_(std::move(options)) {}
  void on_epoch(Fit& fit, const Epoch& epoch) override;
  void on_end(Fit& fit, const History& history) override;
  std::string name() const override { return "save best " + options_.score; }
  Facts state() const override { return best_.state(); }
  void set_state(const Checkpoint& state) override { best_.set_state(state); }

 private:
  std::string path_;
  Options options_;
  BestScore best_;
};

/// Saves a checkpoint after every epoch, and when training is interrupted; Fit::load() reads it.
class SaveCheckpoint final : public Callback {
 public:
  explicit SaveCheckpoint(std::string path) : path_(std::move(path)) {}
  void after_epoch(Fit& fit, const Epoch& epoch) override;
  void on_end(Fit& fit, const History& history) override;

 private:
  std::string path_;
};

/// Appends a line for each epoch to a CSV file; writes the heads of the columns into an empty one.
/// Training that goes on from a checkpoint takes back the lines of epochs that it trains again.
class CsvLog final : public Callback {
 public:
  explicit CsvLog(std::string path) : path_(std::move(path)) {}
  void on_begin(Fit& fit) override;
  void on_epoch(Fit& fit, const Epoch& epoch) override;
  std::string name() const override { return "csv log"; }
  Facts state() const override;
  void set_state(const Checkpoint& state) override;

 private:
  std::string path_;
  std::int64_t bytes_ = 0;  // of the file, after its last row; 0: nothing is known
};

}  // namespace tenure::nn
