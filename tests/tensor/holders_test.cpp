#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tenure/memory/scope.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::counting;
using test::share;

const TensorInfo* find(const std::vector<TensorInfo>& all, const Tensor& tensor) {
  const auto it = std::find_if(all.begin(), all.end(),
                               [&](const TensorInfo& info) { return info.id == tensor.id(); });
  return it == all.end() ? nullptr : &*it;
}

TEST(Holders, ListsEveryoneWithNameLineAndScope) {
  Tensor base = counting({2});
  base.set_name("base");
  Tensor view;
  {
    const NameScope outer("model");
    const NameScope inner("layer");
    view = share(base);
  }
  const Tensor copy = base;
  const std::vector<Holder> all = holders(base);
  ASSERT_EQ(all.size(), 2u) << "copies of a handle are one holder";
  EXPECT_EQ(all[0].kind, HolderKind::user);
  EXPECT_EQ(all[0].tensor, base.id());
  EXPECT_EQ(all[0].name, "base");
  EXPECT_EQ(all[0].op, "make");
  EXPECT_EQ(all[0].site.line(), base.created().line());
  EXPECT_EQ(all[1].kind, HolderKind::view);
  EXPECT_EQ(all[1].op, "share");
  EXPECT_EQ(all[1].scope, "model/layer");
  EXPECT_EQ(to_string(all[0]), "user tensor " + std::to_string(base.id()) +
                                   " \"base\" made by make at " + test::here(base.created()));
  EXPECT_EQ(to_string(all[1]), "view tensor " + std::to_string(view.id()) + " made by share at " +
                                   test::here(view.created()) + " in scope model/layer");
  EXPECT_EQ(holders(view).size(), 2u) << "asked from the view, the same";
}

TEST(Holders, OfADisposedTensorAreThoseWhoRemain) {
  const Tensor base = counting({2});
  const Tensor view = share(base);
  base.dispose();
  std::vector<Holder> all = holders(base);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].tensor, view.id());
  view.dispose();
  EXPECT_TRUE(holders(base).empty());
  // The block is used again by another storage; that is not the one that was asked about.
  const Tensor next = counting({2});
  EXPECT_TRUE(holders(base).empty());
}

TEST(Holders, KindsCanBeSet) {
  const Tensor tensor = counting({1});
  for (const HolderKind kind : {HolderKind::tape, HolderKind::variable, HolderKind::cache}) {
    tensor.body("test").set_kind(kind);
    EXPECT_EQ(holders(tensor)[0].kind, kind);
    EXPECT_EQ(to_string(holders(tensor)[0]).rfind(std::string(name_of(kind)), 0), 0u);
  }
}

TEST(LiveTensors, HasTheLivingAlone) {
  const std::size_t before = live_tensors().size();
  Tensor a = counting({2, 5});
  a.set_name("a");
  const CategoryScope parameters(Category::parameter);
  const Tensor b = test::make<std::int64_t>({3}, {1, 2, 3});
  const Tensor view = share(b);
  Tensor gone = counting({1});
  const Tensor disposed = counting({1});
  gone = Tensor();
  disposed.dispose();
  const std::vector<TensorInfo> all = live_tensors();
  EXPECT_EQ(all.size(), before + 3);
  const TensorInfo* const of_a = find(all, a);
  const TensorInfo* const of_b = find(all, b);
  const TensorInfo* const of_view = find(all, view);
  ASSERT_TRUE(of_a != nullptr && of_b != nullptr && of_view != nullptr);
  EXPECT_EQ(find(all, disposed), nullptr);
  EXPECT_EQ(of_a->name, "a");
  EXPECT_EQ(of_a->shape, (Shape{2, 5}));
  EXPECT_EQ(of_a->dtype, float32);
  EXPECT_EQ(of_a->storage_bytes, 40);
  EXPECT_EQ(of_a->category, Category::activation);
  EXPECT_EQ(of_a->site.line(), a.created().line());
  EXPECT_EQ(of_b->dtype, int64);
  EXPECT_EQ(of_b->category, Category::parameter);
  EXPECT_EQ(of_view->storage, of_b->storage);
  EXPECT_NE(of_a->storage, of_b->storage);
  EXPECT_EQ(of_view->kind, HolderKind::view);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const TensorInfo& x, const TensorInfo& y) { return x.id < y.id; }));
}

TEST(LiveTensors, SeesTensorsOfOtherThreadsAndOfEndedOnes) {
  Tensor theirs;
  test::on_thread([&] { theirs = counting({7}); });
  EXPECT_NE(find(live_tensors(), theirs), nullptr);
  test::on_thread([&] { EXPECT_NE(find(live_tensors(), theirs), nullptr); });
}

TEST(LiveTensors, ManySlabs) {
  const std::size_t before = live_tensors().size();
  std::vector<Tensor> all;
  for (int i = 0; i < 3000; ++i) all.push_back(counting({1}));
  EXPECT_EQ(live_tensors().size(), before + 3000);
  for (std::size_t i = 0; i < all.size(); i += 2) all[i] = Tensor();
  EXPECT_EQ(live_tensors().size(), before + 1500);
  all.clear();
  EXPECT_EQ(live_tensors().size(), before);
}

TEST(LiveTensors, NamesMayBeLongAndChange) {
  Tensor tensor = counting({1});
  tensor.set_name(std::string(10'000, 'x')).set_name("short").set_name(std::string(300, 'y'));
  EXPECT_EQ(find(live_tensors(), tensor)->name, std::string(300, 'y'));
  tensor.set_name("");
  EXPECT_EQ(tensor.name(), "");
}

}  // namespace
}  // namespace tenure
