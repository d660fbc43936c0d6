#pragma once

#include <limits>
#include <string>

#include "tenure/nn/fit.h"

namespace tenure::nn {

/// A number of an epoch: "loss", "val loss", or a metric with or without "val ".
/// Throws ValueError if there is none of this name.
double score_of(const Fit& fit, const Epoch& epoch, const std::string& name,
                Site site = Site::current());

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
  double best_ = 0;
  int worse_ = 0;
  bool has_best_ = false;
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
