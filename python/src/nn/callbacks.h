#pragma once

#include <memory>

#include "python/src/core/bind.h"
#include "tenure/nn/fit.h"

namespace tenure::python {

/// Calls the methods of an object of a class of Python's, which it holds.
class PythonCallback final : public nn::Callback {
 public:
  explicit PythonCallback(const py::object& object);

  void on_begin(nn::Fit& fit) override;
  void on_step(nn::Fit& fit, const nn::Scores& scores) override;
  void on_epoch(nn::Fit& fit, const nn::Epoch& epoch) override;
  void after_epoch(nn::Fit& fit, const nn::Epoch& epoch) override;
  void on_end(nn::Fit& fit, const nn::History& history) override;
  std::string name() const override;
  Facts state() const override;
  void set_state(const Checkpoint& state) override;

  /// From now on it does nothing: the object may hold the Fit that holds this.
  void let_go() { object_.reset(); }

 private:
  template <class... Arguments>
  void call(const char* method, const Arguments&... arguments) const;

  std::shared_ptr<PyObject> object_;
};

}  // namespace tenure::python
