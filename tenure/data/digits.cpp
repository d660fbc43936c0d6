#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "tenure/base/error.h"
#include "tenure/data/idx.h"
#include "tenure/data/sources.h"
#include "tenure/kernels/parallel.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/creation.h"

namespace tenure::data {
namespace {

constexpr std::int64_t kSide = 28;

struct Point {
  double x, y;
};

/// One line of the pen, through these points. x grows to the right and y down, both from 0 to 1.
using Stroke = std::span<const Point>;

// The ways to write each digit; several strokes are parted by a point outside.
constexpr Point kLift{-1, -1};
constexpr Point kZero[] = {{.5, .05},  {.25, .15}, {.15, .5},  {.25, .85}, {.5, .95},
                           {.75, .85}, {.85, .5},  {.75, .15}, {.5, .05}};
constexpr Point kOne[] = {{.5, .03}, {.5, .35}, {.5, .65}, {.5, .97}};
constexpr Point kOneWithFlag[] = {{.3, .28},  {.45, .14}, {.55, .04}, kLift,
                                  {.55, .04}, {.55, .5},  {.55, .96}};
constexpr Point kTwo[] = {{.2, .25},  {.35, .07}, {.6, .05},  {.8, .2},  {.75, .42}, {.5, .65},
                          {.18, .93}, kLift,      {.18, .93}, {.5, .93}, {.85, .93}};
constexpr Point kTwoWithLoop[] = {{.2, .2},   {.45, .05}, {.75, .12}, {.75, .4}, {.45, .75},
                                  {.22, .92}, {.18, .8},  {.35, .75}, {.6, .9},  {.88, .88}};
constexpr Point kThree[] = {{.2, .12},  {.5, .03},  {.78, .14}, {.75, .36}, {.45, .48}, kLift,
                            {.45, .48}, {.78, .58}, {.82, .82}, {.5, .97},  {.18, .86}};
constexpr Point kFour[] = {{.65, .03}, {.4, .35}, {.12, .65}, kLift,     {.12, .65}, {.5, .65},
                           {.9, .65},  kLift,     {.65, .03}, {.65, .5}, {.65, .97}};
constexpr Point kFourOpen[] = {{.25, .05}, {.2, .3},   {.22, .5}, {.5, .53}, {.78, .48},
                               kLift,      {.78, .05}, {.75, .5}, {.72, .97}};
constexpr Point kFive[] = {{.25, .06}, {.23, .25}, {.22, .45}, kLift,      {.22, .45},
                           {.5, .38},  {.78, .5},  {.8, .78},  {.55, .96}, {.2, .9},
                           kLift,      {.25, .06}, {.5, .06},  {.82, .05}};
constexpr Point kSix[] = {{.7, .04},  {.4, .2},  {.2, .5}, {.2, .8},  {.45, .96},
                          {.75, .85}, {.75, .6}, {.5, .5}, {.25, .65}};
constexpr Point kSeven[] = {{.15, .07}, {.5, .06}, {.85, .06}, kLift,
                            {.85, .06}, {.6, .45}, {.4, .97}};
constexpr Point kSevenWithBar[] = {{.15, .1},  {.5, .07},  {.85, .06}, kLift,
                                   {.85, .06}, {.62, .45}, {.45, .97}, kLift,
                                   {.35, .5},  {.55, .5},  {.78, .48}};
constexpr Point kEight[] = {{.5, .48}, {.25, .3}, {.35, .06}, {.65, .06}, {.75, .3}, {.5, .48},
                            {.2, .7},  {.3, .94}, {.7, .94},  {.8, .7},   {.5, .48}};
constexpr Point kNine[] = {{.78, .25}, {.6, .06}, {.3, .12}, {.22, .35}, {.45, .5},
                           {.75, .38}, {.78, .2}, {.75, .6}, {.62, .97}};

constexpr std::array<std::array<Stroke, 2>, 10> kDigits = {{{kZero, kZero},
                                                            {kOne, kOneWithFlag},
                                                            {kTwo, kTwoWithLoop},
                                                            {kThree, kThree},
                                                            {kFour, kFourOpen},
                                                            {kFive, kFive},
                                                            {kSix, kSix},
                                                            {kSeven, kSevenWithBar},
                                                            {kEight, kEight},
                                                            {kNine, kNine}}};

/// Numbers that depend on the seed and the place of the image alone.
class ImageNumbers {
 public:
  ImageNumbers(std::uint64_t seed, std::int64_t place)
      : key_(mix(seed, static_cast<std::uint64_t>(place))) {}
  double between(double low, double high) {
    return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }
  std::uint64_t next() { return mix(key_, count_++); }

 private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

/// How far each pixel is from the pen's way, squared, up to a reach that ends what counts.
class Distances {
 public:
  explicit Distances(double reach) : reach_(reach) { squares_.fill(reach * reach); }

  /// The pen goes straight from a to b.
  void draw(Point a, Point b) {
    const double dx = b.x - a.x;
    const double dy = b.y - a.y;
    const double length = dx * dx + dy * dy;
    const auto first = [this](double p, double q) {
      return std::max<std::int64_t>(0, std::lround(std::floor(std::min(p, q) - reach_)));
    };
    const auto last = [this](double p, double q) {
      return std::min<std::int64_t>(kSide - 1, std::lround(std::ceil(std::max(p, q) + reach_)));
    };
    for (std::int64_t y = first(a.y, b.y); y <= last(a.y, b.y); ++y) {
      for (std::int64_t x = first(a.x, b.x); x <= last(a.x, b.x); ++x) {
        const double px = static_cast<double>(x) - a.x;
        const double py = static_cast<double>(y) - a.y;
        const double along = length == 0 ? 0 : std::clamp((px * dx + py * dy) / length, 0.0, 1.0);
        const double ex = along * dx - px;
        const double ey = along * dy - py;
        double& square = squares_[static_cast<std::size_t>(y * kSide + x)];
        square = std::min(square, ex * ex + ey * ey);
      }
    }
  }
  double at(std::int64_t pixel) const {
    return std::sqrt(squares_[static_cast<std::size_t>(pixel)]);
  }

 private:
  double reach_;
  std::array<double, kSide * kSide> squares_;
};

/// A smooth curve through p1 and p2, where it comes from p0 and goes on to p3 (Catmull and Rom).
Point between(Point p0, Point p1, Point p2, Point p3, double t) {
  const auto value = [t](double a, double b, double c, double d) {
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  };
  return {value(p0.x, p1.x, p2.x, p3.x), value(p0.y, p1.y, p2.y, p3.y)};
}

void draw_stroke(Distances& distances, std::span<const Point> points) {
  constexpr int kPieces = 4;  // for each point
  const std::size_t last = points.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    const Point before = points[i == 0 ? 0 : i - 1];
    const Point after = points[std::min(i + 2, last)];
    Point from = points[i];
    for (int piece = 1; piece <= kPieces; ++piece) {
      const Point to =
          between(before, points[i], points[i + 1], after, piece / static_cast<double>(kPieces));
      distances.draw(from, to);
      from = to;
    }
  }
}

/// A digit as somebody writes it: bent, turned, slanted, stretched and moved.
void write(Stroke shape, ImageNumbers& random, Distances& distances) {
  constexpr double kPi = 3.14159265358979323846;
  const double turn = random.between(-0.08, 0.08) * kPi;
  const double slant = random.between(-0.25, 0.25);
  const double width = random.between(11, 17);
  const double height = random.between(16, 21);
  const Point center{13.5 + random.between(-1.8, 1.8), 13.5 + random.between(-1.8, 1.8)};
  const Point wave{random.between(-0.06, 0.06), random.between(-0.06, 0.06)};

  std::array<Point, 16> points{};
  std::size_t count = 0;
  for (const Point& model : shape) {
    if (model.x < 0) {
      draw_stroke(distances, std::span(points).first(count));
      count = 0;
      continue;
    }
    // Points that strokes share must move together: the bend depends on the place alone, and the
    // trembling of the hand is in the middle of a stroke.
    double x = model.x - 0.5 + wave.x * std::sin(2 * kPi * model.y);
    double y = model.y - 0.5 + wave.y * std::sin(2 * kPi * model.x);
    if (count != 0) {
      x += random.between(-0.025, 0.025);
      y += random.between(-0.025, 0.025);
    }
    x = (x - slant * y) * width;
    y *= height;
    points[count++] = {center.x + x * std::cos(turn) - y * std::sin(turn),
                       center.y + x * std::sin(turn) + y * std::cos(turn)};
  }
  draw_stroke(distances, std::span(points).first(count));
}

void draw(std::int64_t label, ImageNumbers& random, std::uint8_t* pixels) {
  const double pen = random.between(0.7, 1.5);
  const double edge = random.between(0.8, 1.4);  // over which black becomes white
  const double ink = random.between(190, 255);
  Distances distances(pen + edge / 2);
  const auto& forms = kDigits[static_cast<std::size_t>(label)];
  write(forms[random.next() % forms.size()], random, distances);
  for (std::int64_t i = 0; i < kSide * kSide; ++i) {
    const double cover = std::clamp((pen - distances.at(i)) / edge + 0.5, 0.0, 1.0);
    pixels[i] = static_cast<std::uint8_t>(std::lround(ink * cover));
  }
}

}  // namespace

Dataset digits(std::int64_t n, std::uint64_t seed, Site site) try {
  if (n < 0) throw ValueError(fmt::format("digits: {} images is negative", n));
  const DeviceScope host(cpu);
  const Tensor images = empty({n, kSide, kSide}, DType::uint8, site);
  const Tensor labels = empty({n}, DType::int64, site);
  std::uint8_t* const pixels = images.mutable_span<std::uint8_t>().data();
  std::int64_t* const values = labels.mutable_span<std::int64_t>().data();
  constexpr std::int64_t kGrain = 16;
  kernels::parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ImageNumbers random(seed, i);
      values[i] = static_cast<std::int64_t>(random.next() % 10);
      draw(values[i], random, pixels + i * kSide * kSide);
    }
  });
  return from_tensors({images, labels}, site);
} catch (Error& error) {
  mem::name_call(error, "digits", site);
  throw;
}

}  // namespace tenure::data
