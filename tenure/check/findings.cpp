#include "tenure/check/findings.h"

namespace tenure::check {
namespace {

thread_local Findings* innermost = nullptr;

}  // namespace

Findings::Findings() : outer_(std::exchange(innermost, this)) {}

Findings::~Findings() { innermost = outer_; }

void Findings::add(const std::string& text) {
  if (innermost == nullptr) return;
  std::string whole = text;
  for (const std::string& trace : innermost->traces_) whole += "\n  " + trace;
  innermost->all_.push_back(std::move(whole));
}

Trace::Trace(std::string text) {
  if (innermost != nullptr) innermost->traces_.push_back(std::move(text));
}

Trace::~Trace() {
  if (innermost != nullptr) innermost->traces_.pop_back();
}

}  // namespace tenure::check
