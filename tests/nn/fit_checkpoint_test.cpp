#include <gtest/gtest.h>

#include <filesystem>

#include "tenure/tenure.h"
#include "tests/nn/fit_setting.h"

// Training that stops and goes on from a checkpoint.

namespace tenure {
namespace {

using test::kQuiet;
using test::loss_of;
using test::points;
using test::Setting;
using test::temporary;

TEST(Fit, GoesOnAsIfItHadNeverStopped) {
  const data::Dataset batches = points(300).shuffle(1).batch(32);
  const nn::FitOptions options{.epochs = 3, .progress = kQuiet};
  Setting whole;
  seed(11);
  const nn::History expected = nn::fit(whole.trainer, batches, options);

  struct StopAt final : nn::Callback {
    explicit StopAt(int step) : left(step) {}
    void on_step(nn::Fit& fit, const nn::Scores&) override {
      if (--left == 0) fit.stop("enough");
    }
    int left;
  };
  const std::string path = temporary("resume.safetensors");
  {
    Setting first;
    seed(11);
    nn::FitOptions stopping = options;
    stopping.callbacks = {std::make_shared<StopAt>(14), std::make_shared<nn::SaveCheckpoint>(path)};
    const nn::History cut = nn::Fit(first.trainer, batches, stopping).run();
    EXPECT_TRUE(cut.was_interrupted);
    EXPECT_EQ(cut.reason, "enough");
    EXPECT_EQ(cut.epochs.size(), 1u);
  }
  Setting second;
  seed(99);
  nn::Fit rest(second.trainer, batches, options);
  rest.load(path);
  const nn::History resumed = rest.run();
  ASSERT_EQ(resumed.epochs.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(resumed.epochs[at].training.loss, expected.epochs[at + 1].training.loss);
    EXPECT_EQ(resumed.epochs[at].training.metrics, expected.epochs[at + 1].training.metrics);
  }
  std::filesystem::remove(path);
}

TEST(Fit, GoesOnWithThePatienceThatIsLeft) {
  const std::string path = temporary("patience.safetensors");
  const data::Dataset batches = points(64).batch(16);
  const auto options = [&](int epochs, int patience, bool saves_first) {
    nn::FitOptions o{.epochs = epochs, .validation = batches, .progress = kQuiet};
    o.callbacks = {
        std::make_shared<nn::EarlyStopping>(nn::EarlyStopping::Options{.patience = patience}),
        std::make_shared<nn::EarlyStopping>(
            nn::EarlyStopping::Options{.score = "val loss", .patience = 100})};
    o.callbacks.insert(saves_first ? o.callbacks.begin() : o.callbacks.end(),
                       std::make_shared<nn::SaveCheckpoint>(path));
    return o;
  };
  for (const bool saves_first : {false, true}) {
    Setting setting;
    setting.adam.set_learning_rate(0);  // so that nothing becomes better
    const nn::History whole = nn::Fit(setting.trainer, batches, options(20, 4, saves_first)).run();
    EXPECT_EQ(whole.epochs.size(), 5u);
    const nn::History first = nn::Fit(setting.trainer, batches, options(3, 4, saves_first)).run();
    EXPECT_EQ(first.epochs.size(), 3u);
    nn::Fit rest(setting.trainer, batches, options(20, 4, saves_first));
    rest.load(path);
    const nn::History second = rest.run();
    EXPECT_EQ(second.epochs.size(), 2u);
    EXPECT_EQ(second.reason, whole.reason);

    // What had stopped stays so; with more patience it goes on.
    nn::Fit stopped(setting.trainer, batches, options(20, 4, saves_first));
    stopped.load(path);
    const nn::History none = stopped.run();
    EXPECT_TRUE(none.epochs.empty());
    EXPECT_EQ(none.reason, whole.reason);
    nn::Fit patient(setting.trainer, batches, options(20, 6, saves_first));
    patient.load(path);
    EXPECT_EQ(patient.run().epochs.size(), 2u);
  }
  std::filesystem::remove(path);
}

TEST(Fit, ACallbackThatRefusesItsStateChangesNothing) {
  const std::string path = temporary("refused.safetensors");
  const data::Dataset batches = points(64).batch(16);
  Setting setting;
  struct Refuses final : nn::Callback {
    std::string name() const override { return "refuses"; }
    Facts state() const override { return {{"number", 1}}; }
    void set_state(const Checkpoint& state) override {
      if (state.facts.empty() || state.path.empty()) return;
      throw ValueError("not this one");
    }
  };
  const auto stopping = std::make_shared<nn::EarlyStopping>(
      nn::EarlyStopping::Options{.score = "loss", .patience = 9});
  nn::Fit fit(
      setting.trainer, batches,
      {.epochs = 2, .callbacks = {stopping, std::make_shared<Refuses>()}, .progress = kQuiet});
  fit.save(path);
  fit.run();
  const Facts before = stopping->state();
  EXPECT_EQ(before.size(), 2u);
  const auto weights = setting.model.parameters()[0].variable.value().to_vector<float>();
  EXPECT_THROW(fit.load(path), ValueError);
  EXPECT_EQ(stopping->state(), before);
  EXPECT_EQ(setting.model.parameters()[0].variable.value().to_vector<float>(), weights);
  EXPECT_TRUE(fit.run().epochs.empty());
  std::filesystem::remove(path);
}

TEST(Fit, LoadsCheckpointsWhoseStepsAreFloats) {
  const std::string path = temporary("float_steps.safetensors");
  const data::Dataset batches = points(64).batch(16);
  Setting setting;
  nn::Fit fit(setting.trainer, batches, {.progress = kQuiet});
  fit.run();
  fit.save(path);
  const auto rewrite = [&](double steps) {
    const Checkpoint now = load_checkpoint(path);
    NamedTensors tensors;
    for (const auto& [name, tensor] : now.tensors) tensors.emplace(name, clone(tensor));
    int changed = 0;
    for (auto& [name, tensor] : tensors) {
      if (!name.ends_with("adam/steps")) continue;
      tensor = full({}, steps, DType::float32);
      ++changed;
    }
    EXPECT_EQ(changed, 1);
    save_checkpoint(path, tensors, now.facts);
  };
  rewrite(4);
  Setting other;
  nn::Fit rest(other.trainer, batches, {.epochs = 2, .progress = kQuiet});
  rest.load(path);
  EXPECT_EQ(other.adam.steps(), 4);
  EXPECT_EQ(rest.run().epochs.size(), 1u);
  EXPECT_EQ(other.adam.steps(), 8);
  for (const double steps : {-1.0, 2.5, 1e9}) {
    rewrite(steps);
    EXPECT_THROW(rest.load(path), nn::CheckpointError);
    EXPECT_EQ(other.adam.steps(), 8);
  }
  std::filesystem::remove(path);
}

TEST(Fit, RefusesACheckpointThatNoFitHasSaved) {
  const std::string path = temporary("no_fit.safetensors");
  const data::Dataset batches = points(64).batch(32);
  Setting setting;
  nn::Fit fit(setting.trainer, batches, {.progress = kQuiet});
  fit.save(path);
  const Checkpoint saved = load_checkpoint(path);
  for (const char* const name : {"epoch", "batch", "rows", "loss", "metrics", "generator"}) {
    Facts without = saved.facts;
    without.erase(name);
    Facts other = without;
    other.emplace(name, std::string("none"));
    for (const Facts& facts : {without, other}) {
      save_checkpoint(path, saved.tensors, facts);
      try {
        fit.load(path);
        FAIL() << name;
      } catch (const nn::CheckpointError& error) {
        ASSERT_EQ(error.problems().size(), 1u);
        EXPECT_NE(error.problems()[0].find(name), std::string::npos) << error.what();
      }
    }
  }
  save_checkpoint(path, saved.tensors, saved.facts);
  fit.load(path);
  std::filesystem::remove(path);
}

TEST(Fit, RefusesACheckpointOfAnotherModelAndChangesNothing) {
  const std::string path = temporary("other.safetensors");
  const data::Dataset batches = points(64).batch(32);
  Setting setting;
  nn::Fit(setting.trainer, batches, {.progress = kQuiet}).save(path);

  const nn::Sequential other(nn::Dense(2, 8), nn::Dense(8, 2));
  nn::Adam adam(other.trainable());
  nn::Trainer trainer(other, loss_of, adam);
  nn::Fit fit(trainer, batches, {.progress = kQuiet});
  const std::vector<float> before = other.parameters()[0].variable.value().to_vector<float>();
  try {
    fit.load(path);
    FAIL();
  } catch (const nn::CheckpointError& error) {
    EXPECT_GE(error.problems().size(), 3u);
    EXPECT_EQ(error.path(), path);
  }
  EXPECT_EQ(other.parameters()[0].variable.value().to_vector<float>(), before);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tenure
