#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"

namespace tenure {
namespace {

using test::expect_elements;
using test::expect_throws;

double largest_difference(const Tensor& a, const Tensor& b) {
  return max(abs(a - b)).item<double>();
}

TEST(Fourier, OfAnyLengthIsUndoneByItsInverse) {
  // Every radix, several stages of each, convolutions, and lines that threads share.
  for (const std::int64_t n : {1, 2, 3, 7, 16, 31, 37, 60, 62, 243, 257, 1000, 1009, 2018, 4096}) {
    const Tensor x = normal({3, n, 2}, 0, 1, float64);
    EXPECT_LT(largest_difference(ifft(fft(x)), x), 1e-13) << n;
    const Tensor real = normal({3, n}, 0, 1, float64);
    EXPECT_LT(largest_difference(irfft(rfft(real), n), real), 1e-13) << n;
  }
}

TEST(Fourier, OfALineIsWhatItIsAmongOthers) {
  // Along another axis lines are transformed together.
  for (const std::int64_t n : {12, 17, 64, 94}) {
    const Tensor x = normal({2, n, 19, 2});
    const Tensor turned = contiguous(transpose(x, 1, 2));
    EXPECT_LT(largest_difference(fft(x, n, 1), transpose(fft(turned), 1, 2)), 1e-5) << n;
    const Tensor real = normal({2, n, 19});
    EXPECT_TRUE(array_equal(rfft(real, n, 1), transpose(rfft(transpose(real)), 1, 2)).item<bool>())
        << n;
  }
}

TEST(Fourier, OfOneFrequencyIsOnePair) {
  const std::int64_t n = 1 << 16;
  const Tensor angle = arange(n, float64) * (2 * M_PI * 5 / static_cast<double>(n));
  const Tensor spectrum = complex_abs(rfft(cos(angle)));
  EXPECT_EQ(argmax(spectrum).item<std::int64_t>(), 5);
  EXPECT_NEAR(spectrum[5].item<double>(), static_cast<double>(n) / 2, 1e-7);
  EXPECT_NEAR(sum(spectrum).item<double>(), static_cast<double>(n) / 2, 1e-4);
}

TEST(Fourier, KeepsWhatItHasNothingToDoWithApart) {
  // A number that is none stays in its line.
  Tensor x = normal({4, 8, 5, 2});
  x = index_update(x, {0, 0, 3, 0}, NAN);
  const Tensor y = fft(x, std::nullopt, 1);
  const Tensor found = isnan(y);
  EXPECT_TRUE(all(any(select(found[0], 1, 3), -1)).item<bool>());
  EXPECT_EQ(sum(found).item<std::int64_t>(), sum(select(found[0], 1, 3)).item<std::int64_t>());
}

TEST(Fourier, HoldsNothingForItsGradient) {
  const Tensor x = normal({64});
  GradientTape tape;
  tape.watch(x);
  const std::int64_t before = memory().bytes;
  Tensor y = rfft(x);
  y.dispose();
  EXPECT_EQ(memory().bytes, before);
}

TEST(Frames, OfASignalAreUndoneByTheirInverse) {
  const Tensor x = normal({2, 100}, 0, 1, float64);
  for (const std::int64_t points : {1, 7, 8, 16, 31}) {
    const Tensor window = hamming_window(points, true, float64);
    for (const std::int64_t hop : {1, 2, 5}) {
      for (const bool center : {true, false}) {
        for (const bool normalized : {true, false}) {
          if (hop > points) continue;
          const Tensor y =
              stft(x, window, {.hop = hop, .center = center, .normalized = normalized});
          EXPECT_EQ(y.shape(), Shape({2, points / 2 + 1,
                                      (100 - (center ? points % 2 : points)) / hop + 1, 2}));
          const Tensor back =
              istft(y, window, {.hop = hop, .center = center, .normalized = normalized});
          const std::int64_t size = back.dim(1);
          EXPECT_GT(size, 100 - hop - points % 2 - 1);
          EXPECT_LT(largest_difference(back, slice(x, 1, 0, size)), 1e-12) << points << ' ' << hop;
        }
      }
    }
  }
}

TEST(Frames, OfOneFrequencyHaveItAlone) {
  const Tensor angle = arange(400, float64) * (2 * M_PI / 16);
  const Tensor y = complex_abs(stft(sin(angle), hann_window(64, true, float64), {.center = false}));
  expect_elements(argmax(y, 0), {22}, std::vector<std::int64_t>(22, 4));
  EXPECT_NEAR(max(y).item<double>(), 16, 1e-12) << "half of the window's sum";
}

TEST(Frames, GoOnWithZerosOrAreCut) {
  const Tensor x = normal({40});
  const Tensor window = hann_window(8);
  const Tensor y = stft(x, window);
  EXPECT_EQ(istft(y, window).shape(), Shape({40}));
  const Tensor longer = istft(y, window, {.length = 60});
  EXPECT_LT(largest_difference(slice(longer, 0, 0, 40), x), 1e-5);
  expect_elements(slice(longer, 0, 44), {16}, std::vector<float>(16, 0));
  EXPECT_EQ(istft(y, window, {.length = 0}).shape(), Shape({0}));
}

TEST(Frames, RefuseWhatHasNone) {
  expect_throws<ShapeError>([] { stft(ones({4}), ones({9})); }, {"stft", "reflected by 4"});
  EXPECT_THROW(stft(ones({4}), ones({9}), {.center = false}), ShapeError);
  expect_throws<ShapeError>([] { stft(ones({9}), ones({2, 2})); }, {"stft", "[2, 2]", "window"});
  EXPECT_THROW(stft(ones({9}), ones({0})), ShapeError);
  EXPECT_THROW(stft(tensor(1.0), ones({1})), ShapeError);
  expect_throws<ValueError>([] { stft(ones({9}), ones({4}), {.hop = 0}); }, {"0 apart"});
  EXPECT_THROW(stft(arange(9), ones({4})), DTypeError);
  expect_throws<ShapeError>([] { istft(ones({4, 3, 2}), ones({4})); }, {"[..., 3, frames, 2]"});
  EXPECT_THROW(istft(ones({3, 3}), ones({4})), ShapeError) << "no pairs";
  EXPECT_THROW(istft(ones({3, 3, 2}), ones({4}), {.length = -1}), ValueError);
  EXPECT_THROW(hann_window(0), ValueError);
}

TEST(Fourier, RefusesWhatItCannotTransform) {
  expect_throws<ShapeError>([] { fft(ones({4, 3})); }, {"fft", "[4, 3]", "pairs", "rfft"});
  expect_throws<DTypeError>([] { rfft(ones({4}, float16)); }, {"rfft", "float16"});
  EXPECT_THROW(rfft(arange(4)), DTypeError);
  expect_throws<ValueError>([] { rfft(ones({4}), 0); }, {"rfft", "0 points"});
  EXPECT_THROW(rfft(ones({4}), -3), ValueError);
  EXPECT_THROW(rfft(ones({0})), ValueError);
  EXPECT_THROW(irfft(ones({1, 2})), ValueError) << "one pair alone says not how many numbers";
  EXPECT_THROW(fft(ones({4, 2}), std::nullopt, 1), IndexError) << "the pairs are no axis";
  EXPECT_THROW(rfft(ones({2, 2, 2, 2, 2, 2, 2, 2})), ShapeError) << "no room for pairs";
  EXPECT_THROW(fft2(ones({3, 4, 2}), {3}), ValueError);
  EXPECT_THROW(complex_mul(ones({2}), ones({3})), ShapeError);
  EXPECT_THROW(fftfreq(0), ValueError);
  EXPECT_THROW(rfftfreq(4, 0), ValueError);
}

}  // namespace
}  // namespace tenure
