#include "tenure/memory/ledger.h"
#include "python/src/core/bind.h"
#include "tenure/base/units.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/tensor/introspect.h"

// What is live, how much, and who holds it.

namespace tenure::python {
namespace {

Device device_or_default(const py::object& device) {
  return device.is_none() ? default_device() : device_of(device.ptr(), "device");
}

py::dict categories_of(const MemoryStats& stats) {
  py::dict categories;
  for (int i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    categories[py::str(std::string(name_of(category)))] = stats[category].bytes;
  }
  return categories;
}

}  // namespace

void add_memory(Module& module) {
  py::class_<MemoryStats>(module, "MemoryStats", "The ledger's counters at one moment.")
      .def_readonly("tensors", &MemoryStats::tensors, "Live tensors.")
      .def_readonly("storages", &MemoryStats::storages, "Live storages: views share one.")
      .def_readonly("bytes", &MemoryStats::bytes, "Bytes that live storages take.")
      .def_readonly("peak", &MemoryStats::peak,
                    "Most bytes at once, since the start or reset_peak().")
      .def_readonly("allocations", &MemoryStats::allocations, "Storages that were ever made.")
      .def_readonly("frees", &MemoryStats::frees, "Storages that were ever freed.")
      .def_readonly("evictions", &MemoryStats::evictions,
                    "Results that budgets gave up, to compute them again.")
      .def_readonly("recomputations", &MemoryStats::recomputations,
                    "Results that were computed again.")
      .def_readonly("evicted_bytes", &MemoryStats::evicted_bytes,
                    "Bytes of what is given up at present.")
      .def_readonly("foreign_bytes", &MemoryStats::foreign_bytes,
                    "Bytes of arrays and the like that tensors lie in; not in .bytes.")
      .def_readonly("cached_bytes", &MemoryStats::cached_bytes,
                    "Free bytes that the pool keeps for reuse.")
      .def_readonly("reserved_bytes", &MemoryStats::reserved_bytes,
                    "Bytes that the pool has from the system.")
      .def_readonly("metadata_bytes", &MemoryStats::metadata_bytes,
                    "Bytes of the records of all tensors: shapes, lines, ...")
      .def_readonly("fragmentation", &MemoryStats::fragmentation,
                    "The share of the pool's free large memory that is not in its largest piece.")
      .def_property_readonly("categories", categories_of, "Live bytes by what they are for.")
      .def("__repr__", [](const MemoryStats& stats) { return to_string(stats); });
  module.def(
      "memory",
      [](const py::object& device) { return memory(device_or_default(device), caller()); },
      py::arg("device") = py::none(),
      "The counters of a device: live tensors, bytes, peak, allocations.");
  module.def(
      "reset_peak",
      [](const py::object& device) { reset_peak(device_or_default(device), caller()); },
      py::arg("device") = py::none(), "Starts the peaks anew from what is live now.");
  module.def("format_bytes", &format_bytes, py::arg("bytes"), "'64.00 MiB'");

  py::class_<Holder>(module, "Holder",
                     "One reference to a storage: who keeps the data alive, and from where.")
      .def_property_readonly(
          "kind", [](const Holder& holder) { return std::string(name_of(holder.kind)); },
          "What holds the data: 'user', 'view', 'tape', 'variable', 'numpy', ...")
      .def_property_readonly(
          "device", [](const Holder& holder) { return name_of(holder.device); },
          "Where the data lies.")
      .def_readonly("tensor", &Holder::tensor, "The number of the tensor that holds it.")
      .def_readonly("name", &Holder::name, "The name of that tensor; empty unless it has one.")
      .def_readonly("op", &Holder::op, "The op that made it.")
      .def_property_readonly(
          "site", [](const Holder& holder) { return to_string(holder.site); },
          "The line that made it.")
      .def_readonly("scope", &Holder::scope, "The named scopes that it was made in.")
      .def("__repr__", [](const Holder& holder) { return to_string(holder); });
  module.def(
      "holders", [](const Tensor& tensor) { return holders(tensor, caller()); }, py::arg("tensor"),
      "Everyone who holds the data that a tensor has, or had before it was disposed.");

  py::class_<TensorInfo>(module, "TensorInfo", "A live tensor as a census saw it.")
      .def_readonly("id", &TensorInfo::id, "Its number, which no other tensor has.")
      .def_readonly("name", &TensorInfo::name, "Its name; empty unless it was given one.")
      .def_readonly("op", &TensorInfo::op, "The op that made it.")
      .def_property_readonly(
          "site", [](const TensorInfo& info) { return to_string(info.site); },
          "The line that made it.")
      .def_readonly("scope", &TensorInfo::scope, "The named scopes that it was made in.")
      .def_readonly("dtype", &TensorInfo::dtype, "Its element type.")
      .def_readonly("shape", &TensorInfo::shape, "Its sizes.")
      .def_readonly("storage", &TensorInfo::storage,
                    "The number of its storage, which views share.")
      .def_readonly("storage_bytes", &TensorInfo::storage_bytes, "Bytes of that storage.")
      .def_property_readonly(
          "category", [](const TensorInfo& info) { return std::string(name_of(info.category)); },
          "What it is for: 'parameter', 'gradient', 'optimizer', 'activation', ...");
  module.def("live_tensors", &live_tensors,
             "All tensors of the process that have data, oldest first.");
}

}  // namespace tenure::python
