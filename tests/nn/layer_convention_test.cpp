#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/waves.h"

// What layers compute, to the number: expected values are those of libtorch 1.13.1 in float64 for
// the same inputs and weights.

namespace tenure {
namespace {

using test::expect_throws;
using test::expect_waves;
using test::waves;

constexpr std::int64_t kUnits = 2;

/// Gives a recurrent layer the weights that PyTorch's has: in its order each has a phase of its
/// own, kernels are the transposes, and an LSTM's two biases are added.
void set_weights(const nn::Layer& layer, std::int64_t gates, bool adds_biases) {
  double phase = 0.1;
  const auto next = [&](const Shape& shape) {
    const Tensor made = mul(waves(shape, phase), 0.7);
    phase += 0.37;
    return made;
  };
  const std::vector<nn::NamedVariable> all = layer.parameters();
  for (std::size_t i = 0; i < all.size();) {
    for (int kernel = 0; kernel < 2; ++kernel) {
      const Variable& variable = all[i++].variable;
      variable.assign(transpose(next({gates * kUnits, variable.shape()[0]})));
    }
    const Tensor first = next({gates * kUnits});
    const Tensor second = next({gates * kUnits});
    all[i++].variable.assign(adds_biases ? add(first, second) : first);
    if (!adds_biases) all[i++].variable.assign(second);
  }
}

const nn::RecurrentOptions kBothWays{.layers = 2, .bidirectional = true, .dtype = DType::float64};

TEST(LayerConventions, Lstm) {
  const nn::Lstm layer(2, kUnits, kBothWays);
  set_weights(layer, 4, true);
  const Tensor x = waves({3, 4, 2}, 0.9);
  const nn::RecurrentResult result = layer.run(x);
  const std::vector<double> sequence{
      0.0321300755, -0.0863826868, -0.472291493, -0.301385375, 0.0418108155, -0.195764292,
      -0.363894324, -0.362509665,  0.0460299435, -0.238179058, -0.29857643,  -0.294943471,
      0.0538403306, -0.282050285,  -0.178963156, -0.245007836, 0.0181845326, -0.134148338,
      -0.400029526, -0.34176097,   0.0387514735, -0.181270371, -0.400331204, -0.317732461,
      0.044047657,  -0.271684889,  -0.273993022, -0.344404608, 0.0474523053, -0.287760036,
      -0.180414065, -0.21063808,   0.0232760112, -0.123795711, -0.416223284, -0.373963179,
      0.0321857907, -0.211709077,  -0.345946241, -0.332026384, 0.0460230486, -0.240251128,
      -0.297866714, -0.318643149,  0.0466282717, -0.323144567, -0.141715987, -0.267898989};
  expect_waves(result.sequence, sequence);
  expect_waves(layer(x), sequence);
  expect_waves(result.h, {-0.157053651, 0.155445236,  -0.245495157, 0.237902786,  0.175037854,
                          0.135051629,  0.0959083819, 0.106328486,  0.231620718,  0.0150264425,
                          0.129978225,  0.0618964716, 0.0538403306, -0.282050285, 0.0474523053,
                          -0.287760036, 0.0466282717, -0.323144567, -0.472291493, -0.301385375,
                          -0.400029526, -0.34176097,  -0.416223284, -0.373963179});
  expect_waves(result.c, {-0.216980617, 0.82759734,   -0.539605128, 0.711683172,  0.237329887,
                          0.419978685,  0.991652922,  0.228192196,  0.692630949,  0.0863440552,
                          0.628647472,  0.293854275,  0.254202626,  -0.460349099, 0.242798426,
                          -0.479102397, 0.216258892,  -0.501944008, -0.829662141, -0.381454113,
                          -0.783029026, -0.449587949, -0.765038548, -0.489656217});
}

TEST(LayerConventions, LstmOfSequencesOfSeveralLengths) {
  const nn::Lstm layer(2, kUnits, kBothWays);
  set_weights(layer, 4, true);
  const nn::RecurrentResult result =
      layer.run(waves({3, 4, 2}, 0.9), {.lengths = tensor({4, 2, 3})});
  expect_waves(result.sequence, {0.0321300755,
                                 -0.0863826868,
                                 -0.472291493,
                                 -0.301385375,
                                 0.0418108155,
                                 -0.195764292,
                                 -0.363894324,
                                 -0.362509665,
                                 0.0460299435,
                                 -0.238179058,
                                 -0.29857643,
                                 -0.294943471,
                                 0.0538403306,
                                 -0.282050285,
                                 -0.178963156,
                                 -0.245007836,
                                 0.0177996965,
                                 -0.135708388,
                                 -0.262644892,
                                 -0.338016155,
                                 0.0373912935,
                                 -0.185539864,
                                 -0.191758822,
                                 -0.216403472,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0.0232617876,
                                 -0.123860003,
                                 -0.363785853,
                                 -0.378673315,
                                 0.0321153441,
                                 -0.212436404,
                                 -0.276248192,
                                 -0.309551184,
                                 0.0458102809,
                                 -0.241241761,
                                 -0.193648324,
                                 -0.219285325,
                                 0,
                                 0,
                                 0,
                                 0});
  expect_waves(result.h, {-0.157053651, 0.155445236,  -0.30735427,  0.202171666,  -0.306320457,
                          0.187285124,  0.0959083819, 0.106328486,  0.220569073,  0.00932349055,
                          0.129369831,  0.0618482703, 0.0538403306, -0.282050285, 0.0373912935,
                          -0.185539864, 0.0458102809, -0.241241761, -0.472291493, -0.301385375,
                          -0.262644892, -0.338016155, -0.363785853, -0.378673315});
  expect_waves(result.c, {-0.216980617, 0.82759734,   -0.604260147, 0.895148985,  -0.526003058,
                          0.937385621,  0.991652922,  0.228192196,  0.647084818,  0.0542613837,
                          0.622024541,  0.294737005,  0.254202626,  -0.460349099, 0.172130499,
                          -0.30884027,  0.219315045,  -0.403276366, -0.829662141, -0.381454113,
                          -0.431336841, -0.462739626, -0.622649934, -0.502609037});
}

TEST(LayerConventions, Gru) {
  const nn::Gru layer(2, kUnits, kBothWays);
  set_weights(layer, 3, false);
  const Tensor x = waves({3, 4, 2}, 0.9);
  const nn::RecurrentResult result = layer.run(x);
  expect_waves(
      result.sequence,
      {0.464666116,  -0.023156647, -0.462034937, 0.351322703,   0.554464974,  -0.117167118,
       -0.319210185, 0.0863815452, 0.635877072,  -0.187202819,  -0.194675679, 0.18368528,
       0.66956062,   -0.259835502, -0.117976893, 0.0471088935,  0.245472936,  -0.0779055605,
       -0.405276964, 0.274488111,  0.542341867,  -0.105631853,  -0.402827547, 0.355093823,
       0.608062918,  -0.184393729, -0.274207479, 0.0670706707,  0.673628231,  -0.242489005,
       -0.14198359,  0.119925101,  0.27455299,   -0.0771045506, -0.339779673, 0.132392297,
       0.419115285,  -0.151375221, -0.232992767, 0.252023125,   0.588223225,  -0.193188778,
       -0.232744016, 0.245301716,  0.618598509,  -0.271735606,  -0.111141724, -0.0112701741});
  expect_waves(result.h, {-0.265033585, 0.832218033, -0.399368668, 0.802021298,  -0.0216385243,
                          0.44762205,   0.791463667, 0.557405417,  0.884035778,  0.144985549,
                          0.648856702,  0.324334814, 0.66956062,   -0.259835502, 0.673628231,
                          -0.242489005, 0.618598509, -0.271735606, -0.462034937, 0.351322703,
                          -0.405276964, 0.274488111, -0.339779673, 0.132392297});
  EXPECT_FALSE(result.c.defined());
  const nn::RecurrentResult packed = layer.run(x, {.lengths = tensor({4, 2, 3})});
  expect_waves(packed.sequence, {0.464666116,
                                 -0.023156647,
                                 -0.462034937,
                                 0.351322703,
                                 0.554464974,
                                 -0.117167118,
                                 -0.319210185,
                                 0.0863815452,
                                 0.635877072,
                                 -0.187202819,
                                 -0.194675679,
                                 0.18368528,
                                 0.66956062,
                                 -0.259835502,
                                 -0.117976893,
                                 0.0471088935,
                                 0.225472561,
                                 -0.0817792384,
                                 -0.227493292,
                                 0.0997435683,
                                 0.478976413,
                                 -0.128974552,
                                 -0.184177755,
                                 0.151894169,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0.269753938,
                                 -0.078294524,
                                 -0.287648542,
                                 0.0673843987,
                                 0.407656088,
                                 -0.154755383,
                                 -0.171835292,
                                 0.168266404,
                                 0.560161355,
                                 -0.204739323,
                                 -0.155346536,
                                 0.147277417,
                                 0,
                                 0,
                                 0,
                                 0});
  expect_waves(packed.h, {-0.265033585, 0.832218033,  -0.535783379, 0.814202726,  -0.505033626,
                          0.893113314,  0.791463667,  0.557405417,  0.81513607,   0.101666911,
                          0.633953334,  0.314639856,  0.66956062,   -0.259835502, 0.478976413,
                          -0.128974552, 0.560161355,  -0.204739323, -0.462034937, 0.351322703,
                          -0.227493292, 0.0997435683, -0.287648542, 0.0673843987});
}

TEST(Recurrent, GoesOnFromAState) {
  seed(1);
  const nn::Lstm layer(3, 4, {.layers = 2, .dtype = DType::float64});
  const Tensor x = waves({2, 6, 3}, 0.2);
  const nn::RecurrentResult whole = layer.run(x);
  const nn::RecurrentResult first = layer.run(slice(x, 1, 0, 2));
  const nn::RecurrentResult second = layer.run(slice(x, 1, 2, 6), {.h = first.h, .c = first.c});
  expect_waves(second.h, whole.h.to_vector<double>());
  expect_waves(second.c, whole.c.to_vector<double>());
  expect_waves(concat({first.sequence, second.sequence}, 1), whole.sequence.to_vector<double>());
}

TEST(Recurrent, TrainsCompiledWithLengths) {
  seed(2);
  const nn::Gru layer(2, 3, {.bidirectional = true});
  const auto loss = function([&](const Tensor& x, const Tensor& lengths) {
    GradientTape tape;
    const Tensor y = sum(square(layer.run(x, {.lengths = lengths}).sequence));
    std::vector<Tensor> all{y};
    std::vector<Variable> variables;
    for (const auto& [name, variable] : layer.trainable()) variables.push_back(variable);
    for (const Tensor& gradient : tape.gradient(y, variables)) all.push_back(gradient);
    return all;
  });
  Tensor x = cast(waves({2, 5, 2}, 0.3), DType::float32);
  const std::vector<Tensor> some = loss(x, tensor({5, 2}));
  // What lies behind the end of a sequence changes nothing.
  Tensor other = index_update(x, {1, Slice{.start = 2}}, 7.0);
  const std::vector<Tensor> same = loss(other, tensor({5, 2}));
  ASSERT_EQ(some.size(), 9u);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].to_vector<float>(), same[i].to_vector<float>()) << i;
    EXPECT_GT(sum(abs(some[i])).item<float>(), 0) << i;
  }
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const nn::Lstm layer(2, 3, {.layers = 2});
  const Tensor x = zeros({4, 5, 2});
  expect_throws<ShapeError>(
      [&] {
        layer.run(x, {.h = zeros({1, 4, 3})});
      },
      {"h is [2, batch, 3], not [1, 4, 3]"});
  expect_throws<ShapeError>(
      [&] {
        layer.run(x, {.lengths = tensor({1, 2})});
      },
      {"one for each sequence"});
  expect_throws<DTypeError>([&] { layer.run(x, {.lengths = zeros({4})}); }, {"lengths are int32"});
  expect_throws<ShapeError>([&] { layer(zeros({5, 2})); }, {"[batch, time, inputs]"});
  expect_throws<ValueError>([] { nn::Lstm(0, 3); }, {"Lstm"});
  expect_throws<ValueError>([] { nn::Gru(2, 3, {.layers = 0}); }, {"Gru"});
}

TEST(LayerConventions, PoolingWithCeilMode) {
  const Tensor x = waves({1, 2, 5, 6}, 0.2);
  const PoolOptions options{
      .stride = 2, .padding = 1, .ceil_mode = true, .channels = Channels::first};
  const Tensor largest = max_pool2d(x, 3, options);
  EXPECT_EQ(largest.shape(), (Shape{1, 2, 3, 4}));
  expect_waves(contiguous(largest),
               {0.997494987, 0.997494987,   0.934895056, 0.934895056, 0.989358247, 0.87588108,
                0.934895056, 0.934895056,   0.959175833, 0.959175833, 0.699240032, 0.199539705,
                0.997557419, 0.592789033,   0.98922863,  0.98922863,  0.876309294, 0.876309294,
                0.934579458, -0.0150378122, 0.959426635, 0.876309294, 0.997619064, 0.997619064});
  expect_waves(
      contiguous(avg_pool2d(x, 3, options)),
      {0.577494247,   -0.150375347, -0.0462267033, 0.669872488,   -0.198680147, -0.0821155463,
       0.1580945,     -0.112255228, -0.0716679319, 0.359436015,   -0.356271279, -0.384078213,
       0.133041105,   -0.367433934, 0.342877885,   0.448218709,   -0.261834061, 0.142128009,
       -0.0575970334, -0.36902361,  0.533570834,   0.00558556668, -0.196239705, 0.491290626});
  const Tensor last = permute(x, {0, 2, 3, 1});
  PoolOptions channels_last = options;
  channels_last.channels = Channels::last;
  EXPECT_EQ(nn::MaxPool2d(3, channels_last)(last).shape(), (Shape{1, 3, 4, 2}));
  // The last window would begin in the padding at the end, and is none.
  EXPECT_EQ(max_pool1d(ones({1, 4, 1}), 2, {.stride = 3, .padding = 1, .ceil_mode = true}).shape(),
            (Shape{1, 2, 1}));
  // Padding counts, but what lies beyond it does not.
  expect_waves(avg_pool1d(ones({1, 4, 1}), 3,
                          {.stride = 2, .padding = 1, .count_padding = true, .ceil_mode = true}),
               {2.0F / 3, 1.0, 0.5});
  const auto pooled =
      function([](const Tensor& image) { return max_pool1d(image, 2, {.ceil_mode = true}); });
  EXPECT_EQ(pooled(ones({1, 5, 1})).shape(), (Shape{1, 3, 1}));
}

TEST(LayerConventions, AdaptivePooling) {
  const Tensor x = waves({1, 2, 5, 6}, 0.2);
  const auto first = Channels::first;
  expect_waves(contiguous(nn::AdaptiveMaxPool2d({2, 4}, first)(x)),
               {0.997494987, 0.997494987, 0.836655639, 0.934895056, 0.959175833, 0.959175833,
                0.836655639, 0.836655639, 0.997557419, 0.752158991, 0.934579458, 0.98922863,
                0.959426635, 0.876309294, 0.836168839, 0.997619064});
  expect_waves(contiguous(nn::AdaptiveAvgPool2d({3, 4}, first)(x)),
               {0.577494247, 0.133540535,  -0.404276299,  0.289763501, -0.198680147, -0.261952709,
                0.293269364, 0.0983623611, -0.0716679319, 0.533373473, -0.342367812, -0.540187468,
                0.133041105, -0.50629804,  0.290207473,   0.559169688, -0.261834061, 0.0587919259,
                0.098116255, -0.240795637, 0.533570834,   0.356617744, -0.54000487,  0.0538798364});
  EXPECT_EQ(nn::AdaptiveAvgPool1d(3)(ones({2, 7, 4})).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(nn::AdaptiveMaxPool3d(2)(ones({2, 4, 5, 6, 3})).shape(), (Shape{2, 2, 2, 2, 3}));
  EXPECT_EQ(nn::MaxPool1d(2)(ones({2, 8, 3})).shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(nn::AvgPool3d(2)(ones({2, 4, 4, 4, 3})).shape(), (Shape{2, 2, 2, 2, 3}));
}

TEST(LayerConventions, InstanceNorm) {
  const nn::InstanceNorm norm(2, {.channels = Channels::first}, DType::float64);
  expect_waves(
      contiguous(norm(waves({1, 2, 5, 6}, 0.2))),
      {0.275846026,   1.42334614,   0.471665801,  -1.18498106,  -1.11960292,  0.572021103,
       1.41165784,    0.169237514,  -1.33509119,  -0.897483197, 0.840964762,  1.33342235,
       -0.141561951,  -1.42313269,  -0.633785726, 1.07008379,   1.19230302,   -0.446179486,
       -1.44498302,   -0.34085807,  1.24864973,   0.994907728,  -0.730351451, -1.39961907,
       -0.0324164933, 1.3683013,    0.750479458,  -0.980771567, -1.28916497,  0.277096304,
       1.34315988,    0.41909635,   -1.18684033,  -1.12194916,  0.51870414,   1.33155864,
       0.1257806,     -1.33216233,  -0.906380342, 0.779354958,  1.2554374,    -0.175594903,
       -1.41727628,   -0.650540602, 1.00134257,   1.11836051,   -0.470918327, -1.43819673,
       -0.366409569,  1.17427246,   0.926746567,  -0.746361228, -1.39394409,  -0.0672916097,
       1.29004722,    0.689567836,  -0.98902606,  -1.28659048,  0.232807154,  1.34324574});
}

TEST(ConvTranspose, HasTheNumbersOfItsConvolutionsGradient) {
  const Tensor x = waves({1, 2, 5, 6}, 0.2);
  const nn::ConvTranspose2d layer(2, 3, 3,
                                  {.stride = 2,
                                   .padding = 1,
                                   .output_padding = 1,
                                   .channels = Channels::first,
                                   .dtype = DType::float64});
  layer.kernel().assign(waves({2, 3, 3, 3}, 0.4));
  const Tensor y = layer(x);
  EXPECT_EQ(y.shape(), (Shape{1, 3, 10, 12}));
  const std::vector<double> values = contiguous(y).to_vector<double>();
  EXPECT_NEAR(values[0], 0.0144848141, 1e-8);
  EXPECT_NEAR(values[1], -1.38190796, 1e-8);
  EXPECT_NEAR(values.back(), 0.253300127, 1e-8);
  layer.parameters()[1].variable.assign(tensor({1.0, 2.0, 3.0}, DType::float64));
  const std::vector<double> shifted = contiguous(layer(x)).to_vector<double>();
  EXPECT_NEAR(shifted[0], values[0] + 1, 1e-12);
  EXPECT_NEAR(shifted.back(), values.back() + 3, 1e-12);
  EXPECT_EQ(nn::ConvTranspose1d(2, 4, 2, {.stride = 2})(ones({1, 5, 2})).shape(),
            (Shape{1, 10, 4}));
  EXPECT_EQ(nn::ConvTranspose3d(2, 4, 2, {.stride = 2, .groups = 2})(ones({1, 2, 3, 4, 2})).shape(),
            (Shape{1, 4, 6, 8, 4}));
  expect_throws<ValueError>([] { nn::ConvTranspose2d(3, 4, 2, {.groups = 2}); }, {"groups"});
}

TEST(PRelu, LearnsItsSlopes) {
  const nn::PRelu layer(2);
  const Tensor x = tensor({{-2.0, 4.0}, {3.0, -8.0}});
  EXPECT_EQ(layer(x).to_vector<float>(), (std::vector<float>{-0.5F, 4, 3, -2}));
  GradientTape tape;
  const Tensor y = sum(layer(x));
  EXPECT_EQ(tape.gradient(y, layer.parameters()[0].variable).to_vector<float>(),
            (std::vector<float>{-2, -8}));
}

TEST(Embedding, PaddingHasNoGradient) {
  const nn::Embedding layer(4, 2, {.padding_index = 1});
  const Tensor indices = tensor({1, 3, 1, 0});
  EXPECT_EQ(slice(layer(indices), 0, 0, 1).to_vector<float>(), (std::vector<float>{0, 0}));
  GradientTape tape;
  const Tensor y = sum(layer(indices));
  EXPECT_EQ(tape.gradient(y, layer.table()).to_vector<float>(),
            (std::vector<float>{1, 1, 0, 0, 0, 0, 1, 1}));
  expect_throws<ValueError>([] { nn::Embedding(4, 2, {.padding_index = 4}); }, {"no row 4"});
}

TEST(Upsample, RepeatsTheNearest) {
  const Tensor x = tensor({{{1.0}, {2.0}}, {{3.0}, {4.0}}});  // [2, 2, 1]
  const Tensor y = nn::Upsample({2, 1})(expand_dims(x, 0));
  EXPECT_EQ(y.shape(), (Shape{1, 4, 2, 1}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(nn::Upsample(
                3, {.mode = Interpolation::nearest, .channels = Channels::first})(ones({2, 5, 4}))
                .shape(),
            (Shape{2, 5, 12}));
  for (const Interpolation mode : {Interpolation::linear, Interpolation::cubic}) {
    const Tensor image = normal({2, 3, 4, 5});
    const Tensor twice = nn::Upsample(2, {.mode = mode})(image);
    EXPECT_TRUE(array_equal(twice, interpolate_by(image, 2, {.mode = mode})).item<bool>());
    const InterpolateOptions aligned{.mode = mode, .align_corners = true};
    const Tensor more = nn::Upsample({2, 3}, aligned)(image);
    EXPECT_TRUE(array_equal(more, interpolate(image, {6, 12}, aligned)).item<bool>());
  }
  expect_throws<ValueError>(
      [] {
        nn::Upsample(0)(ones({1, 2, 2, 1}));
      },
      {"a factor is at least 1, not 0"});
  expect_throws<ShapeError>([] { nn::Upsample(2)(ones({2, 2})); }, {"Upsample"});
}

TEST(MultiHeadAttention, ACacheGivesWhatTheWholeSequenceGives) {
  seed(4);
  const nn::TransformerBlock block(8, 2, {.causal = true, .dtype = DType::float64});
  const Tensor x = waves({2, 6, 8}, 0.6);
  const std::vector<double> whole = contiguous(block(x)).to_vector<double>();
  nn::KeyValueCache cache;
  std::vector<Tensor> steps;
  for (const auto& [begin, end] : {std::pair{0, 3}, std::pair{3, 4}, std::pair{4, 6}}) {
    steps.push_back(block(slice(x, 1, begin, end), {.cache = &cache}));
    EXPECT_EQ(cache.length(), end);
  }
  expect_waves(concat(OperandList(steps), 1), whole);
  // One that throws leaves it as it is.
  EXPECT_THROW(block(waves({3, 1, 8}, 0), {.cache = &cache}), ShapeError);
  EXPECT_EQ(cache.length(), 6);
}

TEST(MultiHeadAttention, AMaskHidesPadding) {
  seed(5);
  const nn::MultiHeadAttention layer(8, 2, {.dtype = DType::float64});
  const Tensor x = waves({1, 4, 8}, 0.6);
  const std::vector<double> three = contiguous(layer(slice(x, 1, 0, 3))).to_vector<double>();
  const Tensor mask = reshape(tensor({true, true, true, false}), {1, 1, 1, 4});
  const Tensor masked = layer(x, {.mask = mask});
  expect_waves(contiguous(slice(masked, 1, 0, 3)), three);
}

}  // namespace
}  // namespace tenure
