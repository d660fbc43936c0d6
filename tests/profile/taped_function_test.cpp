// What a tape saves of a compiled function, as recordings have it.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/profile/read_recording.h"

namespace tenure {
namespace {

TEST(TapedFunctions, WhatIsSavedHasTheLayerOfItsForwardCall) {
  const auto f = function([](const Tensor& x) {
    Tensor y = x;
    for (const char* const name : {"first", "second"}) {
      const NameScope layer(name);
      y = tanh(matmul(y, y));
    }
    return sum(y);
  });
  const Tensor x = full({32, 32}, 0.01);
  const test::Recording r([&] {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    tape.gradient(y, x);
  });
  std::map<std::string, int> made;  // storages that runs returned, by layer
  for (const profile::StorageLife& life : r.history.storages) {
    const profile::Origin& origin = r.recorded.origin(life.origin);
    if (origin.op == "run" && life.bytes == 32 * 32 * 4) ++made[std::string(origin.scope)];
  }
  EXPECT_GE(made["first"], 1) << "tanh's result, which its gradient and the next product read";
  EXPECT_GE(made["second"], 1);
}

TEST(TapedFunctions, ACallersScopeStaysWhereTheFunctionNamesNone) {
  const auto f = function([](const Tensor& x) { return tanh(x) * 2; });
  const Tensor x = full({32, 32}, 0.01);
  const test::Recording r([&] {
    const NameScope outer("outer");
    const Tensor y = f(x);
  });
  int found = 0;
  for (const profile::StorageLife& life : r.history.storages) {
    const profile::Origin& origin = r.recorded.origin(life.origin);
    if (origin.op != "run") continue;
    EXPECT_EQ(origin.scope, "outer");
    ++found;
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace tenure
