#include "tenure/io/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "tenure/base/error.h"
#include "tenure/io/safetensors.h"
#include "tenure/ops/creation.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/scratch.h"

namespace tenure {
namespace {

using test::counting;
using test::expect_elements;
using test::expect_throws;
using test::Scratch;

TEST(Checkpoint, FactsComeBackInTheirTypes) {
  const Scratch scratch;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Facts facts = {{"step", 1200},        {"lowest", std::numeric_limits<std::int64_t>::min()},
                       {"rate", 0.1},         {"whole", 3.0},
                       {"tiny", 5e-324},      {"most", kInfinity},
                       {"least", -kInfinity}, {"name", "a \"net\"\n\xc3\xa4"},
                       {"digits", "12"},      {"empty", ""}};
  save_checkpoint(scratch / "a", {{"w", counting<float>({2, 2})}}, facts);
  const Checkpoint checkpoint = load_checkpoint(scratch / "a");
  EXPECT_EQ(checkpoint.facts, facts);
  expect_elements<float>(checkpoint.tensor("w"), {2, 2}, {0, 1, 2, 3});
  EXPECT_EQ(checkpoint.integer("step"), 1200);
  EXPECT_EQ(checkpoint.number("step"), 1200.0);
  EXPECT_EQ(checkpoint.number("whole"), 3.0);
  EXPECT_EQ(checkpoint.text("digits"), "12");
  save_checkpoint(scratch / "a", {}, {{"loss", std::nan("")}});
  EXPECT_TRUE(std::isnan(load_checkpoint(scratch / "a").number("loss")));
}

TEST(Checkpoint, AGeneratorGoesOnWhereItStood) {
  const Scratch scratch;
  Generator generator(std::numeric_limits<std::uint64_t>::max());
  uniform({1000}, 0, 1, float32, &generator);
  save_checkpoint(scratch / "a", {}, {{"generator", generator.state()}});
  const Tensor next = uniform({5}, 0, 1, float32, &generator);
  Generator other;
  other.set_state(load_checkpoint(scratch / "a").generator_state("generator"));
  expect_elements(uniform({5}, 0, 1, float32, &other), {5}, next.to_vector<float>());
}

TEST(Checkpoint, OthersCanReadIt) {
  const Scratch scratch;
  save_checkpoint(scratch / "a", {{"w", counting<float>({2})}}, {{"step", 7}, {"name", "n"}});
  const SafetensorsFile file(scratch / "a");
  EXPECT_EQ(file.metadata(),
            (TextMetadata{{"tenure_checkpoint", "1"}, {"step", "7"}, {"name", "\"n\""}}));
  expect_elements<float>(file.tensor("w"), {2}, {0, 1});
}

TEST(Checkpoint, WhatIsNotThere) {
  const Scratch scratch;
  save_checkpoint(scratch / "a", {}, {{"step", 1}, {"name", "n"}});
  const Checkpoint checkpoint = load_checkpoint(scratch / "a");
  expect_throws<ValueError>([&] { checkpoint.tensor("w"); },
                            {"the checkpoint", "has no tensor \"w\" among its 0"});
  expect_throws<ValueError>([&] { checkpoint.integer("epoch"); },
                            {"has no fact \"epoch\" among its 2"});
  expect_throws<ValueError>([&] { checkpoint.integer("name"); }, {"\"name\"", "is not an integer"});
  expect_throws<ValueError>([&] { checkpoint.number("name"); }, {"is not a number"});
  expect_throws<ValueError>([&] { checkpoint.text("step"); }, {"is not a text"});
  expect_throws<ValueError>([&] { checkpoint.generator_state("name"); },
                            {"the state of a generator"});
  expect_throws<ValueError>(
      [&] {
        save_checkpoint(scratch / "b", {}, {{"tenure_checkpoint", 1}});
      },
      {"is reserved"});
}

TEST(Checkpoint, OtherFiles) {
  const Scratch scratch;
  save_safetensors(scratch / "a", {{"w", zeros({1})}});
  expect_throws<FormatError>([&] { load_checkpoint(scratch / "a"); }, {"this is no checkpoint"});
  save_safetensors(scratch / "a", {}, {{"tenure_checkpoint", "2"}});
  expect_throws<FormatError>([&] { load_checkpoint(scratch / "a"); }, {"version 2"});
  for (const char* const text : {"", "1x", "true", "\"open", "\"a\"b", "1 2", "1e999"}) {
    save_safetensors(scratch / "a", {}, {{"tenure_checkpoint", "1"}, {"f", text}});
    expect_throws<FormatError>([&] { load_checkpoint(scratch / "a"); }, {"the fact \"f\""});
  }
}

TEST(Checkpoint, AKilledRunGoesOnFromTheOldOrTheNew) {
  const Scratch scratch;
  const std::string path = scratch / "a";
  const auto save = [&](std::int64_t step) {
    save_checkpoint(path, {{"w", full({50'000}, static_cast<double>(step))}}, {{"step", step}});
  };
  save(0);
  std::int64_t last = 0;
  for (int round = 0; round < 30 || last == 0; ++round) {
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      for (std::int64_t step = last + 1;; ++step) save(step);
    }
    usleep(static_cast<useconds_t>(311 * round % (500 + 100 * round)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const Checkpoint checkpoint = load_checkpoint(path);
    const std::int64_t step = checkpoint.integer("step");
    ASSERT_GE(step, last) << "a finished checkpoint is never lost";
    last = step;
    const std::vector<float> w = checkpoint.tensor("w").to_vector<float>();
    ASSERT_EQ(w, std::vector<float>(50'000, static_cast<float>(step)));
  }
}

}  // namespace
}  // namespace tenure
