#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "tenure/base/site.h"
#include "tenure/memory/accounts/name_path.h"
#include "tenure/memory/holders/tenant.h"
#include "tenure/memory/threads/frame.h"

namespace tenure::mem {

/// A scope in force on a thread: the tensors that it lists.
class ScopeFrame : public Frame<ScopeFrame> {
 public:
  ScopeFrame(ThreadContext& context, Site site) noexcept : Frame(context), site(site) {}
  ~ScopeFrame() = default;

  static constexpr std::uint64_t kNoId = std::numeric_limits<std::uint64_t>::max();
  Tenant* first = nullptr;
  std::uint32_t depth = 1;  ///< above those of all scopes around it
  Site site;
  /// Tensors with this id and above were made after it had ended on another thread.
  std::atomic<std::uint64_t> late{kNoId};
};

/// Sets the category of what a call allocates; ends like a local variable, unlike CategoryScope.
class CategoryGuard {
 public:
  CategoryGuard(ThreadContext& context, Category category) noexcept
      : context_(context), outer_(context.category) {
    context.category = category;
  }
  ~CategoryGuard() { context_.category = outer_; }
  CategoryGuard(const CategoryGuard&) = delete;
  CategoryGuard& operator=(const CategoryGuard&) = delete;

 private:
  ThreadContext& context_;
  Category outer_;
};

}  // namespace tenure::mem

namespace tenure {

/// Disposes, at its end, every tensor that this thread made since its beginning and that still has
/// handles, except those that were kept, escaped, or belong to an inner scope. Scopes nest, and may
/// end in any order: one that ends before an inner one takes nothing of the inner one's.
///
/// A scope ought to end on its thread. If it ends on another one, its tensors are disposed when its
/// thread next begins or ends a scope, or ends; those made after its end go to the enclosing scope.
/// If its thread ends first, the scope ends with it.
class Scope {
 public:
  explicit Scope(Site site = Site::current());
  /// Also names what is made inside, as NameScope does.
  explicit Scope(const std::string& name, Site site = Site::current());
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// Hands a tensor of this scope over to the enclosing one; others are left as they are. Does
  /// nothing on another thread.
  void escape(mem::Tenant& tenant) noexcept;

 private:
  mem::ScopeFrame* frame_;
  mem::NameFrame* name_ = nullptr;
};

/// Names the tensors made on this thread while it lives: "outer/inner" in reports and errors. Names
/// may end in any order: each then leaves the paths of what is made later. If one ends on another
/// thread, its own does so when it next begins or ends a name.
class NameScope {
 public:
  explicit NameScope(const std::string& name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  mem::NameFrame* frame_;
};

/// Storages allocated on this thread while it lives are of this category; of several, the innermost
/// that has not ended counts. If one ends on another thread, its own sees it when it next begins or
/// ends one.
class CategoryScope {
 public:
  explicit CategoryScope(Category category);
  ~CategoryScope();
  CategoryScope(const CategoryScope&) = delete;
  CategoryScope& operator=(const CategoryScope&) = delete;

 private:
  mem::CategoryFrame* frame_;
};

}  // namespace tenure
