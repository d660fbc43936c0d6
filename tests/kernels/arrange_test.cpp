#include <cmath>

#include "tenure/base/error.h"
#include "tenure/kernels/cpu/index/arrange.h"
#include "tenure/kernels/cpu/index/create.h"
#include "tenure/kernels/cpu/index/mask.h"
#include "tenure/ops/creation/attributes.h"
#include "tests/kernels/random_views.h"

namespace tenure::kernels::test {
namespace {

constexpr int kTrials = 400;

TEST(Mask, MatchesReference) {
  RandomViews random(1);
  for (int trial = 0; trial < kTrials; ++trial) {
    const Owned in = random.view(random.dtype(), random.shape(0, 4, 6), -1, 1, false);
    if (is_floating(in.dtype) && in.count() > 0) {
      set(in, Coordinates(static_cast<std::size_t>(in.shape.size()), 0),
          random.chance(0.5) ? -0.0 : NAN);
    }
    std::vector<double> expected;
    for_each(in.shape, [&](const Coordinates& at) {
      if (get(in, at) != 0) expected.insert(expected.end(), at.begin(), at.end());
    });
    const std::int64_t n = nonzero_count(in);
    const Owned out = make_dense(int64, {n, in.shape.size()});
    nonzero(in, out);
    ASSERT_EQ(values_of(out), expected) << "trial " << trial;

    const Owned mask = random.view(boolean, in.shape);
    std::vector<double> selected;
    for_each(in.shape, [&](const Coordinates& at) {
      if (get(mask, at) != 0) selected.push_back(get(in, at));
    });
    const auto m = static_cast<std::int64_t>(selected.size());
    ASSERT_EQ(nonzero_count(mask), m);
    const Owned picked = make_dense(in.dtype, {m});
    mask_select(in, mask, picked);
    const auto got = values_of(picked);
    for (std::size_t i = 0; i < selected.size(); ++i) {
      ASSERT_TRUE(got[i] == selected[i] || (std::isnan(got[i]) && std::isnan(selected[i])));
    }

    const auto before = values_of(in);
    const Owned values = random.view(in.dtype, {m});
    mask_put(in, mask, values);
    std::size_t i = 0;
    std::int64_t taken = 0;
    for_each(in.shape, [&](const Coordinates& at) {
      const double want = get(mask, at) != 0 ? get(values, {taken++}) : before[i];
      const double have = get(in, at);
      ASSERT_TRUE(have == want || (std::isnan(have) && std::isnan(want))) << "trial " << trial;
      ++i;
    });
  }
}

TEST(Mask, SameOnAnyThreads) {
  RandomViews random(2);
  const Owned in = random.view(float32, {300, 500}, -1, 1);
  const Owned mask = random.view(boolean, {300, 500});
  expect_same_on_threads([&] {
    const Owned places = make_dense(int64, {nonzero_count(in), 2});
    nonzero(in, places);
    const Owned picked = make_dense(float32, {nonzero_count(mask)});
    mask_select(in, mask, picked);
    auto bytes = places.bytes();
    const auto more = picked.bytes();
    bytes.insert(bytes.end(), more.begin(), more.end());
    return bytes;
  });
}

std::int64_t bounce(std::int64_t i, std::int64_t n, bool symmetric) {
  if (n == 1) return 0;
  while (i < 0 || i >= n) {
    if (i < 0) i = symmetric ? -1 - i : -i;
    if (i >= n) i = 2 * n - (symmetric ? 1 : 2) - i;
  }
  return i;
}

TEST(Pad, MatchesReference) {
  RandomViews random(3);
  for (int trial = 0; trial < 2 * kTrials; ++trial) {
    const Owned in = random.view(random.dtype(), random.shape(0, 4, 5, false));
    const auto mode = static_cast<PadMode>(random.integer(0, 4));
    Dims low;
    Shape shape;
    for (std::int64_t d : in.shape) {
      low.push_back(random.chance(0.5) ? 0 : random.integer(-2, 7));
      const std::int64_t high = random.chance(0.5) ? 0 : random.integer(-2, 7);
      shape.push_back(std::max<std::int64_t>(low.back() + d + high, 0));
    }
    const Owned out = make_dense(in.dtype, shape);
    const Owned fill = random.view(in.dtype, {});
    pad(in, out, low, mode, fill.data);
    for_each(shape, [&](const Coordinates& at) {
      Coordinates from = at;
      bool outside = false;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const int axis = static_cast<int>(i);
        const std::int64_t n = in.shape[axis];
        const std::int64_t p = at[i] - low[axis];
        outside |= p < 0 || p >= n;
        from[i] = mode == PadMode::edge       ? std::clamp<std::int64_t>(p, 0, n - 1)
                  : mode == PadMode::wrap     ? ((p % n) + n) % n
                  : mode == PadMode::constant ? p
                                              : bounce(p, n, mode == PadMode::symmetric);
      }
      const double want = mode == PadMode::constant && outside ? get(fill, {}) : get(in, from);
      ASSERT_EQ(get(out, at), want) << "trial " << trial;
    });
  }
}

TEST(Pad, EmptyAxes) {
  const float fill = 3;
  const Owned in = make_dense(float32, {0, 2});
  const Owned out = make_dense(float32, {2, 3});
  pad(in, out, {1, 0}, PadMode::constant, &fill);
  EXPECT_EQ(values_of(out), std::vector<double>(6, 3));
  EXPECT_THROW(pad(in, out, {1, 0}, PadMode::edge, nullptr), ValueError);
}

TEST(Roll, MatchesReference) {
  RandomViews random(4);
  for (int trial = 0; trial < kTrials; ++trial) {
    const Owned in = random.view(random.dtype(), random.shape(0, 4, 5));
    Dims shifts;
    for (int i = 0; i < in.shape.size(); ++i) shifts.push_back(random.integer(-12, 12));
    const Owned out = make_dense(in.dtype, in.shape);
    roll(in, out, shifts);
    for_each(in.shape, [&](const Coordinates& at) {
      Coordinates to = at;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const std::int64_t n = in.shape[static_cast<int>(i)];
        to[i] = (((at[i] + shifts[static_cast<int>(i)]) % n) + n) % n;
      }
      ASSERT_EQ(get(out, to), get(in, at)) << "trial " << trial;
    });
  }
}

TEST(RepeatAndTile, MatchReference) {
  RandomViews random(5);
  for (int trial = 0; trial < kTrials; ++trial) {
    const Owned in = random.view(random.dtype(), random.shape(1, 4, 4));
    const int axis = static_cast<int>(random.integer(0, in.shape.size() - 1));
    const std::int64_t times = random.integer(0, 3);
    Shape shape = in.shape;
    shape[axis] *= times;
    const Owned repeated = make_dense(in.dtype, shape);
    repeat(in, axis, times, repeated);
    for_each(shape, [&](const Coordinates& at) {
      Coordinates from = at;
      from[static_cast<std::size_t>(axis)] /= times;
      ASSERT_EQ(get(repeated, at), get(in, from)) << "trial " << trial;
    });

    Dims counts;
    for (int i = 0; i < in.shape.size(); ++i) counts.push_back(random.integer(0, 3));
    for (int i = 0; i < in.shape.size(); ++i) shape[i] = in.shape[i] * counts[i];
    const Owned tiled = make_dense(in.dtype, shape);
    tile(in, counts, tiled);
    for_each(shape, [&](const Coordinates& at) {
      Coordinates from = at;
      for (std::size_t i = 0; i < at.size(); ++i) from[i] %= in.shape[static_cast<int>(i)];
      ASSERT_EQ(get(tiled, at), get(in, from)) << "trial " << trial;
    });
  }
}

TEST(Tile, EightDimensions) {
  RandomViews random(6);
  const Shape shape{2, 1, 2, 1, 2, 1, 1, 2};
  const Owned in = random.view(int16, shape, -8, 8, false);
  Shape doubled = shape;
  for (std::int64_t& d : doubled) d *= 2;
  const Owned out = make_dense(int16, doubled);
  tile(in, Dims::filled(8, 2), out);
  for_each(doubled, [&](const Coordinates& at) {
    Coordinates from = at;
    for (std::size_t i = 0; i < 8; ++i) from[i] %= shape[static_cast<int>(i)];
    ASSERT_EQ(get(out, at), get(in, from));
  });
}

TEST(Triangles, MatchReference) {
  RandomViews random(7);
  for (int trial = 0; trial < kTrials; ++trial) {
    const DType dtype = random.dtype();
    const Shape shape = random.shape(2, 4, 5);
    const bool in_place = random.chance(0.3);
    const Owned out = make_dense(dtype, shape);
    const Owned in = in_place ? out : random.view(dtype, shape);
    if (in_place) {
      for_each(shape, [&](const Coordinates& at) { set(out, at, 1); });
    }
    const auto before = values_of(in);
    const std::int64_t k = trial == 0 ? INT64_MAX : trial == 1 ? INT64_MIN : random.integer(-6, 6);
    const bool lower = random.chance(0.5);
    (lower ? tril : triu)(in, out, k);
    std::size_t i = 0;
    for_each(shape, [&](const Coordinates& at) {
      const std::int64_t row = at[at.size() - 2];
      const std::int64_t column = at[at.size() - 1];
      const bool kept = lower ? column - row <= k : column - row >= k;
      ASSERT_EQ(get(out, at), kept ? before[i] : 0) << "trial " << trial;
      ++i;
    });
  }
}

TEST(Eye, MatchesReference) {
  for (int d = 0; d < kDTypes; ++d) {
    for (std::int64_t k : {-7, -3, -1, 0, 1, 2, 9}) {
      const Owned out = make_dense(static_cast<DType>(d), {2, 4, 3});
      eye(out, k);
      for_each(out.shape, [&](const Coordinates& at) {
        ASSERT_EQ(get(out, at), at[2] - at[1] == k ? 1 : 0) << k;
      });
    }
  }
}

TEST(OneHot, MatchesReferenceAndRefuses) {
  RandomViews random(8);
  for (int trial = 0; trial < 100; ++trial) {
    const Owned indices = random.view(random.index_dtype(), random.shape(0, 3, 5), -4, 3, false);
    Shape shape = indices.shape;
    shape.push_back(4);
    const Owned out = make_dense(float16, shape);
    const Half on(2.0F);
    const Half off(-1.0F);
    one_hot(indices, out, &on, &off);
    for_each(shape, [&](const Coordinates& at) {
      const Coordinates lead(at.begin(), at.end() - 1);
      const auto index = static_cast<std::int64_t>(get(indices, lead));
      ASSERT_EQ(get(out, at), (index + 4) % 4 == at.back() ? 2 : -1);
    });
    if (indices.count() == 0) continue;
    set(indices, Coordinates(static_cast<std::size_t>(indices.shape.size()), 0), 4);
    const auto before = out.bytes();
    EXPECT_THROW(one_hot(indices, out, &off, &on), IndexError);
    EXPECT_EQ(out.bytes(), before);
  }
}

TEST(Arange, AllTypes) {
  for (int d = 0; d < kDTypes; ++d) {
    const Owned out = make_dense(static_cast<DType>(d), {5});
    arange(out, std::int64_t{2}, std::int64_t{3});
    const Owned same = make_dense(static_cast<DType>(d), {5});
    arange(same, 2.0, 3.0);
    EXPECT_EQ(out.bytes(), same.bytes());
    if (static_cast<DType>(d) == boolean) continue;
    EXPECT_EQ(values_of(out), (std::vector<double>{2, 5, 8, 11, 14}));
  }
  const Owned large = make_dense(int64, {2});
  arange(large, INT64_MAX - 1, std::int64_t{1});
  EXPECT_EQ(large.as<std::int64_t>()[1], INT64_MAX);
  const Owned fractions = make_dense(float32, {100000});
  arange(fractions, 0.0, 0.1);
  EXPECT_EQ(fractions.as<float>()[99999], 9999.9F);
  arange(make_dense(float32, {0}), 0.0, 1.0);
}

TEST(Linspace, EndsAndHalves) {
  for (std::int64_t n : {2, 3, 7, 10, 1001}) {
    for (auto [a, b] :
         {std::pair{0.0, 1.0}, {-0.1, 0.3}, {5.0, -1e-3}, {-1.7e308, 1.7e308}, {0.0, 1.7e308}}) {
      const Owned out = make_dense(float64, {n});
      linspace(out, ops::spacing(a, b, n, true));
      const double* x = out.as<double>();
      EXPECT_EQ(x[0], a);
      EXPECT_EQ(x[n - 1], b);
      for (std::int64_t i = 1; i < n; ++i) {
        ASSERT_EQ(x[i] > x[i - 1], b > a);
        const auto t = static_cast<long double>(i) / static_cast<long double>(n - 1);
        const long double want = a + (static_cast<long double>(b) - a) * t;
        ASSERT_NEAR(x[i], static_cast<double>(want), 4e-16 * std::max(std::abs(a), std::abs(b)));
      }
    }
  }
  const Owned open = make_dense(float32, {4});
  linspace(open, ops::spacing(0, 1, 4, false));
  EXPECT_EQ(values_of(open), (std::vector<double>{0, 0.25, 0.5, 0.75}));
  const Owned integers = make_dense(int32, {5});
  linspace(integers, ops::spacing(-1, 1, 5, true));
  EXPECT_EQ(values_of(integers), (std::vector<double>{-1, -1, 0, 0, 1}));
  const Owned one = make_dense(float32, {1});
  linspace(one, ops::spacing(3, 9, 1, true));
  EXPECT_EQ(values_of(one), std::vector<double>{3});
  linspace(make_dense(float32, {0}), ops::spacing(0, 1, 0, true));
}

}  // namespace
}  // namespace tenure::kernels::test
