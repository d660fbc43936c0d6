#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/waves.h"

// What losses mean, to the number: PyTorch's conventions. Expected values are those of libtorch
// 1.13.1 in float64 for the same inputs.

namespace tenure {
namespace {

using test::expect_throws;
using test::expect_waves;
using test::waves;

/// A loss and the gradient of its sum by x.
void expect_loss(const Tensor& x, const std::function<Tensor(const Tensor&)>& loss,
                 const std::vector<double>& values, const std::vector<double>& gradient,
                 Site site = Site::current()) {
  const ::testing::ScopedTrace trace(site.file_name(), static_cast<int>(site.line()), "loss");
  GradientTape tape;
  tape.watch(x);
  const Tensor result = loss(x);
  expect_waves(result, values);
  expect_waves(tape.gradient(sum(result), x), gradient);
}

class LossConventions : public testing::Test {
 protected:
  const Tensor x = waves({4, 3}, 0.5);
  const Tensor y = waves({4, 3}, 1.7);
  const Tensor classes = tensor({2, 0, -100, 1});
  const Tensor weight = tensor({0.5, 2.0, 1.25}, DType::float64);
  const Tensor probabilities = sigmoid(waves({4, 3}, 3.0));
};

TEST_F(LossConventions, CrossEntropyWithWeights) {
  expect_loss(x, [&](const Tensor& logits) { return cross_entropy(logits, classes, weight); },
              {1.25448354},
              {0.101472065, 0.16636857, -0.267840635, -0.11552932, 0.0265848213, 0.0889444988, 0, 0,
               0, 0.0726269498, -0.301191213, 0.228564263});
  CrossEntropyOptions options{.label_smoothing = 0.2};
  const auto loss = [&](const Tensor& logits) {
    return cross_entropy(logits, classes, weight, options);
  };
  expect_loss(x, loss, {1.22538253},
              {0.0925831759, 0.130813015, -0.223396191, -0.0924103384, -0.000995287867,
               0.0934056262, 0, 0, 0, 0.0582910396, -0.247490761, 0.189199722});
  const std::vector<double> of_the_sum{
      0.34718691, 0.490548805, -0.837735715, -0.346538769, -0.0037323295, 0.350271098, 0,
      0,          0,           0.218591399,  -0.928090354, 0.709498956};
  options.reduction = Reduction::sum;
  expect_loss(x, loss, {4.59518449}, of_the_sum);
  options.reduction = Reduction::none;
  expect_loss(x, loss, {1.89510832, 1.12122384, 0, 1.57885232}, of_the_sum);
}

TEST_F(LossConventions, CrossEntropyOfProbabilitiesWithWeights) {
  const Tensor targets = softmax(waves({4, 3}, 2.0), -1);
  expect_loss(
      x,
      [&](const Tensor& logits) {
        return cross_entropy(logits, targets, weight, {.label_smoothing = 0.2});
      },
      {1.47786761},
      {-0.000236554638, -0.00241407769, 0.00265063233, 0.0259183297, -0.134843699, 0.108925369,
       0.147987304, -0.0451422475, -0.102845056, -0.0179337347, -0.0590955646, 0.0770292993});
}

TEST_F(LossConventions, NegativeLogLikelihood) {
  expect_loss(x, [&](const Tensor& logits) { return nll_loss(log_softmax(logits, -1), classes); },
              {1.49080985},
              {0.101472065, 0.16636857, -0.267840635, -0.2888233, 0.0664620532, 0.222361247, 0, 0,
               0, 0.0453918436, -0.188244508, 0.142852665});
  expect_loss(
      x,
      [&](const Tensor& logits) {
        return nll_loss(log_softmax(logits, -1), classes, weight, {.reduction = Reduction::none});
      },
      {2.03400541, 1.00671418, 0, 1.6635937},
      {0.380520243, 0.623882138, -1.00440238, -0.43323495, 0.0996930799, 0.333541871, 0, 0, 0,
       0.272351062, -1.12946705, 0.857115988});
}

TEST_F(LossConventions, BinaryCrossEntropy) {
  expect_loss(
      x,
      [&](const Tensor& logits) {
        return binary_cross_entropy_with_logits(logits, probabilities, weight);
      },
      {0.910753526},
      {0.0153934784, 0.0301517211, 0.0100557991, -0.0109191789, -0.0674797056, 0.0113573202,
       0.0398368032, -0.012047362, -0.0442360232, -0.00686397454, 0.0108134618, 0.0331210533});
  const Tensor sure = tensor({0.0, 1.0, 0.25, 0.75, 1.0, 0.0}, DType::float64);
  const Tensor targets = tensor({0.0, 1.0, 0.5, 0.125, 0.0, 1.0}, DType::float64);
  const Tensor each = binary_cross_entropy(sure, targets, Reduction::none);
  expect_waves(each, {0, 0, 0.836988217, 1.24896783, 100, 100});
  GradientTape tape;
  tape.watch(sure);
  const Tensor loss = binary_cross_entropy(sure, targets, Reduction::sum);
  expect_waves(slice(tape.gradient(loss, sure), 0, 0, 4), {0, 0, -1.33333333, 3.33333333});
}

TEST_F(LossConventions, AWeightOfPositivesMayBeANumber) {
  const float plain = binary_cross_entropy_with_logits(ones({3}), ones({3})).item<float>();
  const float more = binary_cross_entropy_with_logits(ones({3}), ones({3}), 3).item<float>();
  EXPECT_FLOAT_EQ(more, 3 * plain);
  const float none = binary_cross_entropy_with_logits(ones({3}), zeros({3}), 3).item<float>();
  EXPECT_FLOAT_EQ(none, binary_cross_entropy_with_logits(ones({3}), zeros({3})).item<float>());
}

TEST_F(LossConventions, SmoothL1) {
  expect_loss(
      x, [&](const Tensor& p) { return smooth_l1_loss(p, probabilities); }, {0.371281946},
      {-0.00464966917, 0.057342323, -0.025470227, -0.0833333333, -0.0833333333, 0.0146471285,
       0.0524554816, -0.0469809474, -0.0833333333, -0.0833333333, 0.0312722649, 0.0432721912});
  EXPECT_EQ(smooth_l1_loss(x, y, {.beta = 0}).item<double>(), l1_loss(x, y).item<double>());
  EXPECT_DOUBLE_EQ(smooth_l1_loss(x, y, {.beta = 0.5}).item<double>(),
                   2 * huber_loss(x, y, {.delta = 0.5}).item<double>());
}

TEST_F(LossConventions, CosineEmbedding) {
  const Tensor labels = tensor({1, -1, 1, -1});
  const CosineLossOptions options{.margin = 0.1, .reduction = Reduction::none};
  expect_loss(x, [&](const Tensor& a) { return cosine_embedding_loss(a, y, labels, options); },
              {0.61020861, 0.45255225, 0.624121914, 0.0368774616},
              {-0.51414843, 0.226000196, 0.635058005, -0.0669367122, 0.540532337, 0.356120246,
               0.236064214, 0.633708067, 0.102968117, 0.575230653, 0.538141653, -0.28732613});
}

TEST_F(LossConventions, TripletMargin) {
  const Tensor z = waves({4, 3}, 4.1);
  expect_loss(
      x,
      [&](const Tensor& a) { return triplet_margin_loss(a, y, z, {.reduction = Reduction::none}); },
      {0.162564577, 0, 0, 0.356099021},
      {-0.962522729, -0.183291355, 0.864462689, 0, 0, 0, 0, 0, 0, -0.592067057, -0.84650957,
       0.139186701});
}

TEST_F(LossConventions, ConnectionistTemporalClassification) {
  const Tensor logits = waves({3, 5, 4}, 0.3);
  const Tensor targets = tensor({{1, 2, 2}, {3, 1, -7}, {2, 99, 0}});  // behind the end: anything
  const Tensor steps = tensor({5, 4, 3});
  const Tensor lengths = tensor({3, 2, 1});
  CtcOptions options{.reduction = Reduction::none};
  const auto loss = [&](const Tensor& x) {
    return ctc_loss(log_softmax(x, -1), targets, steps, lengths, options);
  };
  expect_loss(logits, loss, {5.32032293, 4.93320753, 2.14406879},
              {0.145214166,
               -0.438905223,
               0.220938761,
               0.0727522956,
               0.0312865433,
               0.0153255555,
               -0.223484298,
               0.176872199,
               -0.319034782,
               0.108908932,
               -0.245593035,
               0.455718885,
               -0.467507032,
               0.0886760111,
               -0.163330088,
               0.542161109,
               0.24613498,
               0.16405065,
               -0.62405794,
               0.21387231,
               -0.156918997,
               0.350701869,
               0.104576829,
               -0.298359702,
               -0.162230219,
               0.239779965,
               0.268700611,
               -0.346250357,
               -0.0113780409,
               -0.292736145,
               0.471505647,
               -0.167391462,
               -0.188984384,
               -0.635230779,
               0.316073049,
               0.508142114,
               0,
               0,
               0,
               0,
               -0.350915983,
               0.189734188,
               -0.00213770064,
               0.163319496,
               -0.268085765,
               0.397295251,
               -0.197044682,
               0.0678351958,
               0.0037203034,
               0.432029452,
               -0.531535196,
               0.0957854409,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0});
  options.reduction = Reduction::mean;
  expect_loss(logits, loss, {2.12803784},
              {0.0161349074,
               -0.048767247,
               0.0245487512,
               0.0080835884,
               0.00347628259,
               0.0017028395,
               -0.0248315887,
               0.0196524666,
               -0.0354483091,
               0.0121009925,
               -0.027288115,
               0.0506354317,
               -0.0519452258,
               0.00985289012,
               -0.0181477875,
               0.0602401232,
               0.0273483311,
               0.01822785,
               -0.0693397711,
               0.02376359,
               -0.0261531662,
               0.0584503115,
               0.0174294716,
               -0.0497266169,
               -0.0270383698,
               0.0399633275,
               0.0447834351,
               -0.0577083928,
               -0.00189634014,
               -0.0487893574,
               0.0785842745,
               -0.0278985769,
               -0.0314973974,
               -0.105871797,
               0.0526788415,
               0.0846903524,
               0,
               0,
               0,
               0,
               -0.116971994,
               0.0632447293,
               -0.000712566881,
               0.054439832,
               -0.0893619217,
               0.13243175,
               -0.0656815605,
               0.0226117319,
               0.00124010113,
               0.144009817,
               -0.177178399,
               0.0319284803,
               0,
               0,
               0,
               0,
               0,
               0,
               0,
               0});
}

TEST_F(LossConventions, TargetsThatHaveNoPath) {
  const Tensor logits = log_softmax(waves({1, 2, 3}, 0.3), -1);
  const Tensor twice = tensor({{1, 1}});  // takes a blank between them, and three steps
  const auto loss = [&](bool zero_infinity) {
    GradientTape tape;
    tape.watch(logits);
    const Tensor y =
        ctc_loss(logits, twice, tensor({2}), tensor({2}), {.zero_infinity = zero_infinity});
    expect_waves(tape.gradient(y, logits), {0, 0, 0, 0, 0, 0});
    return y.item<double>();
  };
  EXPECT_EQ(loss(false), std::numeric_limits<double>::infinity());
  EXPECT_EQ(loss(true), 0);
  expect_throws<IndexError>(
      [&] {
        ctc_loss(logits, tensor({{3, 1}}), tensor({2}), tensor({2}));
      },
      {"ctc_loss: class 3 at [0, 0]"});
  expect_throws<IndexError>(
      [&] {
        ctc_loss(logits, tensor({{-1, 1}}), tensor({2}), tensor({2}));
      },
      {"ctc_loss: class -1 at [0, 0]"});
  expect_throws<IndexError>([&] { ctc_loss(logits, twice, tensor({2}), tensor({3})); },
                            {"ctc_loss: target length 3 at [0]"});
  expect_throws<IndexError>([&] { ctc_loss(logits, twice, tensor({9}), tensor({2})); },
                            {"ctc_loss: input length 9 at [0]"});
  expect_throws<ShapeError>(
      [&] {
        ctc_loss(logits, twice, tensor({2, 2}), tensor({2}));
      },
      {"input lengths"});
  expect_throws<DTypeError>(
      [&] {
        ctc_loss(logits, ones({1, 2}), tensor({2}), tensor({2}));
      },
      {"targets and lengths"});
  expect_throws<ValueError>(
      [&] { ctc_loss(logits, twice, tensor({2}), tensor({2}), {.blank = 3}); }, {"blank"});
}

TEST_F(LossConventions, ABatchThatIsIgnoredAddsNothing) {
  const Tensor none = tensor({-100, -100, -100, -100});
  EXPECT_EQ(cross_entropy(x, none, weight).item<double>(), 0);
  EXPECT_EQ(nll_loss(x, none).item<double>(), 0);
}

TEST_F(LossConventions, WrongCallsSayWhatDoesNotFit) {
  const auto throws_of = [&]<class E>(E*, const auto& f, const char* text) {
    expect_throws<E>(f, {text});
  };
  const Tensor far = tensor({2, 0, 3, 1});
  const Tensor negative = tensor({2, 0, -1, 1});
  IndexError* const index = nullptr;
  ShapeError* const shape = nullptr;
  DTypeError* const type = nullptr;
  ValueError* const value = nullptr;
  throws_of(
      index, [&] { nll_loss(x, far); }, "nll_loss: there is no class 3 among 3");
  throws_of(
      index, [&] { nll_loss(x, negative); }, "no class -1");
  throws_of(
      index, [&] { cross_entropy(x, far, weight); }, "no class 3");
  throws_of(
      shape, [&] { cross_entropy(x, classes, ones({4}, DType::float64)); }, "a weight for");
  throws_of(
      shape, [&] { cross_entropy(x, classes, 2.0); }, "not numbers");
  throws_of(
      type, [&] { cross_entropy(x, classes, ones({3})); }, "cast");
  throws_of(
      type, [&] { nll_loss(x, y); }, "classes");
  throws_of(
      value, [&] { cross_entropy(x, classes, weight, {.label_smoothing = 2}); }, "label_smoothing");
  throws_of(
      value, [&] { smooth_l1_loss(x, y, {.beta = -1}); }, "beta");
  throws_of(
      value, [&] { triplet_margin_loss(x, y, y, {.order = 0}); }, "order");
  throws_of(
      shape, [&] { triplet_margin_loss(x, y, zeros({4}, DType::float64)); }, "all vectors");
  throws_of(
      shape, [&] { cosine_embedding_loss(x, y, ones({3})); }, "labels");
  throws_of(
      shape, [&] { binary_cross_entropy_with_logits(x, y, ones({4}, DType::float64)); }, "shape");
}

}  // namespace
}  // namespace tenure
