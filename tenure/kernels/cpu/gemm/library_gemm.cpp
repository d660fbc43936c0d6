#include <oneapi/dnnl/dnnl.hpp>

#include <array>
#include <cstring>
#include <list>
#include <unordered_map>

#include "tenure/base/error.h"
#include "tenure/kernels/cpu/gemm/gemm.h"
#include "tenure/kernels/parallel.h"

#ifdef TENURE_OPENMP
#include <omp.h>
#endif

namespace tenure::kernels {
namespace {

const dnnl::engine& engine() {
  static const auto& cpu = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return cpu;
}

struct Key {
  Gemm shape;
  int threads;
  bool operator==(const Key& other) const {
    return std::memcmp(&shape, &other.shape, sizeof shape) == 0 && threads == other.threads;
  }
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = static_cast<std::size_t>(key.threads);
    for (const std::int64_t part : {key.shape.m, key.shape.n, key.shape.k, key.shape.a_row,
                                    key.shape.a_column, key.shape.b_row, key.shape.b_column}) {
      hash = (hash ^ static_cast<std::size_t>(part)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

/// A product ready to run. The library's objects carry the addresses of the operands, so each
/// thread has its own.
class Product {
 public:
  explicit Product(const Gemm& g) {
    using dnnl::memory;
    const memory::desc a({g.m, g.k}, memory::data_type::f32, memory::dims{g.a_row, g.a_column});
    const memory::desc b({g.k, g.n}, memory::data_type::f32, memory::dims{g.b_row, g.b_column});
    const memory::desc c({g.m, g.n}, memory::data_type::f32, memory::dims{g.c_row, 1});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc description({a, b, c}, attributes, engine());
    primitive_ = dnnl::matmul(description);
    workspace_ = description.scratchpad_desc().get_size();
    memories_ = {memory(a, engine(), nullptr), memory(b, engine(), nullptr),
                 memory(c, engine(), nullptr),
                 memory(description.scratchpad_desc(), engine(), nullptr)};
    arguments_ = {dnnl_exec_arg_t{DNNL_ARG_SRC, memories_[0].get()},
                  dnnl_exec_arg_t{DNNL_ARG_WEIGHTS, memories_[1].get()},
                  dnnl_exec_arg_t{DNNL_ARG_DST, memories_[2].get()},
                  dnnl_exec_arg_t{DNNL_ARG_SCRATCHPAD, memories_[3].get()}};
  }

  std::size_t workspace() const { return workspace_; }

  void run(const dnnl::stream& stream, const float* a, const float* b, float* c, void* workspace) {
    dnnl_memory_set_data_handle(memories_[0].get(), const_cast<float*>(a));
    dnnl_memory_set_data_handle(memories_[1].get(), const_cast<float*>(b));
    dnnl_memory_set_data_handle(memories_[2].get(), c);
    dnnl_memory_set_data_handle(memories_[3].get(), workspace);
    const dnnl_status_t status = dnnl_primitive_execute(
        primitive_.get(), stream.get(), static_cast<int>(arguments_.size()), arguments_.data());
    internal_check(status == dnnl_success, "oneDNN refused a matrix product");
  }

 private:
  dnnl::primitive primitive_;
  std::size_t workspace_ = 0;
  std::array<dnnl::memory, 4> memories_;
  std::array<dnnl_exec_arg_t, 4> arguments_{};
};

/// The products that a thread used last, most recent first.
class Products {
 public:
  Product& get(const Gemm& shape) {
    const Key key{shape, num_threads()};
    if (!recent_.empty() && recent_.front().first == key) return recent_.front().second;
    if (const auto found = index_.find(key); found != index_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second);
      return recent_.front().second;
    }
    recent_.emplace_front(key, Product(shape));
    index_.emplace(key, recent_.begin());
    if (recent_.size() > kLimit) {
      index_.erase(recent_.back().first);
      recent_.pop_back();
    }
    return recent_.front().second;
  }
  const dnnl::stream& stream() const { return stream_; }

 private:
  static constexpr std::size_t kLimit = 256;
  std::list<std::pair<Key, Product>> recent_;
  std::unordered_map<Key, std::list<std::pair<Key, Product>>::iterator, KeyHash> index_;
  dnnl::stream stream_{engine()};
};

Products& products() {
  thread_local Products instance;
  return instance;
}

/// oneDNN asks OpenMP for its threads; it gets as many as our own loops.
class ThreadSetting {
 public:
  ThreadSetting(const ThreadSetting&) = delete;
  ThreadSetting& operator=(const ThreadSetting&) = delete;
#ifdef TENURE_OPENMP
  ThreadSetting() : outer_(omp_get_max_threads()) { omp_set_num_threads(num_threads()); }
  ~ThreadSetting() { omp_set_num_threads(outer_); }

 private:
  int outer_;
#else
  ThreadSetting() = default;
#endif
};

}  // namespace

std::size_t library_gemm_workspace(const Gemm& shape) {
  [[maybe_unused]] const ThreadSetting threads;
  return products().get(shape).workspace();
}

void library_gemm(const Gemm& shape, const float* a, const float* b, float* c,
                  std::span<std::byte> workspace) {
  [[maybe_unused]] const ThreadSetting threads;
  Products& cache = products();
  cache.get(shape).run(cache.stream(), a, b, c, workspace.data());
}

}  // namespace tenure::kernels
