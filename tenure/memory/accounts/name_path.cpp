#include "tenure/memory/accounts/name_path.h"

#include <atomic>
#include <memory>
#include <utility>

#include "tenure/memory/holders/census.h"
#include "tenure/memory/holders/tenant.h"
#include "tenure/memory/observer.h"

namespace tenure::mem {
namespace {

std::atomic<std::uint64_t> next_path{1};

}  // namespace

NamePath::NamePath(const ThreadContext& context, std::string text)
    : owner_(&context),
      number_(next_path.fetch_add(1, std::memory_order_relaxed)),
      text_(std::move(text)) {}

const NamePath* NamePath::make(ThreadContext& context, const NamePath* outer,
                               const std::string& name) {
  if (context.path_count >= context.path_limit) free_unused(context);
  auto* const path = new NamePath(context, outer == nullptr ? name : outer->text() + "/" + name);
  path->next_ = context.paths;
  context.paths = path;
  ++context.path_count;
  return path;
}

void NamePath::free_unused(ThreadContext& context) {
  constexpr std::size_t kAtLeast = 256;
  constexpr std::size_t kSlotsPerPath = 32;
  if (context.paths != nullptr) {
    for (const NameFrame* f = context.names; f != nullptr; f = f->outer) {
      if (f->path_ != nullptr) f->path_->used_ = true;
    }
    const Census census;
    census.for_each([&](const Tenant& tenant) {
      const NamePath* const path = tenant.path();
      if (path != nullptr && path->owner_ == &context) path->used_ = true;
    });
  }
  for (NamePath** link = &context.paths; *link != nullptr;) {
    NamePath* const path = *link;
    if (std::exchange(path->used_, false)) {
      link = &path->next_;
    } else {
      *link = path->next_;
      delete path;
      --context.path_count;
    }
  }
  // A census visits every slot, so the more there are the rarer it must be.
  context.path_limit =
      2 * context.path_count + kAtLeast + slab_bytes(kTenantBin) / kTenantSlot / kSlotsPerPath;
}

NameFrame* NameFrame::enter(const std::string& name) { return enter(name, false); }
NameFrame* NameFrame::enter_path(const std::string& path) { return enter(path, true); }

NameFrame* NameFrame::enter(const std::string& name, bool is_path) {
  ThreadContext& context = this_thread();
  take_out_ended(context.names, take_out);
  std::unique_ptr<NameFrame> frame(new NameFrame(context, name, is_path));
  frame->path_ = NamePath::make(context, is_path ? nullptr : context.path, name);
  context.path = frame->path_;
  push_frame(context.names, frame.get());
  Observer* const o = is_path ? nullptr : observer(context);
  if (o != nullptr) o->scope_began(context, true, Site());
  return frame.release();
}

void NameFrame::leave(NameFrame* frame) noexcept {
  end_frame(frame, take_out);
  take_out_ended(this_thread().names, take_out);
}

void NameFrame::leave_all(ThreadContext& context) noexcept {
  take_out_all(context.names, take_out);
}

void NameFrame::take_out(NameFrame& frame) noexcept {
  ThreadContext& context = frame.context;
  Observer* const o = frame.is_path_ ? nullptr : observer(context);
  if (o != nullptr) o->scope_ended(context, true);
  const bool is_innermost = context.names == &frame;
  cut_frame(context.names, frame);
  if (!is_innermost) {
    try {
      derive_paths(*context.names, frame.outer);
    } catch (const std::exception&) {  // no memory: those inside it go on with its name
    }
  }
  context.path = context.names == nullptr ? nullptr : context.names->path_;
}

void NameFrame::derive_paths(NameFrame& frame, const NameFrame* stop) {
  if (frame.outer != stop) derive_paths(*frame.outer, stop);
  const bool is_first = frame.outer == nullptr || frame.is_path_;
  const NamePath* const outer = is_first ? nullptr : frame.outer->path_;
  frame.path_ = NamePath::make(frame.context, outer, frame.name_);
}

}  // namespace tenure::mem
