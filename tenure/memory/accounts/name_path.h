#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tenure/memory/threads/frame.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure::mem {

// Note: who frees a path
//
// A tensor has a plain pointer to the path it was made under, and neither its birth nor its end
// does anything for it. A path belongs to the thread that made it. Whenever there are twice as many
// as were in use the last time, and some more, that thread takes a census and frees those that no
// tensor and no frame of its chain refers to. Only its own tensors get its paths, and while it
// looks it makes none.

/// A named-scope path such as "model/encoder".
class NamePath {
 public:
  const std::string& text() const { return text_; }
  /// Names the path for good; an address may come again.
  std::uint64_t number() const { return number_; }
  /// The path `name` below `outer`, which may be null; for tensors and frames of this thread.
  static const NamePath* make(ThreadContext& context, const NamePath* outer,
                              const std::string& name);

 private:
  NamePath(const ThreadContext& context, std::string text);
  static void free_unused(ThreadContext& context);

  const ThreadContext* const owner_;
  NamePath* next_ = nullptr;  // of the owner's
  mutable bool used_ = false;
  const std::uint64_t number_;
  const std::string text_;
};

/// A name in force on a thread.
class NameFrame : public Frame<NameFrame> {
 public:
  /// In force from here on.
  static NameFrame* enter(const std::string& name);
  /// The same for a whole path, whatever names are around it. Recordings see no scope.
  static NameFrame* enter_path(const std::string& path);
  static void leave(NameFrame* frame) noexcept;
  static void leave_all(ThreadContext& context) noexcept;
  ~NameFrame() = default;

 private:
  friend class NamePath;
  NameFrame(ThreadContext& context, const std::string& name, bool is_path)
      : Frame(context), name_(name), is_path_(is_path) {}
  static NameFrame* enter(const std::string& name, bool is_path);
  static void take_out(NameFrame& frame) noexcept;
  /// Makes the paths from `frame` outwards to `stop`, exclusively, anew.
  static void derive_paths(NameFrame& frame, const NameFrame* stop);

  const NamePath* path_ = nullptr;
  const std::string name_;
  const bool is_path_;
};

/// What this thread makes while it lives has this path: that of a layer, when its gradients are
/// computed.
class PathScope {
 public:
  explicit PathScope(const std::string& path) : frame_(NameFrame::enter_path(path)) {}
  ~PathScope() { NameFrame::leave(frame_); }
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;

 private:
  NameFrame* frame_;
};

}  // namespace tenure::mem
