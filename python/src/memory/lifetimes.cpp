#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "python/src/core/bind.h"
#include "python/src/memory/donation.h"
#include "python/src/ops/convert.h"
#include "tenure/kernels/cuda/cuda.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/leak_guard.h"
#include "tenure/memory/scope.h"
#include "tenure/nn/plan_only.h"
#include "tenure/ops/autocast.h"
#include "tenure/profile/profile.h"

// Context managers: a C++ object that lives from __enter__ to __exit__.

namespace tenure::python {
namespace {

/// `T` while the block runs; to enter it twice at once is an error.
template <class T>
class Block {
 public:
  bool is_on() const { return held_ != nullptr; }
  T& held(const char* what) const {
    if (held_ == nullptr) throw ValueError(std::string(what) + " is used outside of its `with`");
    return *held_;
  }
  template <class... Arguments>
  void enter(const char* what, Arguments&&... arguments) {
    if (held_ != nullptr)
      throw ValueError(std::string(what) + " is entered already; make one for each `with`");
    held_ = std::make_unique<T>(std::forward<Arguments>(arguments)...);
  }
  void leave() { held_.reset(); }

 private:
  std::unique_ptr<T> held_;
};

class ScopeBlock : public Block<Scope> {
 public:
  explicit ScopeBlock(std::optional<std::string> name) : name_(std::move(name)) {}
  ScopeBlock& begin() {
    name_ ? enter("the scope", *name_, caller()) : enter("the scope", caller());
    return *this;
  }
  Tensor escape(const Tensor& tensor) const {
    held("the scope").escape(tensor.body("escape()", caller()));
    return tensor;
  }

 private:
  std::optional<std::string> name_;
};

class BudgetBlock : public Block<Budget> {
 public:
  BudgetBlock(std::string name, const py::object& limit, bool evict, const py::object& device)
      : name_(std::move(name)),
        limit_(bytes_of(limit.ptr(), "the limit")),
        evict_(evict),
        device_(device.is_none() ? default_device() : device_of(device.ptr(), "device")) {}
  BudgetBlock& begin() {
    enter("the budget", name_, limit_, Budget::Options{.evict = evict_}, device_, caller());
    return *this;
  }
  void leave() {
    if (is_on()) peak_ = held("the budget").peak();
    Block<Budget>::leave();
  }
  const std::string& name() const { return name_; }
  std::size_t limit() const { return limit_; }
  /// Also after the block, of which it then was.
  std::size_t peak() const { return !is_on() && peak_ ? *peak_ : held("the budget").peak(); }

 private:
  std::string name_;
  std::size_t limit_;
  bool evict_;
  Device device_;
  std::optional<std::size_t> peak_;
};

class ProfileBlock : public Block<Profile> {
 public:
  ProfileBlock(std::string file, bool stacks) : file_(std::move(file)), stacks_(stacks) {}
  ProfileBlock& begin() {
    enter("the profile", file_, ProfileOptions{.stacks = stacks_}, caller());
    return *this;
  }

 private:
  std::string file_;
  bool stacks_;
};

/// What a thread has while a block runs, which C++ ends in the reverse order of its beginnings.
/// Blocks of generators and of coroutines end in any order: one ends with those that began after
/// it, which then begin anew. The thread owns what it has, so that another one never ends it; what
/// a block leaves behind that another thread lets go ends with the next one here.
template <class T>
class ThreadBlock {
 public:
  bool is_on() const { return key_ != nullptr; }
  template <class Make>
  void enter(const char* what, Make make) {
    if (is_on())
      throw ValueError(std::string(what) + " is entered already; make one for each `with`");
    end_what_is_over();
    std::unique_ptr<T> made = make();
    auto key = std::make_shared<int>();
    entries().push_back({key, std::move(make), std::move(made)});
    key_ = std::move(key);
    what_ = what;
    thread_ = std::this_thread::get_id();
  }
  void leave() {
    if (!is_on()) return;
    if (thread_ != std::this_thread::get_id())
      throw ValueError(std::string(what_) + " is left by another thread than it was entered by");
    key_.reset();
    end_what_is_over();
  }

  ThreadBlock() = default;
  ThreadBlock(const ThreadBlock&) = delete;
  ThreadBlock& operator=(const ThreadBlock&) = delete;
  ~ThreadBlock() {
    if (is_on() && thread_ == std::this_thread::get_id()) leave();
  }

 private:
  struct Entry {
    std::weak_ptr<int> key;  // expired: its block is over
    std::function<std::unique_ptr<T>()> make;
    std::unique_ptr<T> held;
  };
  /// Of this thread, the innermost last.
  static std::vector<Entry>& entries() {
    struct Entries {
      std::vector<Entry> list;
      ~Entries() {
        while (!list.empty()) list.pop_back();
      }
    };
    thread_local Entries entries;
    return entries.list;
  }
  static void end_what_is_over() {
    std::vector<Entry>& all = entries();
    const auto is_over = [](const Entry& entry) { return entry.key.expired(); };
    const auto first = std::find_if(all.begin(), all.end(), is_over);
    for (auto i = all.end(); i != first;) (--i)->held.reset();
    all.erase(std::remove_if(first, all.end(), is_over), all.end());
    for (Entry& entry : all) {
      if (entry.held == nullptr) entry.held = entry.make();
    }
  }

  std::shared_ptr<int> key_;
  const char* what_ = "";
  std::thread::id thread_;
};

class PlanOnlyBlock : public ThreadBlock<nn::PlanOnly> {
 public:
  PlanOnlyBlock& begin() {
    enter("plan_only", [] { return std::make_unique<nn::PlanOnly>(); });
    return *this;
  }
};

class AutocastBlock : public ThreadBlock<Autocast> {
 public:
  explicit AutocastBlock(const py::object& type) : type_(From<DType>::of(type.ptr(), "dtype")) {
    static_cast<void>(Autocast(type_));
  }
  AutocastBlock& begin() {
    enter("the autocast", [type = type_] { return std::make_unique<Autocast>(type); });
    return *this;
  }

 private:
  DType type_;
};

class DeviceBlock : public ThreadBlock<DeviceScope> {
 public:
  explicit DeviceBlock(const py::object& device) : device_(device_of(device.ptr(), "device")) {}
  DeviceBlock& begin() {
    enter("the device", [device = device_, site = caller()] {
      return std::make_unique<DeviceScope>(device, site);
    });
    return *this;
  }
  std::string name() const { return name_of(device_); }

 private:
  Device device_;
};

template <class T, class... More>
void add_exit(py::class_<T, More...>& type) {
  type.def(
      "__enter__", [](T& block) -> T& { return block.begin(); },
      py::return_value_policy::reference);
  type.def("__exit__", [](T& block, const py::args& /*error*/) {
    block.leave();
    return false;
  });
}

std::function<void(const LeakError&)> reporter(const py::object& report) {
  if (report.is_none()) return {};
  return [report](const LeakError& error) {
    const WithLock lock;
    report(std::string(error.what()));
  };
}

}  // namespace

void add_lifetimes(Module& module) {
  py::class_<ScopeBlock> scope(module, "Scope", "What tenure.scope() gives.");
  scope.def(py::init<std::optional<std::string>>(), py::arg("name") = py::none())
      .def("escape", &ScopeBlock::escape, py::arg("tensor"),
           "Hands a tensor of this scope over to the one around it; gives the tensor.");
  add_exit(scope);

  py::class_<BudgetBlock> budget(module, "Budget", "What tenure.budget() gives.");
  budget
      .def(py::init<std::string, const py::object&, bool, const py::object&>(), py::arg("name"),
           py::arg("limit"), py::arg("evict") = false, py::arg("device") = py::none())
      .def_property_readonly("name", &BudgetBlock::name, "Its name, which errors have.")
      .def_property_readonly("limit", &BudgetBlock::limit, "The most bytes.")
      .def_property_readonly(
          "used", [](const BudgetBlock& b) { return b.held("the budget").used(); },
          "Bytes that are charged to it now.")
      .def_property_readonly(
          "peak", &BudgetBlock::peak,
          "The most bytes that were charged to it at once; also after the block.")
      .def_property_readonly(
          "available", [](const BudgetBlock& b) { return b.held("the budget").available(); },
          "Bytes that it has left, and those around it.");
  add_exit(budget);

  py::class_<ProfileBlock> profile(module, "Profile", "What tenure.profile() gives.");
  profile.def(py::init<std::string, bool>(), py::arg("file") = "", py::arg("stacks") = false);
  add_exit(profile);

  py::class_<AutocastBlock> autocast(
      module, "autocast",
      "`with tn.autocast():` lets products of matrices, convolutions and attention of this thread "
      "compute in bfloat16 (or `tn.autocast(tn.float16)`), with sums in float32: what they are "
      "given "
      "in float32 is rounded, and their results are of that type. Losses, reductions and softmax, "
      "and whatever meets float32, go on in float32; parameters and gradients stay float32. "
      "`tn.autocast(tn.float32)` within another one is as if there were none.");
  autocast.def(py::init<py::object>(), py::arg("dtype") = "bfloat16");
  add_exit(autocast);

  py::class_<PlanOnlyBlock> plan_only(
      module, "plan_only",
      "`with tn.plan_only():` lets layers that this thread makes have parameters without data, and "
      "so the optimizers and trainers of such layers: all of it can be planned and summarized, "
      "however large it is, and nothing of it can run.");
  plan_only.def(py::init<>());
  add_exit(plan_only);

  py::class_<DeviceBlock> device(
      module, "device",
      "`with tn.device(\"cuda:0\"):` has what this thread makes from nothing be on a device; ops "
      "run "
      "where their tensors are. Blocks nest. A GPU that is not there is a DeviceError, which says "
      "what to install.");
  device.def(py::init<const py::object&>(), py::arg("name"))
      .def_property_readonly("name", &DeviceBlock::name, "The name of the device.")
      .def("__str__", &DeviceBlock::name);
  add_exit(device);
  module.def(
      "default_device", [] { return name_of(default_device()); },
      "Where this thread makes tensors from nothing.");
  module.def(
      "set_default_device",
      [](const py::object& device) {
        set_default_device(device_of(device.ptr(), "device"), caller());
      },
      py::arg("device"), "The default device of all threads that are in no `with tn.device(...)`.");
  module.def(
      "gpus",
      [] {
        std::vector<std::string> names;
        for (const CudaGpu& gpu : cuda_report().gpus)
          names.push_back("cuda:" + std::to_string(gpu.index));
        return names;
      },
      "The names of the GPUs that the driver knows: none where there is no driver. `python -m "
      "tenure "
      "doctor` tells what is missing.");

  module.def(
      "set_cuda_tf32", [](bool is_allowed) { set_cuda_tf32(is_allowed); }, py::arg("is_allowed"),
      "Whether products and convolutions of float32 on GPUs may round what they multiply to TF32, "
      "whose mantissa has 10 bits instead of 23: several times as fast. Off, unless "
      "TENURE_CUDA_TF32=1 or this says so.");
  module.def(
      "cuda_tf32", [] { return cuda_tf32(); }, "What set_cuda_tf32() has set.");

  py::class_<LeakGuard>(module, "_LeakGuard")
      .def(py::init([](std::string name, int warm_up, int patience, std::int64_t slack_bytes,
                       const py::object& report) {
             LeakGuard::Options options;
             options.warm_up = warm_up;
             options.patience = patience;
             options.slack_bytes = slack_bytes;
             options.report = reporter(report);
             return std::make_unique<LeakGuard>(std::move(name), std::move(options), caller());
           }),
           py::arg("name") = "loop", py::kw_only(), py::arg("warm_up") = 3,
           py::arg("patience") = mem::kPatience, py::arg("slack_bytes") = 0,
           py::arg("report") = py::none())
      .def("mark", &LeakGuard::mark)
      .def_property_readonly("iterations", &LeakGuard::iterations, "How often mark() was called.");

  module.def(
      "keep", [](const Tensor& tensor) { return keep(tensor, caller()); }, py::arg("tensor"),
      "Excludes a tensor from every scope; gives the tensor.");
  module.def(
      "set_process_budget",
      [](const py::object& limit) {
        const std::size_t bytes = limit.is_none() ? kNoLimit : bytes_of(limit.ptr(), "the limit");
        set_process_budget(bytes, default_device(), caller());
      },
      py::arg("limit"), "A limit on all that Tenure holds in this process; None lifts it.");
  add_donation(module.ptr());
}

}  // namespace tenure::python
