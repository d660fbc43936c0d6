#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenure/tenure.h"
#include "tests/nn/error_line.h"
#include "tests/support/scratch.h"

// Wrong calls of variables, functions, graphs, layers, optimizers and trainers name a line.

namespace tenure {
namespace {

using test::emptied;
using test::expect_line;

const nn::Loss kLoss = [](const Tensor& y, const Tensor& t) { return mse_loss(y, t); };

TEST(ErrorLine, OfEmptyVariables) {
  Variable moved(ones({2}), "v");
  const std::uint_least32_t made = __LINE__ - 1;
  const Variable& v = emptied(moved);
  Graph graph;
  GradientTape tape;
  expect_line<EmptyHandleError>([&] { v.name(); }, made);
  expect_line<EmptyHandleError>([&] { v.trainable(); }, made);
  expect_line<EmptyHandleError>([&] { v.dtype(); }, made);
  expect_line<EmptyHandleError>([&] { v.shape(); }, made);
  expect_line<EmptyHandleError>([&] { v.device(); }, made);
  expect_line<EmptyHandleError>([&] { v.created(); }, made);
  expect_line<EmptyHandleError>([&] { v.is_disposed(); }, made);
  expect_line<EmptyHandleError>([&] { v.state(); }, made);
  expect_line<EmptyHandleError>([&] { v.value(); });
  expect_line<EmptyHandleError>([&] { v.assign(ones({2})); });
  expect_line<EmptyHandleError>([&] { v.assign_add(ones({2})); });
  expect_line<EmptyHandleError>([&] { v.assign_sub(1); });
  expect_line<EmptyHandleError>([&] { v.dispose(); });
  expect_line<EmptyHandleError>([&] { graph.read(v); });
  expect_line<EmptyHandleError>([&] { graph.assign(v, ones({2})); });
  expect_line<EmptyHandleError>([&] { tape.watch(v); });
  expect_line<EmptyHandleError>([&] { tape.gradient(ones({}), v); });
  expect_line<EmptyHandleError>([&] { nn::Sgd({{"v", v}}, 0.1); });
  expect_line<EmptyHandleError>([&] { nn::Adam({{"v", v}}); });
  expect_line<EmptyHandleError>([&] { nn::bytes_of(v); }, made);
  expect_line<EmptyHandleError>([&] { nn::values_of({{"v", v}}); });
  Checkpoint checkpoint;
  checkpoint.tensors.emplace("v", ones({2}));
  expect_line<EmptyHandleError>([&] { nn::assign_all({{"v", v}}, checkpoint); });
}

TEST(ErrorLine, OfVariables) {
  const Variable v(ones({2}), "v");
  const Variable gone(ones({2}), "gone");
  gone.dispose();
  expect_line<EmptyTensorError>([] { Variable(Tensor(), "w"); });
  expect_line<ShapeError>([&] { v.assign(ones({3})); });
  expect_line<ShapeError>([&] { v.assign(3); });
  expect_line<DTypeError>([&] { v.assign(ones({2}, DType::int64)); });
  expect_line<ShapeError>([&] { v.assign_add(ones({3})); });
  expect_line<ShapeError>([&] { v.assign_sub(ones({3})); });
  expect_line<DisposedError>([&] { gone.value(); });
  expect_line<DisposedError>([&] { gone.assign(ones({2})); });
  expect_line<DisposedError>([&] { gone.assign_add(ones({2})); });
  Container container;
  const VariableScope scope("s", container);
  const auto make = [] { return ones({2}); };
  get_variable("a", make);
  expect_line<GraphError>([&] { get_variable("a", make); });
  expect_line<EmptyTensorError>([&] { get_variable("b", [] { return Tensor(); }); });
  expect_line<GraphError>([&] { get_variable("c", {}); });
  const VariableScope again("t", container, VariableScope::Reuse::always);
  expect_line<GraphError>([&] { get_variable("d", make); });
}

TEST(ErrorLine, OfFunctions) {
  auto moved = function([](const Tensor& x) { return x + 1; });
  const std::uint_least32_t made = __LINE__ - 1;
  auto& f = emptied(moved);
  expect_line<EmptyHandleError>([&] { f(ones({2})); }, made);
  expect_line<EmptyHandleError>([&] { f.plan(spec({2})); }, made);
  expect_line<EmptyHandleError>([&] { f.traces(); }, made);
  expect_line<EmptyHandleError>([&] { f.explain(); }, made);
  expect_line<EmptyHandleError>([&] { f.clear(); }, made);
  const auto g = function([](const Tensor& x) { return x + 1; });
  const std::uint_least32_t made_g = __LINE__ - 1;
  expect_line<EmptyTensorError>([&] { g(Tensor()); }, made_g);
  expect_line<EmptyTensorError>([&] { g.plan(Tensor()); }, made_g);
  const Tensor gone = ones({2});
  gone.dispose();
  expect_line<DisposedError>([&] { g(gone); }, made_g);
  const auto no_batch = function([](const Tensor& x) { return x; }, {.batched = {3}});
  const std::uint_least32_t made_no_batch = __LINE__ - 1;
  expect_line<ValueError>([&] { no_batch(ones({2})); }, made_no_batch);
  const auto small = function([](const Tensor& x) { return exp(x) + 1; }, {.budget = 3});
  const std::uint_least32_t made_small = __LINE__ - 1;
  expect_line<planner::BudgetError>([&] { small(ones({2})); }, made_small);
  expect_line<planner::BudgetError>([&] { small.plan(spec({2})); }, made_small);
  const Tensor x = ones({2});
  Tensor shared = x;
  expect_line<DonationError>([&] { g(donate(shared)); }, made_g);
}

TEST(ErrorLine, OfGraphsAndSessions) {
  Graph moved("g");
  const std::uint_least32_t made = __LINE__ - 1;
  Graph& g = emptied(moved);
  expect_line<EmptyHandleError>([&] { g.name(); }, made);
  expect_line<EmptyHandleError>([&] { g.is_final(); }, made);
  expect_line<EmptyHandleError>([&] { g.nodes(); }, made);
  expect_line<EmptyHandleError>([&] { g.bytes(); }, made);
  expect_line<EmptyHandleError>([&] { g.to_string(); }, made);
  expect_line<EmptyHandleError>([&] { g.to_dot(); }, made);
  expect_line<EmptyHandleError>([&] { g.state(); }, made);
  expect_line<EmptyHandleError>([&] { g.placeholder("x", float32, {2}); });
  expect_line<EmptyHandleError>([&] { g.constant(ones({2})); });
  expect_line<EmptyHandleError>([&] { g.read(Variable(ones({2}))); });
  expect_line<EmptyHandleError>([&] { g.assign(Variable(ones({2})), ones({2})); });
  expect_line<EmptyHandleError>([&] { g.updates(); });
  expect_line<EmptyHandleError>([&] { g.finalize(); });
  expect_line<EmptyHandleError>([&] { Session session(g); });
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {2});
  expect_line<GraphError>([&] { graph.placeholder("x", float32, {2}); });
  expect_line<EmptyTensorError>([&] { graph.constant(Tensor()); });
  expect_line<ShapeError>([&] { graph.assign(Variable(ones({3})), x); });
  Session session(graph);
  expect_line<GraphError>([&] { session.run(x); });
  expect_line<GraphError>([&] { session.run(x, {{"y", ones({2})}}); });
  expect_line<GraphError>([&] { session.run(x, {{"x", ones({2})}, {"x", ones({2})}}); });
  expect_line<ShapeError>([&] { session.run(x, {{"x", ones({3})}}); });
  expect_line<DTypeError>([&] { session.run(x, {{"x", ones({2}, DType::int64)}}); });
  expect_line<EmptyTensorError>([&] { session.run(x, {{"x", Tensor()}}); });
  expect_line<EmptyTensorError>([&] { session.run(Tensor()); });
  expect_line<GraphError>([&] { session.run(ones({2})); });
  expect_line<GraphError>([&] { session.plan({x}); });
  session.close();
  expect_line<ClosedError>([&] { session.run(x, {{"x", ones({2})}}); });
  graph.finalize();
  expect_line<GraphError>([&] { graph.placeholder("y", float32, {2}); });
}

TEST(ErrorLine, OfEmptyLayers) {
  nn::Dense moved(2, 3);
  const std::uint_least32_t made = __LINE__ - 1;
  const nn::Dense& l = emptied(moved);
  nn::Sequential model;
  expect_line<EmptyHandleError>([&] { l(ones({1, 2})); });
  expect_line<EmptyHandleError>([&] { l.kind(); }, made);
  expect_line<EmptyHandleError>([&] { l.created(); }, made);
  expect_line<EmptyHandleError>([&] { l.parameters(); }, made);
  expect_line<EmptyHandleError>([&] { l.trainable(); }, made);
  expect_line<EmptyHandleError>([&] { l.buffers(); }, made);
  expect_line<EmptyHandleError>([&] { l.variables(); }, made);
  expect_line<EmptyHandleError>([&] { l.parameter_count(); }, made);
  expect_line<EmptyHandleError>([&] { l.train(); }, made);
  expect_line<EmptyHandleError>([&] { l.eval(); }, made);
  expect_line<EmptyHandleError>([&] { l.is_training(); }, made);
  expect_line<EmptyHandleError>([&] { l.freeze(); }, made);
  expect_line<EmptyHandleError>([&] { l.unfreeze(); }, made);
  expect_line<EmptyHandleError>([&] { l.is_frozen(); }, made);
  expect_line<EmptyHandleError>([&] { l.modes(); }, made);
  expect_line<EmptyHandleError>([&] { l.state(); }, made);
  expect_line<EmptyHandleError>([&] { l.dispose(); });
  expect_line<EmptyHandleError>([&] { model.push_back(l); });
  expect_line<EmptyHandleError>([&] { nn::Sequential{l}; }, made);
  const test::Scratch scratch;
  nn::save_weights(nn::Dense(2, 3), scratch / "weights");
  expect_line<EmptyHandleError>([&] { nn::save_weights(l, scratch / "weights"); });
  expect_line<EmptyHandleError>([&] { nn::load_weights(l, scratch / "weights"); });
  expect_line<EmptyHandleError>([&] { nn::summarize(l, spec({1, 2})); });
  const nn::Dense other(2, 3);
  nn::Sgd sgd(other.trainable(), 0.1);
  expect_line<EmptyHandleError>([&] { nn::Trainer(l, kLoss, sgd).predict(ones({1, 2})); });
  EXPECT_EQ(model.size(), 0u);
}

/// A layer of the user's own, which adds what it is told to; errors have the lines of its calls.
constexpr std::uint_least32_t kTake = __LINE__ + 4;
class Own : public nn::Layer {
 public:
  Own() : Layer("Own") {}
  void take(const std::string& name, const nn::Layer& part) { add(name, part); }
  void make(const std::string& name, const Initial& initial) { add_parameter(name, initial); }

 protected:
  Tensor forward(Tensor x) const override { return x; }
};

TEST(ErrorLine, OfLayers) {
  const nn::Dense layer(2, 3);
  nn::Sequential model;
  model.push_back("a", nn::Dense(2, 3));
  Own own;
  expect_line<ShapeError>([&] { layer(ones({1, 5})); });
  expect_line<EmptyTensorError>([&] { layer(Tensor()); });
  expect_line<IndexError>([&] { static_cast<void>(model[7]); });
  expect_line<ValueError>([&] { model.push_back("a", nn::Dense(2, 3)); });
  expect_line<ValueError>([&] { model.push_back("a/b", nn::Dense(2, 3)); });
  own.take("p", layer);
  own.make("w", [] { return ones({2}); });
  expect_line<ValueError>([&] { own.take("p", layer); }, kTake);
  expect_line<ValueError>([&] { own.make("w", [] { return ones({2}); }); }, kTake + 1);
  expect_line<ValueError>([&] { own.make("x/y", [] { return ones({2}); }); }, kTake + 1);
  expect_line<EmptyTensorError>([&] { own.make("z", [] { return Tensor(); }); }, kTake + 1);
  expect_line<ValueError>([] { nn::Dense(0, 4); });
  expect_line<ValueError>([] { nn::Conv2d(3, 4, 3, {.groups = 2}); });
  expect_line<ValueError>([] { nn::Embedding(-1, 3); });
  expect_line<ValueError>([] { nn::Dropout(1.5); });
  expect_line<ValueError>([] { nn::MultiHeadAttention(8, 3); });
  layer.dispose();
  expect_line<DisposedError>([&] { layer(ones({1, 2})); });
}

TEST(ErrorLine, OfOptimizersAndTrainers) {
  const nn::Dense model(2, 1);
  const Tensor x = ones({4, 2});
  const Tensor target = ones({4, 1});
  nn::Sgd sgd(model.trainable(), 0.1);
  expect_line<ValueError>([&] { nn::Sgd({}, 0.1); });
  expect_line<ValueError>([&] { nn::Sgd(model.trainable(), -1); });
  expect_line<ValueError>([&] { nn::Adam(model.trainable(), 1e-3, {.beta1 = 2}); });
  expect_line<ValueError>([&] { sgd.set_learning_rate(-1); });
  expect_line<ValueError>([&] { sgd.apply({}); });
  expect_line<ShapeError>([&] { sgd.apply({ones({3}), ones({1})}); });
  expect_line<ValueError>([&] { nn::Trainer(model, {}, sgd); });
  expect_line<ValueError>([&] { nn::Trainer(model, kLoss, sgd, {.accumulate = 0}); });
  nn::Trainer trainer(model, kLoss, sgd);
  const std::uint_least32_t made = __LINE__ - 1;
  expect_line<ShapeError>([&] { trainer.step(ones({4, 3}), target); }, made);
  expect_line<ShapeError>([&] { trainer.score(x, ones({3, 1})); }, made);
  expect_line<ShapeError>([&] { trainer.predict(ones({4, 3})); }, made);
  expect_line<ShapeError>([&] { trainer.plan(ones({4, 3}), target); }, made);
  expect_line<EmptyTensorError>([&] { trainer.step(Tensor(), target); }, made);
  expect_line<EmptyTensorError>([&] { trainer.predict(Tensor()); }, made);
  expect_line<EmptyTensorError>([&] { trainer.plan(x, Tensor()); }, made);
  nn::Trainer small(model, kLoss, sgd, {.budget = 3});
  const std::uint_least32_t made_small = __LINE__ - 1;
  expect_line<planner::BudgetError>([&] { small.step(x, target); }, made_small);
  expect_line<planner::BudgetError>([&] { small.plan(x, target); }, made_small);
  expect_line<ShapeError>([&] { nn::summarize(model, ones({3})); });
  expect_line<ValueError>([&] { nn::clip_by_value({}, -1); });
  expect_line<ValueError>([&] { nn::clip_by_global_norm({}, -1); });
  expect_line<ValueError>([] { nn::top_k_accuracy(0); });
  expect_line<ValueError>([] { nn::schedule::steps(0.1, 0, 0.5); });
  expect_line<ValueError>([] { nn::schedule::cosine(0.1, 0); });
  expect_line<ValueError>([] { nn::schedule::linear(0.1, -1); });
  expect_line<ValueError>([] { nn::schedule::warm_up(-1, nn::schedule::constant(0.1)); });
  expect_line<ValueError>([] { nn::schedule::warm_up(3, {}); });
  sgd.dispose();
  expect_line<DisposedError>([&] { sgd.apply({ones({2, 1}), ones({1})}); });
}

TEST(ErrorLine, OfFitAndCallbacks) {
  const nn::Dense model(2, 1);
  nn::Sgd sgd(model.trainable(), 0.1);
  nn::Trainer trainer(model, kLoss, sgd);
  const data::Dataset rows = data::from_tensors({ones({4, 2}), ones({4, 1})});
  const data::Dataset batches = rows.batch(2);
  const test::Scratch scratch;
  const auto quiet = [](std::vector<std::shared_ptr<nn::Callback>> callbacks) {
    return nn::FitOptions{.callbacks = std::move(callbacks), .progress = nn::Progress::none};
  };
  expect_line<ValueError>([&] { nn::fit(trainer, rows); });
  expect_line<ValueError>([&] { nn::fit(trainer, batches, {.epochs = -1}); });
  expect_line<ValueError>([&] { nn::fit(trainer, batches, quiet({nullptr})); });
  expect_line<ValueError>([&] { nn::evaluate(trainer, rows); });
  nn::Fit fit(trainer, batches, quiet({}));
  const std::uint_least32_t made = __LINE__ - 1;
  expect_line<FileError>([&] { fit.save(scratch / "none/none"); });
  expect_line<FileError>([&] { fit.load(scratch / "none"); });
  expect_line<FormatError>([&] { fit.load(scratch.file("text", "no checkpoint at all")); });
  expect_line<ValueError>([&] { nn::score_of(fit, {}, "nothing"); }, made);
  expect_line<ValueError>([&] { nn::score_of(fit, {}, "val loss"); }, made);
  expect_line<ValueError>([] { nn::EarlyStopping({.patience = -1}); });
  const auto stop = std::make_shared<nn::EarlyStopping>(nn::EarlyStopping::Options{});
  expect_line<ValueError>([&] { nn::fit(trainer, batches, quiet({stop})); });
  const auto log = std::make_shared<nn::CsvLog>(scratch / "none/none");
  expect_line<FileError>([&] { nn::fit(trainer, batches, quiet({log})); });
  const auto save = std::make_shared<nn::SaveCheckpoint>(scratch / "none/none");
  expect_line<FileError>([&] { nn::fit(trainer, batches, quiet({save})); });
  const data::Dataset nan =
      data::from_tensors({full({4, 2}, std::numeric_limits<float>::quiet_NaN()), ones({4, 1})});
  expect_line<nn::DivergedError>([&] { nn::fit(trainer, nan.batch(2), quiet({})); });
}

}  // namespace
}  // namespace tenure
