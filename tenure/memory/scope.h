#pragma once

#include <cstdint>
#include <string>

#include "tenure/base/site.h"
#include "tenure/memory/tenant.h"

namespace tenure {

/// Disposes, at its end, every tensor that this thread made since its beginning and that still has
/// handles, except those that were kept, escaped, or belong to an inner scope. Scopes nest; each
/// must end on its thread, innermost first, as local variables do.
class Scope {
 public:
  explicit Scope(Site site = Site::current());
  /// Also names what is made inside, as NameScope does.
  explicit Scope(const std::string& name, Site site = Site::current());
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// Hands a tensor of this scope over to the enclosing one; others are left as they are.
  void escape(mem::Tenant& tenant) noexcept;

 private:
  friend class mem::Tenant;
  mem::ThreadContext& context_;
  Scope* outer_;
  const mem::NamePath* outer_path_;
  mem::Tenant* first_ = nullptr;
  std::uint32_t depth_;
  Site site_;
};

/// Names the tensors made on this thread while it lives: "outer/inner" in reports and errors.
class NameScope {
 public:
  explicit NameScope(const std::string& name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  const mem::NamePath* outer_;
};

/// Storages allocated on this thread while it lives are of this category.
class CategoryScope {
 public:
  explicit CategoryScope(Category category);
  ~CategoryScope();
  CategoryScope(const CategoryScope&) = delete;
  CategoryScope& operator=(const CategoryScope&) = delete;

 private:
  Category outer_;
};

}  // namespace tenure
