#include <fmt/format.h>

#include "tenure/nn/checkpoint.h"
#include "tenure/nn/fit.h"
#include "tenure/ops/random_ops.h"

namespace tenure::nn {
namespace {

std::string metric_key(std::size_t i) { return fmt::format("metric_{}", i); }

}  // namespace

void Fit::save(const std::string& path) const {
  Facts facts{{"epoch", position_.epoch},
              {"batch", position_.next},
              {"rows", means_.rows},
              {"loss", means_.loss},
              {"metrics", static_cast<std::int64_t>(means_.metrics.size())},
              {"generator", default_generator().state()}};
  for (std::size_t i = 0; i < means_.metrics.size(); ++i) {
    facts.emplace(metric_key(i), means_.metrics[i]);
  }
  save_checkpoint(path, values_of(trainer_.variables()), facts);
}

void Fit::load(const std::string& path) {
  const Checkpoint checkpoint = load_checkpoint(path);
  const data::Position position{.epoch = checkpoint.integer("epoch"),
                                .next = checkpoint.integer("batch")};
  if (position.epoch < 0 || position.next < 0 || position.next > training_.size()) {
    throw CheckpointError(path, {fmt::format("batch {} of epoch {}, but the dataset has {} batches",
                                             position.next, position.epoch, training_.size())});
  }
  MeanScores means{.rows = checkpoint.number("rows"), .loss = checkpoint.number("loss")};
  const std::int64_t metrics = checkpoint.integer("metrics");
  for (std::int64_t i = 0; i < metrics; ++i) {
    means.metrics.push_back(checkpoint.number(metric_key(static_cast<std::size_t>(i))));
  }
  const Generator::State generator = checkpoint.generator_state("generator");
  assign_all(trainer_.variables(), checkpoint);
  position_ = position;
  means_ = std::move(means);
  default_generator().set_state(generator);
}

}  // namespace tenure::nn
