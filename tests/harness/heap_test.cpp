#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tenure/check/cases.h"
#include "tenure/memory/region.h"
#include "tenure/tenure.h"
#include "tests/support/heap_watch.h"
#include "tests/support/scratch.h"

// The process beside its ledger: what an op or a step takes from malloc() or mmap(), in this
// library or in one below it, is memory that no plan has.
namespace tenure {
namespace {

using testing_support::HeapWatch;

/// Room for the records of a call, which are no data: nodes, lists, the text of a site.
constexpr std::int64_t kRecords = 64 * 1024;

/// Most bytes that a call takes beside the pool, once caches are warm. The least of some calls: the
/// pool may take a piece of memory from the system in one of them.
std::int64_t taken_beside_the_pool(const std::function<void()>& call) {
  call();
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 3 && least > kRecords; ++i) {
    HeapWatch heap;
    call();
    least = std::min(least, heap.peak());
  }
  return least;
}

TEST(HeapWatch, SeesWhatOthersTake) {
  EXPECT_GE(taken_beside_the_pool([] { std::vector<char>(100'000)[5] = 1; }), 100'000);
  EXPECT_EQ(taken_beside_the_pool([] {}), 0);
}

class HeapOfOp : public testing::TestWithParam<const ops::OpRecord*> {};

TEST_P(HeapOfOp, TakesDataFromThePoolAlone) {
  for (const check::Case& c : check::cases_of(*GetParam())) {
    const std::vector<Tensor> inputs = check::make_all(c);
    EXPECT_LE(taken_beside_the_pool([&] { check::run(c, inputs); }), kRecords)
        << check::describe(c);
  }
}

TEST_P(HeapOfOp, TakesTheSameOnAnyNumberOfThreads) {
  const int before = num_threads();
  for (const check::Case& c : check::cases_of(*GetParam())) {
    const std::vector<Tensor> inputs = check::make_all(c);
    const auto taken = [&](int threads) {
      set_num_threads(threads);
      const MemoryRegion region;
      check::run(c, inputs);
      return region.peak_bytes();
    };
    const std::int64_t alone = taken(1);
    for (const int threads : {2, 5, 16}) EXPECT_EQ(taken(threads), alone) << check::describe(c);
  }
  set_num_threads(before);
}

INSTANTIATE_TEST_SUITE_P(Ops, HeapOfOp, testing::ValuesIn(ops::all_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

/// Sizes at which libraries begin to pack, copy and split.
TEST(Heap, HasNothingOfLargeCalls) {
  const auto matrix = [](std::int64_t n, DType dtype = DType::float32) {
    return cast(uniform({n, n}), dtype);
  };
  const auto expect_none = [](const char* what, const std::function<void()>& call) {
    EXPECT_LE(taken_beside_the_pool(call), kRecords) << what;
  };
  for (const std::int64_t n : {100, 128, 300, 768, 1025}) {
    const Tensor a = matrix(n);
    expect_none("a product", [&] { matmul(a, a); });
    expect_none("a product of a transposed matrix", [&] { matmul(a, transpose(a)); });
    expect_none("a product with a transposed matrix", [&] { matmul(transpose(a), a); });
  }
  for (const DType dtype : {DType::float64, DType::bfloat16, DType::float16, DType::int32}) {
    const Tensor a = matrix(250, dtype);
    expect_none("a product of another type", [&] { matmul(a, a); });
  }
  const Tensor batch = uniform({16, 130, 120});
  expect_none("a batch of products", [&] { matmul(batch, transpose(batch)); });
  expect_none("einsum", [&] { einsum("bij,bkj->bik", {batch, batch}); });

  const Tensor image = uniform({4, 40, 40, 16});
  const Tensor kernel = uniform({3, 3, 16, 32});
  expect_none("a convolution and its gradients", [&] {
    GradientTape tape;
    tape.watch(image);
    tape.watch(kernel);
    const Tensor loss = sum(square(conv2d(image, kernel)));
    tape.gradient(loss, std::vector<Tensor>{image, kernel});
  });
  const Tensor heads = uniform({2, 4, 200, 64});
  expect_none("attention", [&] { attention(heads, heads, heads); });
  const Tensor rows = uniform({64, 3000});
  expect_none("a sort", [&] { sort(rows); });
  expect_none("a softmax", [&] { softmax(rows, 0); });
}

/// Steps of training: what the process takes is what was planned.
void expect_planned(const nn::Layer& model, const Tensor& x, const Tensor& target) {
  const std::int64_t others = memory().bytes;
  nn::Adam adam(model.trainable());
  nn::Trainer trainer(
      model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); }, adam);
  const std::int64_t planned = trainer.plan(x, target).peak();
  std::int64_t taken = 0;
  const std::int64_t heap = taken_beside_the_pool([&] {
    reset_peak();
    trainer.step(x, target);
    taken = memory().peak;
  });
  EXPECT_LE(heap, kRecords);
  // The model and the batch are in the plan, and in what was there before.
  EXPECT_LE(taken + heap, std::max(planned, others) + kRecords);
}

TEST(Heap, HasNothingOfTrainingSteps) {
  {
    const nn::Sequential mlp(nn::Dense(784, 512), nn::Relu(), nn::Dense(512, 512), nn::Relu(),
                             nn::Dense(512, 10));
    expect_planned(mlp, uniform({128, 784}), randint(0, 10, {128}));
  }
  {
    const nn::Sequential cnn(nn::Conv2d(1, 16, 3), nn::Relu(), nn::MaxPool2d(2), nn::Flatten(),
                             nn::Dense(16 * 13 * 13, 10));
    expect_planned(cnn, uniform({32, 28, 28, 1}), randint(0, 10, {32}));
  }
}

/// Files of every form that takes most for its size: what the header promises holds for all.
TEST(Heap, OfReadCsvIsWhatItsHeaderSays) {
  const test::Scratch scratch;
  const auto expect_bound = [&](const std::string& text, bool header) {
    const std::string path = scratch.file("a.csv", text);
    data::Table table = data::read_csv(path, {.header = header});  // the pool is warm
    std::int64_t held = 0;
    std::int64_t words = 0;
    for (const data::Column& column : table.columns) {
      held += static_cast<std::int64_t>(column.values.size()) * 8;
      for (const std::string& word : column.words) held += sizeof word + word.size();
      words += static_cast<std::int64_t>(column.words.size());
    }
    const auto columns = static_cast<std::int64_t>(table.columns.size());
    table = {};
    trim();
    const HeapWatch heap;
    const MemoryRegion region;
    data::read_csv(path, {.header = header});
    constexpr std::int64_t kPieces = 6 << 20;  // the pool maps memory in pieces
    EXPECT_LE(heap.peak(),
              static_cast<std::int64_t>(text.size()) + held + 640 * columns + 128 * words + kPieces)
        << text.size() << " bytes, " << columns << " columns, " << words << " words";
  };
  expect_bound(std::string(60'000, ','), false);
  std::string names = "a";
  for (int i = 1; i < 60'000; ++i) names += "," + std::to_string(i);
  expect_bound(names + "\n", true);
  std::string different;  // each field a word of its own
  for (int i = 0; i < 300'000; ++i)
    different += "w" + std::to_string(i) + (i % 3 == 2 ? "\n" : ",");
  expect_bound(different, false);
  std::string numbers;
  for (int i = 0; i < 600'000; ++i) numbers += i % 30 == 29 ? "1\n" : "1,";
  expect_bound(numbers, false);
}

}  // namespace
}  // namespace tenure
