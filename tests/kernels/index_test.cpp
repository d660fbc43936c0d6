#include <map>

#include "tenure/base/error.h"
#include "tenure/kernels/cpu/index/take.h"
#include "tests/kernels/random_views.h"

namespace tenure::kernels::test {
namespace {

constexpr int kTrials = 400;

std::int64_t wrapped(double index, std::int64_t size) {
  const auto i = static_cast<std::int64_t>(index);
  return i < 0 ? i + size : i;
}

/// Indices for an axis of `size` elements, or of none if that is empty.
Owned indices_for(RandomViews& random, Shape shape, std::int64_t size, bool broadcast = true) {
  if (size == 0 && count(shape) > 0) shape = Shape{0};
  return random.view(random.index_dtype(), shape, -size, std::max<std::int64_t>(size - 1, -size),
                     broadcast);
}

Coordinates slice(const Coordinates& at, std::size_t begin, std::size_t size) {
  return {at.begin() + static_cast<std::ptrdiff_t>(begin),
          at.begin() + static_cast<std::ptrdiff_t>(begin + size)};
}

Coordinates join(Coordinates a, const Coordinates& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Take, MatchesReference) {
  RandomViews random(1);
  for (int trial = 0; trial < kTrials; ++trial) {
    const Owned in = random.view(random.dtype(), random.shape(1, 4, 6));
    const int axis = static_cast<int>(random.integer(0, in.shape.size() - 1));
    const Owned indices = indices_for(random, random.shape(0, 3, 5), in.shape[axis]);
    Shape shape;
    for (int i = 0; i < axis; ++i) shape.push_back(in.shape[i]);
    for (std::int64_t d : indices.shape) shape.push_back(d);
    for (int i = axis + 1; i < in.shape.size(); ++i) shape.push_back(in.shape[i]);
    const Owned out = make_dense(in.dtype, shape);
    take(in, axis, indices, out);

    const auto lead = static_cast<std::size_t>(axis);
    const auto rank = static_cast<std::size_t>(indices.shape.size());
    for_each(shape, [&](const Coordinates& at) {
      Coordinates from = slice(at, 0, lead);
      from.push_back(wrapped(get(indices, slice(at, lead, rank)), in.shape[axis]));
      from = join(from, slice(at, lead + rank, at.size() - lead - rank));
      ASSERT_EQ(get(out, at), get(in, from)) << "trial " << trial;
    });
  }
}

TEST(Take, ScalarsAndLargeInputs) {
  RandomViews random(2);
  const Owned scalar = random.view(float32, {});
  const Owned indices = make_dense(int64, {3});
  const Owned out = make_dense(float32, {3});
  take(scalar, 0, indices, out);
  EXPECT_EQ(values_of(out), std::vector<double>(3, get(scalar, {})));

  const Owned table = random.view(float32, {500, 64});
  const Owned many = random.view(int32, {3000}, -500, 499);
  expect_same_on_threads([&] {
    const Owned rows = make_dense(float32, {3000, 64});
    take(table, 0, many, rows);
    return rows.bytes();
  });
}

TEST(Gather, MatchesReference) {
  RandomViews random(3);
  for (int trial = 0; trial < kTrials; ++trial) {
    const Owned in = random.view(random.dtype(), random.shape(1, 4, 6, false));
    const int axis = static_cast<int>(random.integer(0, in.shape.size() - 1));
    Shape shape = in.shape;
    for (int i = 0; i < shape.size(); ++i) {
      shape[i] = i == axis ? random.integer(0, 7) : random.integer(0, in.shape[i]);
    }
    const Owned indices = indices_for(random, shape, in.shape[axis]);
    const Owned out = make_dense(in.dtype, shape);
    gather(in, axis, indices, out);
    for_each(shape, [&](const Coordinates& at) {
      Coordinates from = at;
      from[static_cast<std::size_t>(axis)] = wrapped(get(indices, at), in.shape[axis]);
      ASSERT_EQ(get(out, at), get(in, from)) << "trial " << trial;
    });
  }
}

double combined(ScatterMode mode, DType dtype, double a, double b) {
  switch (mode) {
    case ScatterMode::assign:
      return b;
    case ScatterMode::add:
      return dtype == boolean ? a + b > 0 : a + b;
    case ScatterMode::multiply:
      return a * b;
    case ScatterMode::maximum:
      return std::max(a, b);
    case ScatterMode::minimum:
      return std::min(a, b);
  }
  return 0;
}

TEST(Scatter, MatchesReference) {
  RandomViews random(4);
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto mode = static_cast<ScatterMode>(random.integer(0, 4));
    const DType dtype = random.dtype();
    // Products of up to eight of these are exact in every type.
    const std::int64_t bound = mode == ScatterMode::multiply ? 1 : 8;
    const Owned out =
        random.view(dtype, random.shape(1, 4, 5, false), 0, bound, /*broadcast=*/false);
    const int axis = static_cast<int>(random.integer(0, out.shape.size() - 1));
    Shape shape = out.shape;
    for (int i = 0; i < shape.size(); ++i) {
      shape[i] = i == axis ? random.integer(0, 7) : random.integer(0, out.shape[i]);
    }
    const Owned indices = indices_for(random, shape, out.shape[axis]);
    const Owned updates = random.view(dtype, shape, 0, bound);

    std::map<std::int64_t, double> expected;
    for_each(out.shape,
             [&](const Coordinates& at) { expected[offset_of(out, at)] = get(out, at); });
    for_each(shape, [&](const Coordinates& at) {
      Coordinates to = at;
      to[static_cast<std::size_t>(axis)] = wrapped(get(indices, at), out.shape[axis]);
      double& value = expected[offset_of(out, to)];
      value = combined(mode, dtype, value, get(updates, at));
    });
    scatter(out, axis, indices, updates, mode);
    for_each(out.shape, [&](const Coordinates& at) {
      ASSERT_EQ(get(out, at), expected[offset_of(out, at)]) << "trial " << trial;
    });
  }
}

TEST(Scatter, NanAndOverflow) {
  const Owned out = make_dense(float32, {2});
  const Owned indices = make_dense(int64, {2});
  const Owned updates = make_dense(float32, {2});
  set(updates, {0}, NAN);
  set(updates, {1}, 5);
  scatter(out, 0, indices, updates, ScatterMode::maximum);
  EXPECT_TRUE(std::isnan(get(out, {0})));

  const Owned sum = make_dense(int32, {1});
  const Owned large = make_dense(int32, {2});
  for (std::int64_t i = 0; i < 2; ++i) set(large, {i}, INT32_MAX);
  scatter(sum, 0, indices, large, ScatterMode::add);
  EXPECT_EQ(get(sum, {0}), -2);
}

TEST(Scatter, SameOnAnyThreads) {
  RandomViews random(5);
  const Owned indices = random.view(int64, {300, 400}, -20, 19);
  const Owned updates = random.view(float32, {300, 400}, -1000, 1000);
  for (const auto mode : {ScatterMode::assign, ScatterMode::add}) {
    for (int axis : {0, 1}) {
      expect_same_on_threads([&] {
        const Owned out = make_dense(float32, axis == 0 ? Shape{20, 400} : Shape{300, 20});
        scatter(out, axis, indices, updates, mode);
        return out.bytes();
      });
    }
  }
}

struct IndexCase {
  Owned tensor;
  std::vector<View> indices;
  std::vector<Owned> owners;
  Shape index_shape;
  Shape shape;  // of the values

  explicit IndexCase(RandomViews& random, bool broadcast)
      : tensor(random.view(random.dtype(), random.shape(1, 4, 5, false), 0, 7, broadcast)),
        index_shape(random.shape(0, 3, 4)),
        shape(index_shape) {
    const auto k = random.integer(1, tensor.shape.size());
    for (int i = 0; i < k; ++i) {
      owners.push_back(indices_for(random, index_shape, tensor.shape[i]));
      indices.push_back(owners.back());
    }
    for (int i = static_cast<int>(k); i < tensor.shape.size(); ++i)
      shape.push_back(tensor.shape[i]);
  }

  Coordinates source(const Coordinates& at) const {
    const auto rank = static_cast<std::size_t>(index_shape.size());
    Coordinates from;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      from.push_back(
          wrapped(get(indices[k], slice(at, 0, rank)), tensor.shape[static_cast<int>(k)]));
    }
    return join(from, slice(at, rank, at.size() - rank));
  }
};

TEST(IndexGather, MatchesReference) {
  RandomViews random(6);
  for (int trial = 0; trial < kTrials; ++trial) {
    const IndexCase c(random, true);
    const Owned out = make_dense(c.tensor.dtype, c.shape);
    index_gather(c.tensor, c.indices, out);
    for_each(c.shape, [&](const Coordinates& at) {
      ASSERT_EQ(get(out, at), get(c.tensor, c.source(at))) << "trial " << trial;
    });
  }
}

TEST(IndexPut, MatchesReference) {
  RandomViews random(7);
  for (int trial = 0; trial < kTrials; ++trial) {
    const IndexCase c(random, false);
    const bool accumulate = random.chance(0.5);
    const auto mode = accumulate ? ScatterMode::add : ScatterMode::assign;
    const Owned values = random.view(c.tensor.dtype, c.shape, 0, 1);
    std::map<std::int64_t, double> expected;
    for_each(c.tensor.shape,
             [&](const Coordinates& at) { expected[offset_of(c.tensor, at)] = get(c.tensor, at); });
    for_each(c.shape, [&](const Coordinates& at) {
      double& value = expected[offset_of(c.tensor, c.source(at))];
      value = combined(mode, c.tensor.dtype, value, get(values, at));
    });
    index_put(c.tensor, c.indices, values, accumulate);
    for_each(c.tensor.shape, [&](const Coordinates& at) {
      ASSERT_EQ(get(c.tensor, at), expected[offset_of(c.tensor, at)]) << "trial " << trial;
    });
  }
}

TEST(IndexPut, SameOnAnyThreads) {
  RandomViews random(8);
  const Owned rows = random.view(int64, {5000}, -50, 49);
  const Owned values = random.view(float32, {5000, 33}, -1000, 1000);
  const std::vector<View> indices{rows};
  for (bool accumulate : {false, true}) {
    expect_same_on_threads([&] {
      const Owned out = make_dense(float32, {50, 33});
      index_put(out, indices, values, accumulate);
      return out.bytes();
    });
  }
}

template <class F>
void expect_refused(const Owned& out, const char* op, std::int64_t index, F f) {
  const auto before = out.bytes();
  try {
    f();
    FAIL() << op << " accepted " << index;
  } catch (const IndexError& error) {
    EXPECT_EQ(error.op(), op);
    EXPECT_EQ(error.index(), index);
    EXPECT_EQ(error.size(), 5);
  }
  EXPECT_EQ(out.bytes(), before);
}

TEST(Indices, BadOnesThrowAndChangeNothing) {
  RandomViews random(9);
  const Owned tensor = random.view(float32, {5, 4});
  for (std::int64_t bad : {std::int64_t{5}, std::int64_t{-6}}) {
    for (DType dtype : {int32, int64}) {
      const Owned index = random.view(dtype, {5, 4}, -5, 4, false);
      set(index, {4, 3}, static_cast<double>(bad));
      const std::vector<View> indices{index};
      const Owned grid = random.view(float32, {5, 4, 4}, -8, 8, false);
      const Owned out = random.view(float32, {5, 4}, -8, 8, false);
      expect_refused(grid, "take", bad, [&] { take(tensor, 0, index, grid); });
      expect_refused(out, "gather", bad, [&] { gather(tensor, 0, index, out); });
      expect_refused(out, "scatter", bad,
                     [&] { scatter(out, 0, index, tensor, ScatterMode::add); });
      expect_refused(grid, "index_gather", bad, [&] { index_gather(tensor, indices, grid); });
      expect_refused(out, "index_put", bad, [&] { index_put(out, indices, grid, false); });
    }
  }
  const Owned floats = make_dense(float32, {2});
  EXPECT_THROW(take(tensor, 0, floats, make_dense(float32, {2, 4})), DTypeError);
  const Owned empty = make_dense(float32, {0});
  EXPECT_THROW(take(empty, 0, make_dense(int64, {1}), make_dense(float32, {1})), IndexError);
}

}  // namespace
}  // namespace tenure::kernels::test
