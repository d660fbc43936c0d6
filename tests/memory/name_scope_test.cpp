#include "tenure/memory/scope.h"

#include <gtest/gtest.h>

#include <malloc.h>

#include <string>
#include <vector>

#include "tenure/base/units.h"
#include "tenure/memory/ledger.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::on_thread;
using test::on_threads;
using test::room;

TEST(Scope, NamesWhatIsMadeInside) {
  const Scope model("model");
  const Tensor a = room(1);
  EXPECT_EQ(a.scope(), "model");
  {
    const NameScope layer("layer");
    EXPECT_EQ(room(1).scope(), "model/layer");
    const Scope plain;
    EXPECT_EQ(room(1).scope(), "model/layer");
  }
  EXPECT_EQ(room(1).scope(), "model");
  on_thread([] { EXPECT_EQ(room(1).scope(), ""); });
}

/// Bytes that malloc has given out.
std::size_t heap_bytes() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

TEST(NameScope, ChangingNamesDoNotPileUp) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizer has a heap of its own";
  const std::string long_name(1000, 'x');
  const Tensor survivor = [&] {
    const NameScope name("survivor");
    return room(1);
  }();
  const auto requests = [&](int n) {
    for (int i = 0; i < n; ++i) {
      const Scope scope(long_name + std::to_string(i));
      const Tensor tensor = room(8);
    }
  };
  requests(10'000);
  const std::size_t before = heap_bytes();
  requests(100'000);
  EXPECT_LE(heap_bytes(), before + 2 * MiB);
  EXPECT_EQ(survivor.scope(), "survivor");
}

TEST(NameScope, NamesOfLiveAndDisposedTensorsStay) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 5000; ++i) {
    const NameScope name("name " + std::to_string(i));
    const Tensor temporary = room(1);
    if (i % 10 == 0) tensors.push_back(room(1));
    if (i % 20 == 0) tensors.back().dispose();
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].scope(), "name " + std::to_string(10 * i));
  }
}

TEST(NameScope, ThreadsReadNamesThatOthersMade) {
  on_threads(3, [](int self) {
    for (int i = 0; i < test::rounds(3000); ++i) {
      const NameScope name(std::to_string(self));
      const Tensor tensor = room(1);
      EXPECT_EQ(tensor.scope(), std::to_string(self));
      if (i % 100 == 0) {
        for (const TensorInfo& info : live_tensors()) EXPECT_LE(info.scope.size(), 1u);
      }
    }
  });
}

}  // namespace
}  // namespace tenure
