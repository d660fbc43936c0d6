#include "tenure/memory/scope.h"

#include <utility>

#include "tenure/memory/holders/standing.h"
#include "tenure/memory/observer.h"

namespace tenure::mem {

/// A category in force on a thread.
class CategoryFrame : public Frame<CategoryFrame> {
 public:
  CategoryFrame(ThreadContext& context, Category category) noexcept
      : Frame(context), category(category) {}
  ~CategoryFrame() = default;
  const Category category;

  static void take_out(CategoryFrame& frame) noexcept {
    ThreadContext& context = frame.context;
    cut_frame(context.categories, frame);
    context.category =
        context.categories == nullptr ? Category::activation : context.categories->category;
  }
};

/// Ends scopes, on their thread.
class ScopeEnd {
 public:
  static void take_out(ScopeFrame& frame) noexcept {
    ThreadContext& context = frame.context;
    cut_frame(context.scope, frame);
    if (frame.late.load(std::memory_order_relaxed) != ScopeFrame::kNoId) hand_over_late(frame);
    // Dropping foreign memory calls a deleter of the user's, which may do anything.
    const bool within_deleter = std::exchange(context.scope_is_ending, true);
    while (frame.first != nullptr) {
      Tenant& tenant = *frame.first;
      tenant.unlink();
      // While it is tracked, another thread that ends it leaves the slot to us.
      if (!tenant.kept_.load(std::memory_order_acquire))
        tenant.dispose("the end of its scope", frame.site);
      tenant.tracking_.exchange(Tenant::Tracking::none, std::memory_order_acq_rel);
    }
    context.scope_is_ending = within_deleter;
    receive_mail(context);
    if (Observer* const o = observer(context)) o->scope_ended(context, false);
  }

  static void escape(const ScopeFrame& frame, Tenant& tenant) noexcept {
    move(tenant, frame.outer);
  }

  static bool lists(const ScopeFrame& frame, const Tenant& tenant) noexcept {
    return tenant.owner_ == &frame.context && tenant.scope_depth_ == frame.depth &&
           is_tracked(tenant);
  }

  /// Hands a tensor over from the scope that lists it, if one does, to `frame`; nullptr: to none.
  static void move(Tenant& tenant, ScopeFrame* frame) noexcept {
    if (tenant.link_ != nullptr) tenant.unlink();
    if (frame != nullptr) {
      tenant.link(*frame);
    } else {
      tenant.tracking_.store(Tenant::Tracking::none, std::memory_order_release);
    }
  }

  static bool is_kept(const Tenant& tenant) noexcept {
    return tenant.kept_.load(std::memory_order_acquire);
  }
  static bool is_tracked(const Tenant& tenant) noexcept {
    return tenant.tracking_.load(std::memory_order_acquire) == Tenant::Tracking::tracked;
  }
  static bool is_of(const Tenant& tenant, const ThreadContext& context) noexcept {
    return tenant.owner_ == &context;
  }
  static std::uint32_t depth_of(const Tenant& tenant) noexcept { return tenant.scope_depth_; }

 private:
  static void hand_over_late(const ScopeFrame& frame) noexcept {
    const std::uint64_t late = frame.late.load(std::memory_order_relaxed);
    for (Tenant* tenant = frame.first; tenant != nullptr;) {
      Tenant* const next = tenant->next_;
      if (tenant->id() >= late) escape(frame, *tenant);
      tenant = next;
    }
  }
};

Standing::Standing(const Tenant& tenant) noexcept
    : kept_(ScopeEnd::is_kept(tenant)),
      is_foreign_(ScopeEnd::is_tracked(tenant) && !ScopeEnd::is_of(tenant, this_thread())),
      depth_(ScopeEnd::is_tracked(tenant) ? ScopeEnd::depth_of(tenant) : 0) {}

void Standing::pass_to(Tenant& tenant) const noexcept {
  ThreadContext& context = this_thread();
  if (kept_) tenant.keep();
  if (!ScopeEnd::is_of(tenant, context)) return;
  ScopeFrame* frame = is_foreign_ ? nullptr : context.scope;
  while (frame != nullptr && frame->depth != depth_) frame = frame->outer;
  ScopeEnd::move(tenant, frame);
}

void leave_scopes(ThreadContext& context) noexcept {
  take_out_all(context.scope, ScopeEnd::take_out);
  NameFrame::leave_all(context);
  take_out_all(context.categories, CategoryFrame::take_out);
}

}  // namespace tenure::mem

namespace tenure {

Scope::Scope(Site site) {
  mem::ThreadContext& context = mem::this_thread();
  mem::take_out_ended(context.scope, mem::ScopeEnd::take_out);
  frame_ = new mem::ScopeFrame(context, site);
  if (context.scope != nullptr) frame_->depth = context.scope->depth + 1;
  mem::push_frame(context.scope, frame_);
  if (mem::Observer* const o = mem::observer(context)) o->scope_began(context, false, site);
}

Scope::Scope(const std::string& name, Site site) : Scope(site) {
  name_ = mem::NameFrame::enter(name);
}

Scope::~Scope() {
  if (name_ != nullptr) mem::NameFrame::leave(name_);
  if (!frame_->is_here()) {
    frame_->late.store(frame_->context.ids.upcoming(), std::memory_order_relaxed);
  }
  mem::end_frame(frame_, mem::ScopeEnd::take_out);
  mem::take_out_ended(mem::this_thread().scope, mem::ScopeEnd::take_out);
}

void Scope::escape(mem::Tenant& tenant) noexcept {
  if (frame_->is_here() && mem::ScopeEnd::lists(*frame_, tenant)) {
    mem::ScopeEnd::escape(*frame_, tenant);
  }
}

NameScope::NameScope(const std::string& name) : frame_(mem::NameFrame::enter(name)) {}

NameScope::~NameScope() { mem::NameFrame::leave(frame_); }

CategoryScope::CategoryScope(Category category) {
  mem::ThreadContext& context = mem::this_thread();
  mem::take_out_ended(context.categories, mem::CategoryFrame::take_out);
  frame_ = new mem::CategoryFrame(context, category);
  mem::push_frame(context.categories, frame_);
  context.category = category;
}

CategoryScope::~CategoryScope() {
  mem::end_frame(frame_, mem::CategoryFrame::take_out);
  mem::take_out_ended(mem::this_thread().categories, mem::CategoryFrame::take_out);
}

}  // namespace tenure
