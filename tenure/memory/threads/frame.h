#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/pool/asan.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure::mem {

// Note: what is in force on a thread
//
// A scope, a budget, a name or a category is in force on the thread that made it until its object
// ends. Objects end innermost first and on their thread, as a rule; but they may end in any order
// and on any thread. So what they set is in a frame of its own, in a chain of the thread that only
// that thread touches.
//
//     object ends on its thread   the frame is taken out of the chain, wherever in it it is
//     object ends elsewhere       the frame is marked; its thread takes marked frames out when it
//                                 next changes the chain
//     the thread ends first       it takes its frames out, and leaves each to its object
//
// Whoever comes last frees the frame.

/// One link of such a chain, allocated with `new` from the pool.
template <class Derived>
class Frame {
 public:
  explicit Frame(ThreadContext& context) noexcept : context(context) {}
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  static void* operator new(std::size_t bytes) {
    void* const block = allocate_small(this_thread(), size_class(bytes));
    if (block == nullptr) throw_out_of_memory(OutOfMemory::Cause::system, bytes, nullptr);
    unpoison(block, bytes);
    return block;
  }
  static void operator delete(void* block, std::size_t bytes) noexcept {
    if (bytes > kReadableWhenFree) {
      poison(static_cast<std::byte*>(block) + kReadableWhenFree, bytes - kReadableWhenFree);
    }
    free_small(this_thread(), size_class(bytes), block);
  }

  ThreadContext& context;
  Derived* outer = nullptr;

  /// Its object ended on another thread.
  bool has_ended() const noexcept { return state_.load(std::memory_order_acquire) == kEnded; }
  /// Whether this thread has it in its chain.
  bool is_here() const noexcept {
    return &context == &this_thread() && state_.load(std::memory_order_acquire) == kOpen;
  }
  /// For an object that ends while it is not here. True: the frame is the caller's to free.
  bool leave_to_thread() noexcept {
    return state_.exchange(kEnded, std::memory_order_acq_rel) == kDetached;
  }
  /// For a thread that ends. True: the frame is the caller's to free.
  bool leave_to_object() noexcept {
    return state_.exchange(kDetached, std::memory_order_acq_rel) == kEnded;
  }

 protected:
  ~Frame() = default;

 private:
  enum State : std::uint8_t { kOpen, kEnded, kDetached };
  std::atomic<State> state_{kOpen};
};

template <class F>
void push_frame(F*& chain, F* frame) noexcept {
  frame->outer = chain;
  chain = frame;
}

template <class F>
void cut_frame(F*& chain, const F& frame) noexcept {
  F** link = &chain;
  while (*link != &frame) link = &(*link)->outer;
  *link = frame.outer;
}

/// Ends the frame of an object that ends. `take_out(frame)` cuts it and undoes what it did.
template <class F, class TakeOut>
void end_frame(F* frame, const TakeOut& take_out) noexcept {
  if (frame->is_here()) {
    take_out(*frame);
    delete frame;
  } else if (frame->leave_to_thread()) {
    delete frame;
  }
}

/// Takes out the frames whose objects ended on other threads.
template <class F, class TakeOut>
void take_out_ended(F* const& chain, const TakeOut& take_out) noexcept {
  F* frame = chain;
  while (frame != nullptr) {
    if (!frame->has_ended()) {
      frame = frame->outer;
      continue;
    }
    take_out(*frame);
    delete frame;
    frame = chain;  // it may have run code of the user's
  }
}

/// Takes out all frames of a thread that ends.
template <class F, class TakeOut>
void take_out_all(F* const& chain, const TakeOut& take_out) noexcept {
  while (chain != nullptr) {
    F* const frame = chain;
    take_out(*frame);
    if (frame->leave_to_object()) delete frame;
  }
}

/// A thread ends: nothing that it had in force may hold for the next one with its context.
void leave_scopes(ThreadContext& context) noexcept;
void leave_budgets(ThreadContext& context) noexcept;

}  // namespace tenure::mem
