#include "tenure/kernels/cpu/sort/sort.h"

#include <map>
#include <numeric>

#include "tenure/base/error.h"
#include "tests/kernels/random_views.h"

namespace tenure::kernels::test {
namespace {

constexpr int kTrials = 300;

/// The order of sort, spelled out: NaN is the greatest.
bool less(double a, double b) {
  if (std::isnan(a)) return false;
  return std::isnan(b) || a < b;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// Integers, and in floating types some NaN, infinities and zeros of both signs.
Owned mixed_view(RandomViews& random, DType dtype, const Shape& shape) {
  Owned view = random.view(dtype, shape, -40, 40, false);
  if (!is_floating(dtype)) return view;
  for_each(shape, [&](const Coordinates& at) {
    constexpr double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-7, -1e-7};
    if (random.chance(0.3)) set(view, at, special[random.integer(0, 6)]);
  });
  return view;
}

struct Line {
  std::vector<double> values;
  std::vector<std::int64_t> order;
};

/// The elements of `view` along `axis` at `at`, and the places of a stable sort.
Line sorted_line(const View& view, int axis, Coordinates at, bool descending) {
  Line line;
  for (std::int64_t i = 0; i < view.shape[axis]; ++i) {
    at[static_cast<std::size_t>(axis)] = i;
    line.values.push_back(get(view, at));
  }
  line.order.resize(line.values.size());
  std::iota(line.order.begin(), line.order.end(), 0);
  const auto value = [&](std::int64_t i) { return line.values[static_cast<std::size_t>(i)]; };
  std::stable_sort(line.order.begin(), line.order.end(), [&](auto a, auto b) {
    return descending ? less(value(b), value(a)) : less(value(a), value(b));
  });
  return line;
}

std::vector<std::byte> workspace_of(std::size_t bytes) { return std::vector<std::byte>(bytes); }

TEST(Sort, MatchesReference) {
  RandomViews random(1);
  for (int trial = 0; trial < kTrials; ++trial) {
    const DType dtype = random.dtype();
    const Shape shape =
        random.chance(0.2) ? Shape{3, random.integer(49, 300)} : random.shape(1, 4, 7);
    const Owned in = mixed_view(random, dtype, shape);
    const int axis = static_cast<int>(random.integer(0, shape.size() - 1));
    const bool descending = random.chance(0.5);
    const Order order = descending ? Order::descending : Order::ascending;
    const Owned original = make_dense(dtype, shape);
    for_each(shape, [&](const Coordinates& at) { set(original, at, get(in, at)); });

    const Owned indices = random.layout(int64, shape, false);
    const Owned values = random.layout(dtype, shape, false);
    auto workspace = workspace_of(sort_workspace(in, axis, true));
    const bool in_place = random.chance(0.3);
    const View& target = in_place ? in : values;
    if (random.chance(0.5)) {
      sort_axis(in, axis, order, &target, &indices, workspace);
    } else {
      sort_axis(in, axis, order, nullptr, &indices, workspace);
      workspace = workspace_of(sort_workspace(in, axis, false));
      sort_axis(in, axis, order, &target, nullptr, workspace);
    }
    for_each(shape, [&](const Coordinates& at) {
      if (at[static_cast<std::size_t>(axis)] != 0) return;
      const Line line = sorted_line(original, axis, at, descending);
      Coordinates to = at;
      for (std::size_t i = 0; i < line.order.size(); ++i) {
        to[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(i);
        ASSERT_EQ(get(indices, to), static_cast<double>(line.order[i])) << "trial " << trial;
        const double want = line.values[static_cast<std::size_t>(line.order[i])];
        ASSERT_TRUE(same(get(target, to), want)) << "trial " << trial;
      }
    });
  }
}

TEST(Sort, ExtremesAndScalars) {
  const Owned wide = make_dense(int64, {100});
  for (std::int64_t i = 0; i < 100; ++i) {
    wide.as<std::int64_t>()[i] = i % 2 == 0 ? INT64_MIN + i : INT64_MAX - i;
  }
  auto workspace = workspace_of(sort_workspace(wide, 0, false));
  sort_axis(wide, 0, Order::ascending, &wide, nullptr, workspace);
  EXPECT_TRUE(std::is_sorted(wide.as<std::int64_t>(), wide.as<std::int64_t>() + 100));
  EXPECT_EQ(wide.as<std::int64_t>()[99], INT64_MAX - 1);

  const Owned scalar = make_dense(float32, {});
  set(scalar, {}, 7);
  const Owned index = make_dense(int64, {});
  set(index, {}, 5);
  workspace = workspace_of(sort_workspace(scalar, 0, true));
  sort_axis(scalar, 0, Order::descending, &scalar, &index, workspace);
  EXPECT_EQ(get(scalar, {}), 7);
  EXPECT_EQ(get(index, {}), 0);

  std::byte small[8];
  EXPECT_THROW(sort_axis(wide, 0, Order::ascending, &wide, nullptr, small), InternalError);
}

TEST(Sort, SameOnAnyThreads) {
  RandomViews random(2);
  const Owned in = mixed_view(random, float32, {300, 200});
  for (int axis : {0, 1}) {
    expect_same_on_threads([&] {
      const Owned out = make_dense(float32, in.shape);
      auto workspace = workspace_of(sort_workspace(in, axis, false));
      sort_axis(in, axis, Order::ascending, &out, nullptr, workspace);
      return out.bytes();
    });
  }
}

TEST(TopK, MatchesReference) {
  RandomViews random(3);
  for (int trial = 0; trial < kTrials; ++trial) {
    const DType dtype = random.dtype();
    const Shape shape =
        random.chance(0.3) ? Shape{3, random.integer(49, 300)} : random.shape(1, 4, 7);
    const Owned in = mixed_view(random, dtype, shape);
    const int axis = static_cast<int>(random.integer(0, shape.size() - 1));
    const std::int64_t k = random.integer(0, random.chance(0.5) ? shape[axis] : shape[axis] / 16);
    const bool largest = random.chance(0.5);
    Shape best = shape;
    best[axis] = k;
    const Owned values = random.layout(dtype, best, false);
    const Owned indices = random.layout(int64, best, false);
    auto workspace = workspace_of(topk_workspace(in, axis, k));
    topk(in, axis, k, largest, values, indices, workspace);
    for_each(best, [&](const Coordinates& at) {
      if (at[static_cast<std::size_t>(axis)] != 0) return;
      const Line line = sorted_line(in, axis, at, largest);
      Coordinates to = at;
      for (std::int64_t i = 0; i < k; ++i) {
        to[static_cast<std::size_t>(axis)] = i;
        const std::int64_t place = line.order[static_cast<std::size_t>(i)];
        ASSERT_EQ(get(indices, to), static_cast<double>(place)) << "trial " << trial;
        ASSERT_TRUE(same(get(values, to), line.values[static_cast<std::size_t>(place)]));
      }
    });
  }
}

TEST(Unique, MatchesReference) {
  RandomViews random(4);
  for (int trial = 0; trial < kTrials; ++trial) {
    const DType dtype = random.dtype();
    const Owned in = mixed_view(random, dtype, random.shape(0, 3, 7));
    const auto order = [](double a, double b) { return less(a, b); };
    std::map<double, std::int64_t, decltype(order)> groups(order);
    for_each(in.shape, [&](const Coordinates& at) { ++groups[get(in, at)]; });

    const bool with_inverse = random.chance(0.5);
    auto workspace = workspace_of(unique_workspace(in, with_inverse));
    const std::int64_t n = unique_count(in, with_inverse, workspace);
    ASSERT_EQ(n, static_cast<std::int64_t>(groups.size())) << "trial " << trial;
    const Owned values = make_dense(dtype, {n});
    const Owned counts = make_dense(int64, {n});
    const Owned inverse = make_dense(int64, in.shape);
    unique(in, with_inverse, workspace, values, with_inverse ? &inverse : nullptr, &counts);

    std::int64_t g = 0;
    for (const auto& [value, times] : groups) {
      ASSERT_FALSE(less(value, get(values, {g})) || less(get(values, {g}), value));
      ASSERT_EQ(get(counts, {g}), static_cast<double>(times));
      ++g;
    }
    if (!with_inverse) continue;
    for_each(in.shape, [&](const Coordinates& at) {
      const double found = get(values, {static_cast<std::int64_t>(get(inverse, at))});
      const double want = get(in, at);
      ASSERT_TRUE(found == want || (std::isnan(found) && std::isnan(want))) << "trial " << trial;
    });
  }
}

}  // namespace
}  // namespace tenure::kernels::test
