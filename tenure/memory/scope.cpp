#include "tenure/memory/scope.h"

#include <utility>

namespace tenure {

Scope::Scope(Site site)
    : context_(mem::this_thread()),
      outer_(context_.scope),
      outer_path_(context_.path),
      depth_(outer_ == nullptr ? 1 : outer_->depth_ + 1),
      site_(site) {
  context_.scope = this;
}

Scope::Scope(const std::string& name, Site site) : Scope(site) {
  context_.path = mem::NamePath::intern(context_.path, name);
}

Scope::~Scope() {
  context_.scope = outer_;
  context_.path = outer_path_;
  // Dropping foreign memory calls a deleter of the user's, who may do there what he likes.
  const bool within_deleter = std::exchange(context_.scope_is_ending, true);
  while (first_ != nullptr) {
    mem::Tenant& tenant = *first_;
    tenant.unlink();
    // While it is tracked, another thread that ends it leaves the slot to us.
    if (!tenant.kept_.load(std::memory_order_acquire))
      tenant.dispose("the end of its scope", site_);
    tenant.tracking_.exchange(mem::Tenant::Tracking::none, std::memory_order_acq_rel);
  }
  context_.scope_is_ending = within_deleter;
  mem::receive_mail(context_);
}

void Scope::escape(mem::Tenant& tenant) noexcept {
  if (tenant.owner_ != &context_ || tenant.scope_depth_ != depth_) return;
  if (tenant.tracking_.load(std::memory_order_acquire) != mem::Tenant::Tracking::tracked) return;
  tenant.unlink();
  if (outer_ != nullptr) {
    tenant.link(*outer_);
  } else {
    tenant.tracking_.store(mem::Tenant::Tracking::none, std::memory_order_release);
  }
}

NameScope::NameScope(const std::string& name) : outer_(mem::this_thread().path) {
  mem::this_thread().path = mem::NamePath::intern(outer_, name);
}

NameScope::~NameScope() { mem::this_thread().path = outer_; }

CategoryScope::CategoryScope(Category category) : outer_(mem::this_thread().category) {
  mem::this_thread().category = category;
}

CategoryScope::~CategoryScope() { mem::this_thread().category = outer_; }

}  // namespace tenure
