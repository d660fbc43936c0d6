#pragma once

#include <atomic>

#include "tenure/nn/layer.h"

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

class Layer::Watcher {
 public:
  virtual void enter(const Layer& layer) = 0;
  /// nullptr: an exception leaves the layer.
  virtual void leave(const Tensor* output) = 0;

 protected:
  ~Watcher() = default;
};

/// While it lives, the watcher is told of what this thread applies.
class Layer::Watch {
 public:
  explicit Watch(Watcher& watcher);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Watcher* outer_;
};

/// While it lives, it is a trainer that applies layers on this thread.
class Layer::TrainerCall {
 public:
  TrainerCall();
  ~TrainerCall();
  TrainerCall(const TrainerCall&) = delete;
  TrainerCall& operator=(const TrainerCall&) = delete;

 private:
  bool outer_;
};

}  // namespace tenure::nn
