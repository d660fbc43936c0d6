#include "tenure/ops/custom.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <string>

#include "tenure/base/error.h"
#include "tenure/base/lasting.h"
#include "tenure/base/object_mutex.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/core/dispatch.h"

namespace tenure {
namespace {

/// A record, the texts that it points to, and its kernel.
struct Entry {
  ops::OpRecord record;
  ops::KernelSlot kernel;
  std::array<std::string, 4> texts;
  Site site;
};

struct Registry {
  ObjectMutex mutex;
  std::deque<Entry> entries;
};

Registry& registry() {
  static constinit Lasting<Registry> one;
  return one.get([] { return new Registry; });
}

void require(bool holds, const ops::OpRecord& op, const char* problem) {
  if (!holds) throw ValueError(fmt::format("define_op: {} {}", op.name, problem));
}

void require_complete(const ops::OpRecord& op, const ops::KernelSlot& kernel) {
  if (op.name == nullptr || *op.name == '\0') throw ValueError("define_op: the op has no name");
  const bool computes = op.elementwise != nullptr ? kernel.loops != nullptr
                                                  : op.infer != nullptr && kernel.run != nullptr;
  require(computes || op.view != nullptr || op.expand != nullptr, op,
          "has neither infer and a kernel that runs, nor loops if it is elementwise, nor view, nor "
          "expand");
  require(op.data_dependent == (kernel.measure != nullptr), op,
          "has shapes that depend on data and does not measure them, or the other way round");
  require(op.dtypes != 0, op, "takes no element type");
  for (int i = 0; i < kDTypes && kernel.loops != nullptr && op.elementwise != nullptr; ++i) {
    const auto type = static_cast<DType>(i);
    require(
        !op.takes(type) ||
            (*kernel.loops)[static_cast<std::size_t>(ops::elementwise_types(op, type).compute)] !=
                nullptr,
        op, "takes an element type and has no loop for the type that it computes in");
  }
  require(op.outputs >= 1 && op.outputs <= 8, op, "has less than one output, or more than eight");
  require(op.memory.workspace == (kernel.workspace != nullptr) || op.expand != nullptr, op,
          "declares a workspace and does not say how large, or the other way round");
  require(op.memory.kind == ops::MemoryEffect::Kind::allocates || op.view != nullptr, op,
          "declares a view and has no view rule");
  require(op.samples != nullptr && !op.samples().empty(), op,
          "has no samples, which say how many operands a call has, and what check_op() calls it "
          "with");
  require(op.draws == nullptr, op,
          "draws random numbers; take them as an operand, from uniform() or normal()");
}

/// The fewest that a sample has: a kernel reads as many without asking.
std::size_t least_operands(const ops::OpRecord& op) {
  if (op.elementwise != nullptr) return static_cast<std::size_t>(op.elementwise->arity);
  if (op.samples == nullptr) return 0;
  const std::vector<ops::Sample> samples = op.samples();
  const auto fewer = [](const ops::Sample& a, const ops::Sample& b) {
    return a.inputs.size() < b.inputs.size();
  };
  const auto least = std::min_element(samples.begin(), samples.end(), fewer);
  return least == samples.end() ? 0 : least->inputs.size();
}

}  // namespace

CustomOp::CustomOp(const ops::OpRecord& record)
    : record_(&record), least_operands_(least_operands(record)) {}

std::vector<Tensor> CustomOp::call(std::span<const Operand> operands,
                                   const ops::Attributes& attributes, Site site) const {
  mem::in_call(record_->name, operands.empty() ? site : operands[0].site(), [&] {
    if (operands.size() >= least_operands_) return;
    throw ValueError(fmt::format("{} takes at least {} operands, and was given {}", record_->name,
                                 least_operands_, operands.size()));
  });
  return ops::run_many_now(*record_, operands, attributes,
                           operands.empty() ? site : operands[0].site());
}

CustomOp define_op(const ops::OpRecord& record, const ops::KernelSlot& kernel, Site site) try {
  require_complete(record, kernel);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (ops::find_op(record.name) != nullptr) {
    throw ValueError(fmt::format("define_op: Tenure has an op {} itself", record.name));
  }
  for (const Entry& entry : all.entries) {
    if (entry.texts[0] != record.name) continue;
    throw ValueError(
        fmt::format("define_op: there is an op {} since {}", record.name, to_string(entry.site)));
  }
  Entry& entry = all.entries.emplace_back();
  entry.record = record;
  entry.kernel = kernel;
  if (kernel.run != nullptr || kernel.loops != nullptr) {
    entry.record.kernels.set(cpu, entry.kernel);
  }
  entry.site = site;
  const std::array<const char**, 4> fields{&entry.record.name, &entry.record.family,
                                           &entry.record.signature, &entry.record.doc};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    entry.texts[i] = *fields[i] == nullptr ? (i == 1 ? "custom" : record.name) : *fields[i];
    *fields[i] = entry.texts[i].c_str();
  }
  return CustomOp(entry.record);
} catch (Error& error) {
  mem::name_call(error, "define_op", site);
  throw;
}

std::vector<CustomOp> custom_ops() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<CustomOp> list;
  for (const Entry& entry : all.entries) list.emplace_back(entry.record);
  return list;
}

}  // namespace tenure
