#include "tenure/ops/elementwise/source_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace tenure::ops {

struct SourceNode {
  std::deque<SourceNode>* arena;
  DType type;
  std::string form;
  std::vector<const SourceNode*> parts;
};

namespace {

const SourceNode* add(std::deque<SourceNode>* arena, DType type, std::string_view form,
                      std::vector<const SourceNode*> parts = {}) {
  return &arena->emplace_back(SourceNode{arena, type, std::string(form), std::move(parts)});
}

std::string literal(DType type, double value) {
  const std::string name = source_type(type);
  if (type == DType::boolean) return value != 0 ? "true" : "false";
  if (!is_floating(type)) return fmt::format("({})({})", name, value);
  if (std::isnan(value)) return fmt::format("({})NAN", name);
  if (std::isinf(value)) return fmt::format("({})({}INFINITY)", name, value < 0 ? "-" : "");
  // So many digits that the number comes out again.
  std::string digits = type == DType::float32 ? fmt::format("{}", static_cast<float>(value))
                                              : fmt::format("{}", value);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  if (type == DType::float32) digits += 'f';
  return value < 0 ? fmt::format("({})", digits) : digits;
}

SourceValue make(std::string_view form, std::span<const SourceValue> values,
                 std::optional<DType> result) {
  const SourceNode* const first =
      std::find_if(values.begin(), values.end(), [](const SourceValue& v) { return v.part; })->part;
  std::vector<const SourceNode*> parts;
  for (const SourceValue& value : values) {
    parts.push_back(value.part != nullptr
                        ? value.part
                        : add(first->arena, first->type, literal(first->type, value.number)));
  }
  return {.part = add(first->arena, result.value_or(first->type), form, std::move(parts))};
}

/// Writes parts down in the order in which they are needed.
class Writer {
 public:
  explicit Writer(std::string_view prefix) : prefix_(prefix) {}

  void count(const SourceNode& node) {
    if (++uses_[&node] > 1) return;
    for (const SourceNode* part : node.parts) count(*part);
  }

  std::string text(const SourceNode& node) {
    if (node.parts.empty()) return node.form;
    if (const auto known = names_.find(&node); known != names_.end()) return known->second;
    std::string filled = fill(node);
    if (uses_[&node] == 1) return filled;
    std::string name = fmt::format("{}{}", prefix_, names_.size());
    statements_ += fmt::format("const {} {} = {};\n", source_type(node.type), name, filled);
    return names_[&node] = name;
  }

  std::string take_statements() { return std::move(statements_); }

 private:
  std::string fill(const SourceNode& node) {
    std::vector<std::string> parts;
    for (const SourceNode* part : node.parts) parts.push_back(text(*part));
    std::string result;
    for (std::size_t i = 0; i < node.form.size(); ++i) {
      if (node.form[i] != '$') {
        result += node.form[i];
        continue;
      }
      const char what = node.form[++i];
      if (what == 'T') {
        result += source_type(node.type);
      } else {
        result += parts[static_cast<std::size_t>(what - '0')];
      }
    }
    return result;
  }

  std::string_view prefix_;
  std::map<const SourceNode*, int> uses_;
  std::map<const SourceNode*, std::string> names_;
  std::string statements_;
};

}  // namespace

SourceValue apply_form(std::string_view form, std::initializer_list<SourceValue> parts) {
  return make(form, parts, std::nullopt);
}

SourceValue test_form(std::string_view form, std::initializer_list<SourceValue> parts) {
  return make(form, parts, DType::boolean);
}

SourceValue select_form(SourceValue condition, SourceValue a, SourceValue b) {
  const DType type = (a.part != nullptr ? a.part : b.part)->type;
  const auto part = [&](SourceValue value) {
    if (value.part != nullptr) return value.part;
    return add(condition.part->arena, type, literal(type, value.number));
  };
  return {.part = add(condition.part->arena, type, "($0 ? $1 : $2)",
                      {condition.part, part(a), part(b)})};
}

SourcePrinter::SourcePrinter(std::span<const std::string> inputs, std::string_view prefix)
    : inputs_(inputs), prefix_(prefix), arena_(std::make_unique<std::deque<SourceNode>>()) {}

SourcePrinter::~SourcePrinter() = default;

SourceValue SourcePrinter::input(std::size_t i, DType type) {
  return {.part = add(arena_.get(), type, inputs_[i])};
}

Source SourcePrinter::print(SourceValue result) const {
  Writer writer(prefix_);
  writer.count(*result.part);
  std::string text = writer.text(*result.part);
  return {writer.take_statements(), std::move(text)};
}

std::string source_type(DType type) {
  if (type == DType::boolean) return "bool";
  if (is_integral(type)) return fmt::format("std::{}_t", name_of(type));
  return type == DType::float64 ? "double" : "float";  // 16-bit floats are computed with in float32
}

}  // namespace tenure::ops
