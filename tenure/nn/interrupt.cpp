#include "tenure/nn/interrupt.h"

#include <atomic>
#include <csignal>

namespace tenure::nn {
namespace {

std::atomic<bool> asked{false};
std::atomic<bool (*)(bool)> other{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

extern "C" void note_interrupt(int) {
  asked.store(true, std::memory_order_relaxed);
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  asked = false;
  struct sigaction now {};
  if (sigaction(SIGINT, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
  struct sigaction ours {};
  ours.sa_handler = note_interrupt;
  ours.sa_flags = SA_RESTART;
  is_installed_ = sigaction(SIGINT, &ours, nullptr) == 0;
}

Interrupt::~Interrupt() {
  if (is_installed_) std::signal(SIGINT, SIG_DFL);
}

bool Interrupt::was_asked() {
  if (asked.load(std::memory_order_relaxed)) return true;
  bool (*const was_asked)(bool) = other;
  return was_asked != nullptr && was_asked(false);
}

void Interrupt::pass_on() {
  bool (*const was_asked)(bool) = other;
  if (was_asked != nullptr) was_asked(true);
}

void Interrupt::ask(bool (*was_asked)(bool is_thrown)) { other = was_asked; }

}  // namespace tenure::nn
