#include "tenure/tensor/introspect.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/memory/accounts/name_path.h"
#include "tenure/memory/holders/census.h"

namespace tenure {
namespace {

std::string path_text(const mem::Tenant& tenant) {
  return tenant.path() == nullptr ? std::string() : tenant.path()->text();
}

}  // namespace

std::vector<Holder> holders(const Tensor& tensor, Site site) {
  const std::uint64_t serial = tensor.body("holders()", site).storage_serial();
  std::vector<Holder> found;
  const mem::Census census;
  census.for_each([&](const mem::Tenant& tenant) {
    const mem::Storage* const storage = tenant.storage();
    if (storage == nullptr || storage->serial() != serial) return;
    found.push_back({.kind = tenant.kind(),
                     .device = tenant.device(),
                     .tensor = tenant.id(),
                     .name = tenant.name(),
                     .op = tenant.op(),
                     .site = tenant.created(),
                     .scope = path_text(tenant)});
  });
  std::sort(found.begin(), found.end(),
            [](const Holder& a, const Holder& b) { return a.tensor < b.tensor; });
  return found;
}

std::vector<TensorInfo> live_tensors() {
  std::vector<TensorInfo> found;
  const mem::Census census;
  census.for_each([&](const mem::Tenant& tenant) {
    const mem::Storage* const storage = tenant.storage();
    if (storage == nullptr) return;
    const auto& body = static_cast<const TensorBody&>(tenant);
    found.push_back({.id = body.id(),
                     .name = body.name(),
                     .op = body.op(),
                     .site = body.created(),
                     .scope = path_text(body),
                     .kind = body.kind(),
                     .dtype = body.dtype,
                     .shape = body.shape,
                     .device = body.device(),
                     .storage = storage->serial(),
                     .storage_bytes = static_cast<std::int64_t>(storage->bytes()),
                     .is_evicted = storage->is_hollow(),
                     .category = storage->category()});
  });
  std::sort(found.begin(), found.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.id < b.id; });
  return found;
}

std::string to_string(const Holder& holder) {
  std::string text = fmt::format("{} tensor {}", name_of(holder.kind), holder.tensor);
  if (!holder.name.empty()) text += fmt::format(" \"{}\"", holder.name);
  if (holder.device != cpu) text += fmt::format(" on {}", name_of(holder.device));
  text += fmt::format(" made by {} at {}", holder.op, to_string(holder.site));
  if (!holder.scope.empty()) text += fmt::format(" in scope {}", holder.scope);
  return text;
}

}  // namespace tenure
