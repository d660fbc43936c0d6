#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tenure/memory/ledger.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::counting;
using test::expect_throws;
using test::here;
using test::share;

TEST(Dispose, MetadataRemains) {
  Tensor tensor = counting({2, 3});
  tensor.set_name("weights");
  const std::uint64_t id = tensor.id();
  const std::string made = here(tensor.created());
  tensor.dispose();
  EXPECT_TRUE(tensor.defined());
  EXPECT_TRUE(tensor.is_disposed());
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.strides(), (Strides{3, 1}));
  EXPECT_EQ(tensor.dtype(), float32);
  EXPECT_EQ(tensor.device(), cpu);
  EXPECT_EQ(tensor.rank(), 2);
  EXPECT_EQ(tensor.size(), 6);
  EXPECT_EQ(tensor.dim(-1), 3);
  EXPECT_EQ(tensor.nbytes(), 24u);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(tensor.id(), id);
  EXPECT_EQ(tensor.name(), "weights");
  EXPECT_EQ(tensor.op(), "make");
  EXPECT_EQ(here(tensor.created()), made);
  EXPECT_EQ(tensor.scope(), "");
  EXPECT_FALSE(tensor.is_sole_holder());
  tensor.set_name("still");
  EXPECT_EQ(tensor.name(), "still");
}

TEST(Dispose, FreesAtOnceAndAllCopiesSeeIt) {
  const MemoryStats before = memory();
  const Tensor tensor = counting({1000});
  const Tensor copy = tensor;
  const std::vector<Tensor> more{tensor, copy};
  EXPECT_EQ(memory().tensors, before.tensors + 1);
  more[1].dispose();
  EXPECT_EQ(memory().bytes, before.bytes);
  for (const Tensor& each : {tensor, copy, more[0]}) {
    EXPECT_TRUE(each.is_disposed());
    EXPECT_EQ(each.id(), tensor.id());
  }
}

TEST(Dispose, AgainDoesNothing) {
  const MemoryStats before = memory();
  const Tensor tensor = counting({5});
  tensor.dispose();
  const Site first = tensor.body("test").disposed();
  for (int i = 0; i < 3; ++i) tensor.dispose();
  EXPECT_EQ(tensor.body("test").disposed().line(), first.line()) << "the first one counts";
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().frees, before.frees + 1);
}

TEST(Dispose, NeverCascades) {
  const Tensor base = counting({4});
  const Tensor view = share(base);
  const Tensor view_of_view = share(view);
  base.dispose();
  EXPECT_EQ(view.to_vector<float>()[3], 3);
  view.dispose();
  EXPECT_EQ(view_of_view.to_vector<float>()[3], 3);
  EXPECT_TRUE(view_of_view.is_sole_holder());
  const MemoryStats before = memory();
  view_of_view.dispose();
  EXPECT_EQ(memory().bytes, before.bytes - 16);
}

TEST(Dispose, DisposingAViewLeavesTheBase) {
  const Tensor base = counting({4});
  const Tensor view = share(base);
  view.dispose();
  EXPECT_EQ(base.to_vector<float>()[3], 3);
  EXPECT_TRUE(base.is_sole_holder());
}

TEST(Dispose, TheErrorTellsTheWholeStory) {
  Tensor tensor = counting({2, 3});
  const std::string made = here(tensor.created());
  tensor.set_name("hidden");
  Site site = Site::current();
  tensor.dispose(site);
  const std::string disposed = here(site);
  try {
    site = Site::current(), tensor.to_vector<float>(site);
    ADD_FAILURE();
  } catch (const DisposedError& error) {
    EXPECT_EQ(error.id(), tensor.id());
    EXPECT_EQ(error.created().line(), tensor.created().line());
    EXPECT_EQ(here(error.disposed()), disposed);
    EXPECT_EQ(here(error.used()), here(site));
    EXPECT_EQ(error.facts().created_by, "make");
    EXPECT_EQ(error.facts().disposed_by, "dispose()");
    EXPECT_EQ(error.facts().used_by, "to_vector()");
    EXPECT_EQ(
        std::string(error.what()),
        "tensor " + std::to_string(tensor.id()) +
            " \"hidden\" (float32[2, 3]) was used by to_vector() after its data was disposed\n"
            "  created   " +
            made +
            " by make\n"
            "  disposed  " +
            disposed +
            " by dispose()\n"
            "  used      " +
            here(site) +
            " by to_vector()\n"
            "  keep() it or return it from the scope, dispose it later, or clone() it before");
  }
}

TEST(Dispose, SitesAreTheCallersLines) {
  const Tensor tensor = counting({1});
  tensor.dispose();
  const std::uint_least32_t disposed = Site::current().line() - 1;
  try {
    tensor.item<float>();
    ADD_FAILURE();
  } catch (const DisposedError& error) {
    EXPECT_EQ(error.disposed().line(), disposed);
    EXPECT_EQ(error.used().line(), disposed + 3);
    EXPECT_EQ(error.created().line(), disposed - 1);
  }
}

TEST(Dispose, EveryAccessorRefuses) {
  const Tensor tensor = counting({1});
  tensor.dispose();
  const auto refuses = [](const char* user, const auto& f) {
    expect_throws<DisposedError>(f, {std::string("was used by ") + user, "dispose_test.cpp"});
  };
  refuses("item()", [&] { tensor.item<float>(); });
  refuses("item()", [&] { tensor.item<bool>(); });
  refuses("to_vector()", [&] { tensor.to_vector<double>(); });
  refuses("to_vector()", [&] { tensor.to_vector<bool>(); });
  refuses("span()", [&] { tensor.span<float>(); });
  refuses("mutable_span()", [&] { tensor.mutable_span<float>(); });
  EXPECT_EQ(to_string(tensor).rfind("float32[1] disposed at dispose_test.cpp:", 0), 0u);
  std::ostringstream out;
  out << tensor;
  EXPECT_EQ(out.str(), to_string(tensor));
}

TEST(Dispose, EmptyHandlesSayWhoAsked) {
  const Tensor never;
  Tensor moved = counting({1});
  const Tensor target = std::move(moved);
  for (const Tensor* empty : {&never, static_cast<const Tensor*>(&moved)}) {
    EXPECT_FALSE(empty->defined());
    expect_throws<EmptyTensorError>([&] { empty->item<float>(); },
                                    {"item() at dispose_test.cpp:", "moved away"});
    expect_throws<EmptyTensorError>([&] { empty->dispose(); }, {"dispose() at dispose_test.cpp"});
    EXPECT_THROW(empty->shape(), EmptyTensorError);
    EXPECT_THROW(empty->strides(), EmptyTensorError);
    EXPECT_THROW(empty->dtype(), EmptyTensorError);
    EXPECT_THROW(empty->device(), EmptyTensorError);
    EXPECT_THROW(empty->rank(), EmptyTensorError);
    EXPECT_THROW(empty->size(), EmptyTensorError);
    EXPECT_THROW(empty->dim(0), EmptyTensorError);
    EXPECT_THROW(empty->nbytes(), EmptyTensorError);
    EXPECT_THROW(empty->id(), EmptyTensorError);
    EXPECT_THROW(empty->name(), EmptyTensorError);
    EXPECT_THROW(empty->op(), EmptyTensorError);
    EXPECT_THROW(empty->scope(), EmptyTensorError);
    EXPECT_THROW(empty->is_disposed(), EmptyTensorError);
    EXPECT_THROW(empty->is_sole_holder(), EmptyTensorError);
    EXPECT_THROW(empty->to_vector<float>(), EmptyTensorError);
    EXPECT_THROW(empty->span<float>(), EmptyTensorError);
    EXPECT_THROW(holders(*empty), EmptyTensorError);
    EXPECT_EQ(to_string(*empty), "empty tensor handle");
  }
  EXPECT_TRUE(target.defined());
}

TEST(Dispose, ForeignMemoryGoesBackOnce) {
  std::vector<float> mine{1, 2, 3};
  int deleted = 0;
  const void* with = nullptr;
  const Tensor tensor = test::borrow(mine, [&](void* p) {
    ++deleted;
    with = p;
  });
  const Tensor view = share(tensor);
  tensor.dispose();
  tensor.dispose();
  EXPECT_EQ(deleted, 0);
  view.dispose();
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(with, mine.data());
}

TEST(Dispose, HandlesCopyMoveAndAssign) {
  const MemoryStats before = memory();
  {
    Tensor a = counting({3});
    Tensor b = counting({4});
    const std::uint64_t id = a.id();
    Tensor& self = a;
    a = self;
    EXPECT_EQ(a.id(), id);
    a = std::move(self);
    EXPECT_EQ(a.id(), id) << "moved into itself";
    b = a;
    EXPECT_EQ(memory().tensors, before.tensors + 1) << "the old one ended";
    EXPECT_FALSE(a.is_sole_holder());
    b = Tensor();
    EXPECT_TRUE(a.is_sole_holder());
    Tensor c;
    c.swap(a);
    EXPECT_FALSE(a.defined());
    EXPECT_EQ(c.id(), id);
  }
  EXPECT_EQ(memory().tensors, before.tensors);
}

TEST(Dispose, IdsAreNeverReused) {
  std::uint64_t last = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Tensor tensor = counting({1});
    EXPECT_GT(tensor.id(), last);
    last = tensor.id();
  }
}

}  // namespace
}  // namespace tenure
