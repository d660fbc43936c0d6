#include "tenure/kernels/cuda/products/library_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/cuda.h"
#include "tenure/kernels/cuda/driver/cublaslt-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"

// Note: rows and columns
//
// The library's matrices have their columns behind each other, ours their rows: what we call c it
// calls the transpose of c, which is b's transpose times a's. So its first operand is b.

namespace tenure::kernels::cuda {
namespace {

const CublasLtFunctions& lt() { return cublaslt().functions; }

/// A matrix as the library has it.
struct Operand {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t step = 0;  ///< from column to column
  bool is_transposed = false;
};

/// Our matrix of `rows` by `columns`, whose transpose is an operand; none: nothing in it lies
/// behind each other.
std::optional<Operand> operand_of(std::int64_t rows, std::int64_t columns, std::int64_t row,
                                  std::int64_t column) {
  if (column == 1 && row >= columns) return Operand{columns, rows, row, false};
  if (row == 1 && column >= rows) return Operand{rows, columns, column, true};
  return std::nullopt;
}

std::optional<cudaDataType_t> library_type(DType type) {
  switch (type) {
    case DType::float16:
      return CUDA_R_16F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    case DType::float32:
      return CUDA_R_32F;
    case DType::float64:
      return CUDA_R_64F;
    default:
      return std::nullopt;
  }
}

/// A descriptor of the library's.
template <class Handle, cublasStatus_t (*CublasLtFunctions::*kDestroy)(Handle)>
struct Destroy {
  void operator()(Handle handle) const noexcept { (lt().*kDestroy)(handle); }
};
using Layout = std::unique_ptr<
    cublasLtMatrixLayoutOpaque_t,
    Destroy<cublasLtMatrixLayout_t, &CublasLtFunctions::cublasLtMatrixLayoutDestroy>>;
using Product =
    std::unique_ptr<cublasLtMatmulDescOpaque_t,
                    Destroy<cublasLtMatmulDesc_t, &CublasLtFunctions::cublasLtMatmulDescDestroy>>;
using Preference = std::unique_ptr<
    cublasLtMatmulPreferenceOpaque_t,
    Destroy<cublasLtMatmulPreference_t, &CublasLtFunctions::cublasLtMatmulPreferenceDestroy>>;

/// All that a way to compute a product depends on.
using Key = std::array<std::int64_t, 19>;

/// A way to compute products of one shape.
struct Way {
  Product product;
  Layout a, b, c;
  cublasLtMatmulAlgo_t algorithm{};
  bool is_known = false;  ///< the library has one
};

class LibraryProducts {
 public:
  explicit LibraryProducts(Gpu& gpu) : gpu_(gpu) {
    gpu_.enter();
    require(lt().cublasLtCreate(&handle_), "begin");
  }

  bool multiply(const LibraryProduct& job, const void* a, const void* b, void* c,
                std::span<std::byte> workspace) {
    const std::lock_guard lock(mutex_);
    const Way& way = way_for(job, {alignment(b), alignment(a), alignment(c)}, workspace.size());
    if (!way.is_known) return false;
    gpu_.enter();
    const float one = 1;
    const float kept = job.adds ? 1 : 0;
    const double wide_one = 1;
    const double wide_kept = kept;
    const bool is_wide = job.type == DType::float64;
    const void* const scale = is_wide ? static_cast<const void*>(&wide_one) : &one;
    const void* const keep = is_wide ? static_cast<const void*>(&wide_kept) : &kept;
    gpu_.queue(job.op, [&] {
      require(lt().cublasLtMatmul(handle_, way.product.get(), scale, b, way.a.get(), a, way.b.get(),
                                  keep, c, way.c.get(), c, way.c.get(), &way.algorithm,
                                  workspace.data(), workspace.size(), gpu_.stream()),
              "multiply matrices");
    });
    return true;
  }

 private:
  static std::int64_t alignment(const void* address) {
    const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256;
    return static_cast<std::int64_t>(bits & (~bits + 1));
  }
  void require(cublasStatus_t status, const char* what) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw DeviceError::because(
        "matmul", gpu_.device(),
        fmt::format("cuBLASLt cannot {}: {}", what, lt().cublasLtGetStatusString(status)));
  }
  template <class Value>
  void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t which,
           Value value) const {
    require(lt().cublasLtMatmulPreferenceSetAttribute(preference, which, &value, sizeof value),
            "say what it may use");
  }

  Layout layout(cudaDataType_t type, const Operand& operand, std::int64_t batch,
                std::int64_t step) const {
    cublasLtMatrixLayout_t made = nullptr;
    require(
        lt().cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(operand.rows),
                                        static_cast<std::uint64_t>(operand.columns), operand.step),
        "describe a matrix");
    Layout layout(made);
    const auto count = static_cast<std::int32_t>(batch);
    require(lt().cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                  sizeof count),
            "describe a batch");
    require(lt().cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                  &step, sizeof step),
            "describe a batch");
    return layout;
  }

  Product product(DType type, bool a_transposed, bool b_transposed) const {
    const bool is_wide = type == DType::float64;
    const cublasComputeType_t sums = is_wide       ? CUBLAS_COMPUTE_64F
                                     : cuda_tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                   : CUBLAS_COMPUTE_32F;
    cublasLtMatmulDesc_t made = nullptr;
    require(lt().cublasLtMatmulDescCreate(&made, sums, is_wide ? CUDA_R_64F : CUDA_R_32F),
            "describe a product");
    Product product(made);
    const auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool is_transposed) {
      const cublasOperation_t value = is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
      require(lt().cublasLtMatmulDescSetAttribute(made, which, &value, sizeof value),
              "describe a product");
    };
    transpose(CUBLASLT_MATMUL_DESC_TRANSA, a_transposed);
    transpose(CUBLASLT_MATMUL_DESC_TRANSB, b_transposed);
    return product;
  }

  const Way& way_for(const LibraryProduct& job, std::array<std::int64_t, 3> aligned,
                     std::size_t workspace) {
    const DType type = job.type;
    const ProductPlan& plan = job.plan;
    const bool is_batch = plan.batch.rank > 0;
    const auto step = [&](int operand) { return is_batch ? plan.batch.strides[operand][0] : 0; };
    const Key key{static_cast<std::int64_t>(type),
                  static_cast<std::int64_t>(job.out),
                  cuda_tf32() ? 1 : 0,
                  plan.c_row,
                  plan.m,
                  plan.n,
                  plan.k,
                  plan.a_row,
                  plan.a_column,
                  plan.b_row,
                  plan.b_column,
                  plan.batch.count,
                  step(0),
                  step(1),
                  step(2),
                  aligned[0],
                  aligned[1],
                  aligned[2],
                  static_cast<std::int64_t>(workspace)};
    const auto known = ways_.find(key);
    if (known != ways_.end()) return known->second;
    if (ways_.size() >= kMostWays) ways_.clear();

    const cudaDataType_t element = *library_type(type);
    const Operand first = *operand_of(plan.k, plan.n, plan.b_row, plan.b_column);
    const Operand second = *operand_of(plan.m, plan.k, plan.a_row, plan.a_column);
    Way way{.product = product(type, first.is_transposed, second.is_transposed),
            .a = layout(element, first, plan.batch.count, step(1)),
            .b = layout(element, second, plan.batch.count, step(0)),
            .c = layout(*library_type(job.out), {plan.n, plan.m, plan.c_row, false},
                        plan.batch.count, step(2))};
    cublasLtMatmulPreference_t made = nullptr;
    require(lt().cublasLtMatmulPreferenceCreate(&made), "say what it may use");
    const Preference preference(made);
    set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace));
    // No sums in the order in which blocks come: results have the same bits from run to run.
    set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(aligned[0]));
    set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(aligned[1]));
    set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(aligned[2]));
    set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(aligned[2]));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        lt().cublasLtMatmulAlgoGetHeuristic(handle_, way.product.get(), way.a.get(), way.b.get(),
                                            way.c.get(), way.c.get(), made, 1, &best, &found);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) require(status, "find a way to multiply matrices");
    way.is_known = found == 1 && best.state == CUBLAS_STATUS_SUCCESS;
    way.algorithm = best.algo;
    return ways_.emplace(key, std::move(way)).first->second;
  }

  static constexpr std::size_t kMostWays = 4096;

  Gpu& gpu_;
  cublasLtHandle_t handle_ = nullptr;  // it stays
  std::mutex mutex_;
  std::map<Key, Way> ways_;
};

/// One for each GPU that is in use, for the process.
LibraryProducts& products_on(Gpu& gpu) {
  static std::mutex mutex;
  static auto* const made = new std::map<Gpu*, std::unique_ptr<LibraryProducts>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<LibraryProducts>& one = (*made)[&gpu];
  if (one == nullptr) one = std::make_unique<LibraryProducts>(gpu);
  return *one;
}

}  // namespace

bool library_multiplies(DType type, const ProductPlan& plan) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return library_type(type) && plan.m > 0 && plan.n > 0 && plan.k > 0 && plan.batch.count > 0 &&
         plan.batch.rank <= 1 && std::max({plan.m, plan.n, plan.k, plan.batch.count}) <= kMost &&
         operand_of(plan.m, plan.k, plan.a_row, plan.a_column) &&
         operand_of(plan.k, plan.n, plan.b_row, plan.b_column) && cublaslt().library.is_usable();
}

std::size_t library_workspace(const ProductPlan& plan) {
  // Where there are few tiles of results for a large GPU, sums are cut into parts, which are kept
  // until all are there; short sums are not.
  constexpr std::int64_t kTile = 128;
  constexpr std::int64_t kTiles = 264;
  constexpr std::int64_t kPart = 128;
  constexpr std::int64_t kMostParts = 8;
  constexpr std::int64_t kMost = 32 * MiB;
  const std::int64_t tiles =
      (plan.m + kTile - 1) / kTile * ((plan.n + kTile - 1) / kTile) * plan.batch.count;
  if (tiles == 0) return 0;
  const std::int64_t parts = std::min({kMostParts, (kTiles + tiles - 1) / tiles, plan.k / kPart});
  if (parts < 2) return 0;
  return static_cast<std::size_t>(
      std::min<std::int64_t>(kMost, parts * 4 * std::min<std::int64_t>(plan.results(), kMost)));
}

bool library_multiply(Gpu& gpu, const LibraryProduct& product, const void* a, const void* b,
                      void* c, std::span<std::byte> workspace) {
  return products_on(gpu).multiply(product, a, b, c, workspace);
}

}  // namespace tenure::kernels::cuda
