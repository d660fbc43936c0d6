#include "tenure/ops/custom.h"

#include <fmt/format.h>

#include <deque>
#include <mutex>
#include <string>

#include "tenure/base/error.h"
#include "tenure/ops/dispatch.h"

namespace tenure {
namespace {

/// A record and the texts that it points to.
struct Entry {
  ops::OpRecord record;
  std::array<std::string, 4> texts;
  Site site;
};

struct Registry {
  std::mutex mutex;
  std::deque<Entry> entries;
};

Registry& registry() {
  static auto* const one = new Registry;
  return *one;
}

void require(bool holds, const ops::OpRecord& op, const char* problem) {
  if (!holds) throw ValueError(fmt::format("define_op: {} {}", op.name, problem));
}

void require_complete(const ops::OpRecord& op) {
  if (op.name == nullptr || *op.name == '\0') throw ValueError("define_op: the op has no name");
  const bool computes = op.infer != nullptr && op.run != nullptr;
  require(computes || op.view != nullptr || op.expand != nullptr || op.elementwise != nullptr, op,
          "has neither infer and run, nor view, nor expand");
  require(op.dtypes != 0, op, "takes no element type");
  require(op.outputs >= 1 && op.outputs <= 8, op, "has less than one output, or more than eight");
  require(op.memory.workspace == (op.workspace != nullptr) || op.expand != nullptr, op,
          "declares a workspace and does not say how large, or the other way round");
  require(op.memory.kind == ops::MemoryEffect::Kind::allocates || op.view != nullptr, op,
          "declares a view and has no view rule");
  require(op.draws == nullptr, op,
          "draws random numbers; take them as an operand, from uniform() or normal()");
}

}  // namespace

std::vector<Tensor> CustomOp::call(std::span<const Operand> operands,
                                   const ops::Attributes& attributes, Site site) const {
  return ops::run_many_now(*record_, operands, attributes,
                           operands.empty() ? site : operands[0].site());
}

CustomOp define_op(const ops::OpRecord& record, Site site) {
  require_complete(record);
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
  entry.site = site;
  const std::array<const char**, 4> fields{&entry.record.name, &entry.record.family,
                                           &entry.record.signature, &entry.record.doc};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    entry.texts[i] = *fields[i] == nullptr ? (i == 1 ? "custom" : record.name) : *fields[i];
    *fields[i] = entry.texts[i].c_str();
  }
  return CustomOp(entry.record);
}

std::vector<CustomOp> custom_ops() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<CustomOp> list;
  for (const Entry& entry : all.entries) list.emplace_back(entry.record);
  return list;
}

}  // namespace tenure
