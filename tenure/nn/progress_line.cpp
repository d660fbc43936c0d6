#include "tenure/nn/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/memory/ledger.h"

namespace tenure::nn {
namespace {

constexpr int kBarWidth = 24;
constexpr std::chrono::milliseconds kRedraw{100};

std::string clock_text(double seconds) {
  const auto whole = std::int64_t{std::lround(seconds)};
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string memory_text(Device device) {
  const MemoryStats now = memory(device);
  return fmt::format("{} live, {} peak", format_bytes(now.bytes), format_bytes(now.peak));
}

}  // namespace

ProgressLine::ProgressLine(std::ostream& out, Progress mode, Device device,
                           std::vector<std::string> metrics)
    : out_(out), mode_(mode), device_(device), metrics_(std::move(metrics)) {
  if (mode_ != Progress::automatic) return;
  const bool is_terminal = &out == &std::cout && isatty(STDOUT_FILENO) == 1;
  mode_ = is_terminal ? Progress::bar : Progress::lines;
}

void ProgressLine::begin(int epoch, int epochs, std::int64_t steps) {
  epoch_ = epoch;
  epochs_ = epochs;
  steps_ = steps;
  step_ = 0;
  started_ = drawn_ = Clock::now();
}

void ProgressLine::update(std::int64_t step, const Scores& means) {
  step_ = step;
  const Clock::time_point now = Clock::now();
  if (mode_ != Progress::bar || now - drawn_ < kRedraw) return;
  drawn_ = now;
  draw(means);
}

void ProgressLine::end(const Scores& means, const Scores* validation) {
  if (mode_ == Progress::none) return;
  std::string line =
      fmt::format("{}  {} batches in {}, {:.1f}/s  {}", head(), step_, clock_text(seconds()),
                  static_cast<double>(step_) / std::max(seconds(), 1e-9), scores_text(means, ""));
  if (validation != nullptr) line += "  " + scores_text(*validation, "val ");
  line += "  " + memory_text(device_);
  // Clears what the bar has left.
  out_ << (mode_ == Progress::bar ? "\r\033[K" : "") << line << std::endl;
}

void ProgressLine::draw(const Scores& means) {
  const double rate = static_cast<double>(step_) / std::max(seconds(), 1e-9);
  std::string line = head();
  if (steps_ > 0) {
    const auto full = static_cast<int>(kBarWidth * step_ / steps_);
    std::string bar;
    for (int i = 0; i < kBarWidth; ++i) bar += i < full ? "━" : "╌";
    const double left = static_cast<double>(steps_ - step_) / std::max(rate, 1e-9);
    line += fmt::format(" {} {}/{}  {:.1f}/s  {} left", bar, step_, steps_, rate, clock_text(left));
  } else {
    line += fmt::format(" {}  {:.1f}/s", step_, rate);
  }
  out_ << "\r\033[K" << line << "  " << scores_text(means, "") << "  " << memory_text(device_)
       << std::flush;
}

std::string ProgressLine::head() const { return fmt::format("epoch {}/{}", epoch_, epochs_); }

std::string ProgressLine::scores_text(const Scores& scores, const char* prefix) const {
  std::string text = fmt::format("{}loss {:.4f}", prefix, scores.loss);
  for (std::size_t i = 0; i < scores.metrics.size(); ++i) {
    text += fmt::format("  {}{} {:.4f}", prefix, metrics_[i], scores.metrics[i]);
  }
  return text;
}

double ProgressLine::seconds() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

}  // namespace tenure::nn
