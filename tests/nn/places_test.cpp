#include <gtest/gtest.h>

#include <vector>

#include "tenure/tenure.h"
#include "tests/support/share.h"

// Where parameters lie while they are trained.

namespace tenure {
namespace {

std::vector<const void*> places_of(const nn::Layer& model) {
  std::vector<const void*> places;
  for (const auto& [name, variable] : model.trainable()) {
    places.push_back(test::data_of(variable.value()));
  }
  return places;
}

/// A device that is given the same addresses again repeats what it did: layers of one size do not
/// pass their memory on to each other.
TEST(Places, ParametersStayWhereTheyAre) {
  for (const int layers : {1, 3, 8, 30}) {
    for (const std::int64_t width : {7, 64, 100}) {
      nn::Sequential model(nn::Dense(5, width), nn::Tanh());
      for (int i = 0; i < layers; ++i) model.push_back(nn::Dense(width, width));
      model.push_back(nn::Dense(width, 4));
      nn::Adam adam(model.trainable(), 0.05);
      nn::Trainer trainer(
          model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); }, adam);
      const Tensor x = normal({6, 5});
      const Tensor target = tensor({0, 1, 2, 3, 0, 1});
      static_cast<void>(trainer.step(x, target));
      const std::vector<const void*> before = places_of(model);
      static_cast<void>(trainer.step(x, target));
      const std::vector<const void*> after = places_of(model);
      std::size_t moved = 0;
      for (std::size_t i = 0; i < before.size(); ++i) moved += before[i] != after[i];
      EXPECT_EQ(moved, 0u) << layers << " layers of " << width;
    }
  }
}

}  // namespace
}  // namespace tenure
