#pragma once

namespace tenure::nn {

/// While it lives, the first Ctrl-C (SIGINT) is a wish that can be asked for, and the second ends
/// the program as it would have. Where the program has a handler of its own, that stays, and says
/// by ask() what it knows.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Throws what the handler has to say otherwise.
  static bool was_asked();
  /// For calls that have no other way to end: throws what the handler has to say.
  static void pass_on();
  /// `was_asked` is called between two batches, on their thread; null for none. It throws all that
  /// there is to say if `is_thrown`.
  static void ask(bool (*was_asked)(bool is_thrown));

 private:
  bool is_installed_ = false;
};

}  // namespace tenure::nn
