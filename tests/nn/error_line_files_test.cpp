#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/nn/error_line.h"
#include "tests/support/scratch.h"

// Wrong calls of datasets, files, recordings, guards, budgets, custom ops and tapes name a line.

namespace tenure {
namespace {

using test::emptied;
using test::expect_line;

constexpr Device kAbsent{Device::Kind::cuda, 99};

TEST(ErrorLine, OfTablesAndDatasets) {
  const test::Scratch scratch;
  const std::string path = scratch.file("a.csv", "a,b\n1,2\n3,x\n");
  const data::Table table = data::read_csv(path);
  expect_line<ValueError>([&] { table["none"]; });
  expect_line<ValueError>([&] { table[std::string("none")]; });
  expect_line<ValueError>([&] { table.column("none"); });
  expect_line<FileError>([&] { data::read_csv(scratch / "none"); });
  expect_line<FormatError>([&] { data::read_csv(path, {.types = {{"b", float32}}}); });
  expect_line<ValueError>([&] { data::read_csv(path, {.types = {{"c", float32}}}); });
  const data::Dataset ds = data::from_tensors({ones({4, 2})});
  expect_line<IndexError>([&] { ds.at(4); });
  expect_line<ValueError>([&] { ds.batch(0); });
  expect_line<ValueError>([&] { ds.epoch(-1); });
  expect_line<ValueError>([&] { ds.epoch(0, -1); });
  expect_line<ValueError>([&] { ds.resume({.epoch = -1}); });
  expect_line<ValueError>([&] { data::Dataset(nullptr); });
  const auto fail = [](data::Batch) -> data::Batch { throw ValueError("no luck"); };
  const data::Dataset failing = ds.map(fail);
  const std::uint_least32_t made_failing = __LINE__ - 1;
  data::Pass failing_pass = failing.epoch(0);
  expect_line<ValueError>([&] { failing.at(0); }, made_failing);
  expect_line<ValueError>([&] { failing_pass.next(); }, made_failing + 2);
  data::Dataset moved = data::from_tensors({ones({4, 2})});
  const std::uint_least32_t made = __LINE__ - 1;
  const data::Dataset& empty = emptied(moved);
  expect_line<EmptyHandleError>([&] { empty.size(); }, made);
  expect_line<EmptyHandleError>([&] { empty.at(0); });
  expect_line<EmptyHandleError>([&] { empty.shuffle(1); });
  expect_line<EmptyHandleError>([&] { empty.map([](data::Batch b) { return b; }); });
  expect_line<EmptyHandleError>([&] { empty.batch(2); });
  expect_line<EmptyHandleError>([&] { empty.take(1); });
  expect_line<EmptyHandleError>([&] { empty.skip(1); });
  expect_line<EmptyHandleError>([&] { empty.repeat(1); });
  expect_line<EmptyHandleError>([&] { empty.prefetch(1); });
  expect_line<EmptyHandleError>([&] { empty.epoch(0); });
  expect_line<EmptyHandleError>([&] { empty.begin(); });
  data::Pass walked = ds.epoch(0);
  const std::uint_least32_t made_pass = __LINE__ - 1;
  data::Pass& pass = emptied(walked);
  expect_line<EmptyHandleError>([&] { pass.next(); }, made_pass);
  expect_line<EmptyHandleError>([&] { pass.position(); }, made_pass);
  expect_line<EmptyHandleError>([&] { pass.begin(); }, made_pass);
}

TEST(ErrorLine, OfCheckpoints) {
  const test::Scratch scratch;
  save_checkpoint(scratch / "a", {{"x", ones({2})}}, {{"step", 3}, {"name", "first"}});
  const Checkpoint checkpoint = load_checkpoint(scratch / "a");
  expect_line<ValueError>([&] { checkpoint.tensor("none"); });
  expect_line<ValueError>([&] { checkpoint.integer("none"); });
  expect_line<ValueError>([&] { checkpoint.integer("name"); });
  expect_line<ValueError>([&] { checkpoint.number("name"); });
  expect_line<ValueError>([&] { checkpoint.text("step"); });
  expect_line<ValueError>([&] { checkpoint.generator_state("step"); });
  expect_line<ValueError>([&] { checkpoint.generator_state("name"); });
  expect_line<FileError>([&] { save_checkpoint(scratch / "none/none", {}, {}); });
  expect_line<EmptyTensorError>([&] { save_checkpoint(scratch / "b", {{"x", Tensor()}}, {}); });
  expect_line<FileError>([&] { load_checkpoint(scratch / "none"); });
  const nn::Dense model(2, 3);
  expect_line<nn::CheckpointError>([&] { nn::load_weights(model, scratch / "a"); });
  expect_line<nn::CheckpointError>([&] { nn::assign_all(model.variables(), checkpoint); });
  const SafetensorsFile file(scratch / "a");
  expect_line<ValueError>([&] { file.tensor("none"); });
  expect_line<FileError>([&] { save_npy(scratch / "none/none", ones({2})); });
  expect_line<EmptyTensorError>([&] { save_npz(scratch / "c", {{"x", Tensor()}}); });
}

TEST(ErrorLine, OfProfilesAndRecordings) {
  const test::Scratch scratch;
  expect_line<ProfileError>([&] { Profile profile(scratch / "none/none"); });
  expect_line<ProfileError>([&] { Profile profile(scratch / "p", {.capacity = 1}); });
  {
    const Profile on(scratch / "q");
    expect_line<ProfileError>([&] { Profile second(scratch / "r"); });
  }
  expect_line<ValueError>([] { Recording recording(0); });
  const Recording recorded(100);
  expect_line<ValueError>([] { Recording second(100); });
  const Watch watch;
  expect_line<ProfileError>([] { Watch second; });
}

TEST(ErrorLine, OfGuards) {
  expect_line<ValueError>([] { LeakGuard("a", {.warm_up = -1}); });
  expect_line<ValueError>([] { LeakGuard("a", {.patience = 0}); });
  expect_line<LeakError>([] {
    LeakGuard guard;
    std::vector<Tensor> kept;
    for (int i = 0; i < 1000; ++i) kept.push_back(ones({2})), guard.mark();
  });
}

TEST(ErrorLine, OfBudgetsAndDevices) {
  const Tensor x = ones({2});
  expect_line<ValueError>([] { Budget budget("b", 1024, kAbsent); });
  expect_line<ValueError>([] { set_process_budget(1024, kAbsent); });
  expect_line<ValueError>([] { DeviceScope scope(kAbsent); });
  expect_line<ValueError>([] { set_default_device(kAbsent); });
  expect_line<ValueError>([&] { copy_to(x, kAbsent); });
  expect_line<EmptyTensorError>([] { copy_to(Tensor(), cpu); });
  expect_line<ValueError>([] { memory(kAbsent); });
  expect_line<ValueError>([] { reset_peak(kAbsent); });
  expect_line<ValueError>([] { MemoryRegion region(kAbsent); });
  expect_line<ValueError>([] { set_cache_limit(0, kAbsent); });
  expect_line<ValueError>([] { cache_limit(kAbsent); });
  expect_line<ValueError>([] { trim(kAbsent); });
  expect_line<OutOfMemory>([] {
    const Budget budget("b", 8);
    ones({100});
  });
  expect_line<ValueError>([] { FaultInjection fault(0); });
}

TEST(ErrorLine, OfCustomOps) {
  ops::OpRecord record;
  expect_line<ValueError>([&] { define_op(record); });
  record.name = "line_of_custom_op";
  record.dtypes = ops::kFloatTypes;
  record.infer = [](const ops::Kernel& k) { return ops::Specs{{k.in[0].dtype, k.in[0].shape}}; };
  expect_line<ValueError>([&] { define_op(record); });
  record.samples = [] { return std::vector<ops::Sample>{{.inputs = {{.shape = {2}}}}}; };
  const CustomOp op = define_op(record, {.run = [](const ops::Kernel&) {}});
  expect_line<ValueError>([&] { define_op(record, {.run = [](const ops::Kernel&) {}}); });
  expect_line<ValueError>([&] { op.call({}); });
  expect_line<DTypeError>([&] { op(arange(3)); });
  expect_line<EmptyTensorError>([&] { op(Tensor()); });
}

TEST(ErrorLine, OfTapes) {
  const Tensor x = ones({2});
  GradientTape tape;
  expect_line<EmptyTensorError>([&] { tape.watch(Tensor()); });
  expect_line<DTypeError>([&] { tape.watch(arange(3)); });
  tape.watch(x);
  const Tensor y = sum(x * x);
  expect_line<Error>([&] { tape.gradient(y, ones({2})); });
  tape.gradient(y, x);
  expect_line<Error>([&] { tape.gradient(y, x); });
}

}  // namespace
}  // namespace tenure
