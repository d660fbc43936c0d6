#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <utility>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/launch/replay.h"
#include "tenure/ops/core/index_bounds.h"
#include "tenure/tensor/device_error.h"
#include "tenure/tensor/integer_notes.h"
#include "tests/cuda/emulated.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/random_program.h"
#include "tests/support/same_bits.h"
#include "tests/support/sanitized.h"

// Compiled programs on a GPU are given to it as one graph when their addresses come again.

namespace tenure {
namespace {

using test::counting;
using test::emulated_gpu;
using test::emulators;
using test::expect_same_bits;
using test::expect_throws;

/// How many graphs the emulated GPU was given.
std::uint64_t replays() {
  static const auto count = emulators<std::uint64_t()>("emulated_graph_launches");
  return count();
}

/// Calls `run` some times; how many of them were graphs.
std::uint64_t replays_of(int times, const std::function<void()>& run) {
  const std::uint64_t before = replays();
  for (int i = 0; i < times; ++i) run();
  return replays() - before;
}

TEST(Replay, GivesWhatTheProgramGives) {
  const Device device = emulated_gpu();
  const auto f = function([](const Tensor& x, const Tensor& y) {
    return tanh(matmul(x, y) + 1) * sum(x * 2, {0}, true);
  });
  for (int turn = 0; turn < 12; ++turn) {
    // New inputs of each call, which come to lie where those before them lay.
    const Tensor x = counting({6, 6}) + turn;
    const Tensor y = counting({6, 6}) * 0.01;
    const Tensor there_x = x.to(device);
    const Tensor there_y = y.to(device);
    const Tensor expected = tanh(matmul(there_x, there_y) + 1) * sum(there_x * 2, {0}, true);
    expect_same_bits(f(there_x, there_y), expected);
  }
  const Tensor x = counting({6, 6}).to(device);
  EXPECT_GE(replays_of(10, [&] { static_cast<void>(f(x, x)); }), 6u);
}

TEST(Replay, TrainsAsTheProgramDoes) {
  const Device device = emulated_gpu();
  const auto losses = [&](bool replays_are_had) {
    seed(7);
    nn::Sequential model(nn::Dense(5, 7), nn::Tanh());
    for (int i = 0; i < 40; ++i) model.push_back(nn::Dense(7, 7));  // more than go in one update
    model.push_back(nn::Dense(7, 4));
    model.to(device);
    nn::Adam adam(model.trainable(), 0.05);
    nn::Trainer trainer(
        model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); }, adam);
    std::vector<double> found;
    const std::uint64_t count = replays_of(12, [&] {
      const Tensor x = normal({6, 5}).to(device);
      const Tensor target = tensor({0, 1, 2, 3, 0, 1}).to(device);
      // What is profiled is not replayed: a profile has each kernel.
      std::optional<Profile> profile;
      if (!replays_are_had) profile.emplace(testing::TempDir() + "replayed");
      found.push_back(trainer.step(x, target).loss);
    });
    EXPECT_EQ(count > 0, replays_are_had);
    return found;
  };
  EXPECT_EQ(losses(true), losses(false));
}

TEST(Replay, GivesWhatRandomProgramsGive) {
  const Device device = emulated_gpu();
  std::uint64_t count = 0;
  for (int seed = 0; seed < test::rounds(60); ++seed) {
    const test::RandomProgram program(static_cast<std::uint64_t>(seed));
    std::vector<Tensor> inputs;
    for (const Tensor& input : program.inputs()) inputs.push_back(input.to(device));
    const std::vector<Tensor> expected = program(inputs);
    const auto f = function([&](const std::vector<Tensor>& x) { return program(x); });
    count += replays_of(5, [&] {
      const std::vector<Tensor> got = f(inputs);
      for (std::size_t i = 0; i < got.size(); ++i) expect_same_bits(got[i], expected[i]);
    });
  }
  EXPECT_GT(count, 0u);
}

/// Updates that follow each other are few launches, and change what each alone does.
TEST(Updates, GoTogether) {
  const Device device = emulated_gpu();
  const auto launches = emulators<std::uint64_t()>("emulated_launches");
  constexpr int kLayers = 12;
  const auto train = [&](bool is_told, std::vector<Tensor>& parameters) {
    seed(3);
    nn::Sequential model;
    for (int i = 0; i < kLayers; ++i) model.push_back(nn::Dense(3 + i, 4 + i));
    model.to(device);
    nn::Rmsprop optimizer(model.trainable(), 0.01);
    // The norm of all gradients is known before the first update.
    nn::Trainer trainer(model, [](const Tensor& y, const Tensor& t) { return mean(square(y - t)); },
                        optimizer, {.clip_norm = 1.0});
    const Tensor x = normal({5, 3}).to(device);
    const Tensor target = normal({5, 3 + kLayers}).to(device);
    static_cast<void>(trainer.step(x, target));
    // A recording is told of each update, which is a launch of its own then.
    std::optional<Profile> profile;
    if (is_told) profile.emplace(testing::TempDir() + "updates");
    const std::uint64_t before = launches();
    static_cast<void>(trainer.step(x, target));
    const std::uint64_t count = launches() - before;
    for (const auto& parameter : model.trainable()) {
      parameters.push_back(parameter.variable.value());
    }
    return count;
  };
  std::vector<Tensor> alone;
  std::vector<Tensor> together;
  const std::uint64_t many = train(true, alone);
  // Something else may come between two of them.
  EXPECT_GE(many, train(false, together) + kLayers);
  ASSERT_EQ(alone.size(), together.size());
  for (std::size_t i = 0; i < alone.size(); ++i) expect_same_bits(together[i], alone[i]);
}

/// An index that is outside is told at the call that has it, before anything was done, although
/// the calls before went by without a look at the GPU.
TEST(Replay, RefusesWrongIndicesAsEver) {
  const Device device = emulated_gpu();
  const Variable state(zeros({3}).to(device));
  const auto f = function([state](const Tensor& table, const Tensor& indices) {
    const Tensor taken = take(table, indices);
    state.assign(state.value() + 1);
    return taken;
  });
  const Tensor table = counting({5, 3}).to(device);
  const auto indices = [&](std::int64_t last) { return tensor({0, 4, last}).to(device); };
  EXPECT_GE(replays_of(8, [&] { static_cast<void>(f(table, indices(-5))); }), 4u);
  for (const std::int64_t wrong : {5, -6, 1000}) {
    expect_throws<IndexError>([&] { f(table, indices(wrong)); },
                              {"take", std::to_string(wrong), "outside an axis of size 5"});
    expect_throws<IndexError>([&] { take(table, indices(wrong)); }, {std::to_string(wrong)});
  }
  // Indices that were made there are looked at, once.
  const Tensor made = indices(2) + 2;
  expect_throws<IndexError>([&] { f(table, made); }, {"6", "outside an axis of size 5"});
  expect_same_bits(f(table, made - 2).to(cpu), take(counting({5, 3}), tensor({0, 4, 2})));
  test::expect_elements<float>(state.value(), {3}, {9, 9, 9});
}

/// What the host must know meanwhile is no graph, and what is random differs from run to run.
TEST(Replay, LeavesAloneWhatDiffers) {
  const Device device = emulated_gpu();
  const auto divide =
      function([](const Tensor& a, const Tensor& b) { return floor_divide(a, b) + 1; });
  const Tensor seven = full({3}, 7, int64).to(device);
  const Tensor two = full({3}, 2, int64).to(device);
  EXPECT_EQ(replays_of(5,
                       [&] {
                         test::expect_elements<std::int64_t>(divide(seven, two), {3}, {4, 4, 4});
                       }),
            0u);
  expect_throws<ValueError>([&] { divide(seven, two - 2); }, {"division by zero"});
  const auto draw = function([](const Tensor& x) { return dropout(x, 0.5); });
  const Tensor x = ones({64}).to(device);
  Tensor last = draw(x).to(cpu);
  for (int turn = 0; turn < 5; ++turn) {
    const Tensor next = draw(x).to(cpu);
    EXPECT_FALSE(array_equal(last, next).item<bool>());
    last = next;
  }
}

/// What the body of a loop draws is drawn anew in each run, and as often as on the CPU.
TEST(Replay, DrawsAnewInBodies) {
  const auto runs = [](Device device, bool drops) {
    const DeviceScope there(device);
    const auto walk = function([drops](const Tensor& start, const Tensor& steps) {
      const auto [last, all] = scan(
          [drops](const Tensor& sum, const Tensor& step) {
            const Tensor next = sum + (drops ? dropout(step, 0.5) : step * normal({64}));
            return std::pair(next, next);
          },
          start, steps);
      return last;
    });
    seed(7);
    const Tensor start = zeros({64});
    const Tensor steps = ones({3, 64});
    std::vector<Tensor> ends;
    for (int turn = 0; turn < 6; ++turn) ends.push_back(walk(start, steps).to(cpu));
    return ends;
  };
  for (const bool drops : {false, true}) {
    const std::vector<Tensor> expected = runs(cpu, drops);
    const std::vector<Tensor> got = runs(emulated_gpu(), drops);
    for (std::size_t i = 0; i < got.size(); ++i) expect_same_bits(got[i], expected[i]);
  }
}

/// A library may be unable to have its work written down: it is asked once more to do it.
TEST(Replay, GoesOnWhereWorkCannotBeWrittenDown) {
  const Device device = emulated_gpu();
  kernels::cuda::GraphReplay replay(kernels::cuda::gpu(device));
  std::byte somewhere{};
  std::byte* const addresses[] = {&somewhere};
  int done = 0;
  for (int turn = 0; turn < 3; ++turn) {
    replay.run(addresses, [&] {
      if (kernels::cuda::Capture::current() != nullptr) {
        throw DeviceError::because("conv", device, "cuDNN cannot compute a convolution");
      }
      ++done;
    });
  }
  EXPECT_EQ(done, 3);
  // What goes wrong anyway is told.
  expect_throws<DeviceError>(
      [&] {
        replay.run(addresses, [&] { throw DeviceError::because("conv", device, "it is lost"); });
      },
      {"it is lost"});
}

/// What the body of a loop has captured is looked at in each run, as it may be gone.
TEST(Replay, KnowsWhatBodiesHaveCaptured) {
  for (const Device device : {cpu, emulated_gpu()}) {
    Tensor captured = (counting({64}) * 1).to(device);
    const auto walk = function([captured](const Tensor& start, const Tensor& steps) {
      const auto [last, all] = scan(
          [captured](const Tensor& sum, const Tensor& step) {
            const Tensor next = sum + step * captured;
            return std::pair(next, next);
          },
          start, steps);
      return last;
    });
    const Tensor start = zeros({64}).to(device);
    const Tensor steps = ones({3, 64}).to(device);
    const std::uint64_t count =
        replays_of(4, [&] { expect_same_bits(walk(start, steps).to(cpu), counting({64}) * 3); });
    EXPECT_EQ(count > 0, device != cpu);
    captured.dispose();
    const Tensor other = full({64}, 1000).to(device);
    expect_throws<DisposedError>([&] { walk(start, steps); }, {"disposed"});
  }
}

/// A graph takes memory of the driver's when it is first launched, of which there may be none.
TEST(Replay, GoesOnWithoutMemoryForGraphs) {
  const Device device = emulated_gpu();
  const auto f = function([](const Tensor& x) { return tanh(x) * 2 + 1; });
  const Tensor x = counting({6}).to(device);
  const Tensor expected = tanh(x) * 2 + 1;
  const auto graphs = emulators<std::int64_t()>("emulated_graphs");
  const std::int64_t before = graphs();
  for (int turn = 0; turn < 2; ++turn) expect_same_bits(f(x), expected);
  EXPECT_EQ(graphs(), before + 1);
  const auto set_short = emulators<void(bool)>("emulate_no_memory_for_graphs");
  set_short(true);
  for (int turn = 0; turn < 3; ++turn) expect_same_bits(f(x), expected);
  EXPECT_EQ(graphs(), before) << "what graphs took is the driver's again";
  set_short(false);
  expect_same_bits(f(x), expected);
}

/// What the body of a loop has computed when it was compiled stays where it is: a graph reads it
/// there.
TEST(Replay, ReadsWhatBodiesHaveMadeWhereItIs) {
  const Device device = emulated_gpu();
  const DeviceScope there(device);
  constexpr std::int64_t kElements = 12'000;
  const Tensor start = zeros({kElements});
  const Tensor steps = ones({3, kElements});
  const Tensor expected = cumsum(ones({kElements}), 0) * 3;
  const Budget budget("all", 4 << 20, {.evict = true}, device);
  const auto walk = function([](const Tensor& first, const Tensor& all_steps) {
    const auto [last, all] = scan(
        [](const Tensor& sum, const Tensor& step) {
          const Tensor next = sum + step * cumsum(ones({kElements}), 0);
          return std::pair(next, next);
        },
        first, all_steps);
    return last;
  });
  EXPECT_GE(replays_of(4, [&] { expect_same_bits(walk(start, steps), expected); }), 2u);
  // All that can be given up goes; then others lie there, with room between them for results.
  for (const auto& [count, hole] : {std::pair(2, 0), {1, 0}, {2, 1}, {3, 0}, {3, 1}, {3, 2}}) {
    try {
      static_cast<void>(zeros({1'040'000}));
    } catch (const OutOfMemory&) {  // what stays is in the way
    }
    std::vector<Tensor> others;
    for (int i = 0; i < count; ++i) others.push_back(full({kElements}, 1000.0));
    others[static_cast<std::size_t>(hole)].dispose();
    for (int turn = 0; turn < 3; ++turn) expect_same_bits(walk(start, steps), expected);
  }
}

/// Threads that share a program and what it assigns to get their own results, and their own errors.
TEST(Replay, IsOfAnyThread) {
  const Device device = emulated_gpu();
  const Variable state(zeros({3}).to(device));
  const auto f = function([state](const Tensor& table, const Tensor& indices) {
    state.assign(state.value() + 1);
    return take(table, indices) * 2;
  });
  const Tensor here = counting({5, 3});
  const Tensor table = here.to(device);
  std::atomic<int> good = 0;
  const auto call = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 100; ++i) {
      const auto last = static_cast<std::int64_t>(random() % 12) - 6;
      const Tensor indices = tensor({std::int64_t{0}, last});
      const bool is_noted = random() % 3 != 0;
      const Tensor there = is_noted ? indices.to(device) : (indices - 1).to(device) + 1;
      if (last < -5 || last >= 5) {
        expect_throws<IndexError>([&] { f(table, there); }, {std::to_string(last), "outside"});
        continue;
      }
      expect_same_bits(f(table, there).to(cpu), take(here, indices) * 2);
      ++good;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) threads.emplace_back(call, t);
  for (std::thread& thread : threads) thread.join();
  const auto times = static_cast<float>(good);
  test::expect_elements<float>(state.value(), {3}, {times, times, times});
}

/// A GPU sees between which numbers integers are as the host does.
TEST(IntegersOfAGpu, AreBetweenTheSameNumbers) {
  const Device device = emulated_gpu();
  ops::Backend& backend = ops::backend(device);
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kRare[] = {kLeast, kLeast + 1, kMost - 1, kMost, -100};
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::int64_t> values(random() % (round % 10 == 0 ? 20'000 : 600));
    const auto span = static_cast<std::int64_t>(random() % 20 * (random() % 20) + 1);
    for (std::int64_t& value : values) {
      value = static_cast<std::int64_t>(random() >> 1) % span - span / 2;
      if (round % 3 == 0 && random() % 40 == 0) value = kRare[random() % std::size(kRare)];
    }
    Tensor here = cast(tensor(values), round % 2 == 0 ? int32 : int64);
    Tensor there = here.to(device) + 0;  // without a note
    if (round % 5 == 0 && values.size() > 3) {
      there = flip(slice(there, 0, 1, std::nullopt, 2));
      here = clone(slice(here, 0, 1, std::nullopt, 2));
    }
    const IntegerRange expected = *seen_integers(here);
    const Pin pin(there.body("test", Site::current()), "test", Site::current());
    const IntegerRange range = ops::integers_of(pin, backend);
    ASSERT_EQ(range.lowest, expected.lowest) << round;
    ASSERT_EQ(range.highest, expected.highest) << round;
    ASSERT_EQ(range.next_lowest, expected.next_lowest) << round;
    ASSERT_EQ(range.next_highest, expected.next_highest) << round;
  }
}

}  // namespace
}  // namespace tenure
