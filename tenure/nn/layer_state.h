#pragma once

#include <atomic>

#include "tenure/nn/layer.h"
#include "tenure/ops/core/call_context.h"

namespace tenure::nn {

class Layer::State {
 public:
  struct Part {
    std::string name;
    std::shared_ptr<State> state;
  };

  State(std::string kind, Site site) : kind(std::move(kind)), site(site) {}

  const std::string kind;
  const Site site;   ///< where the layer was made
  std::string name;  ///< in the layer that it is a part of; empty outermost
  std::vector<NamedVariable> parameters;
  std::vector<NamedVariable> buffers;
  std::vector<Part> parts;
  std::int64_t removals = 0;
  std::atomic<bool> is_training = true;
  std::atomic<bool> is_frozen = false;

  /// Calls f(path, state) for this one, then for all parts below it.
  template <class F>
  void walk(const F& f, const std::string& path = {}) {
    f(path, *this);
    for (const Part& part : parts) part.state->walk(f, join(path, part.name));
  }
  /// Throws ValueError unless the name can be given.
  void require_free(const std::string& wanted) const;

  static std::string join(const std::string& path, const std::string& name) {
    if (path.empty() || name.empty()) return path.empty() ? name : path;
    return path + '/' + name;
  }
};

// What follows is in layer.cpp, as is require_free().

/// Zeros of the variable's shape, on its device; a spec() if that has no data (PlanOnly).
Tensor zeros_for(const Variable& variable, DType dtype, Site site);

class Layer::Watcher {
 public:
  virtual void enter(const Layer& layer) = 0;
  /// nullptr: an exception leaves the layer.
  virtual void leave(const Tensor* output) = 0;

 protected:
  ~Watcher() = default;
};

/// How a thread applies layers.
struct LayerCall {
  const Site* site = nullptr;         ///< where the outermost layer is called; nullptr: none is
  Layer::Watcher* watcher = nullptr;  ///< is told of every layer, if it is there
  bool is_trainers = false;           ///< a trainer applies them
  bool has_no_data = false;           ///< what is made is planned alone: see PlanOnly
};

/// While it lives, the thread applies layers in this way.
class LayerCallScope {
 public:
  explicit LayerCallScope(const LayerCall& call) noexcept : call_(call), scope_(&call_) {}

 private:
  LayerCall call_;
  ops::ContextScope<&ops::CallContext::layer> scope_;
};

/// While it lives, the watcher is told of what this thread applies.
class Layer::Watch : LayerCallScope {
 public:
  explicit Watch(Watcher& watcher);
};

/// While it lives, it is a trainer that applies layers on this thread.
class Layer::TrainerCall : LayerCallScope {
 public:
  TrainerCall();
};

}  // namespace tenure::nn
