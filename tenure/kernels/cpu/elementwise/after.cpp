#include "tenure/kernels/cpu/elementwise/after.h"

#include "tenure/kernels/cpu/elementwise/cpu_loop.h"
#include "tenure/kernels/cpu/elementwise/fused_range.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {

void run_after_here(const ops::FusedNeighbours& after, std::int64_t begin, std::int64_t end) {
  const View& result = after.after_inputs.views[0];
  FusedRange(fused_of(*after.after), after.after_inputs.views, after.after_shape)
      .run(begin, end,
           result.as<std::byte>() + begin * static_cast<std::int64_t>(size_of(result.dtype)));
}

void run_after(const ops::FusedNeighbours& after, std::int64_t begin, std::int64_t end) {
  if (begin == end) return;
  parallel_for(end - begin, share_of_thread(end - begin, fused_of(*after.after).cost),
               [&](std::int64_t first, std::int64_t last) {
                 run_after_here(after, begin + first, begin + last);
               });
}

void run_after(const ops::FusedNeighbours& after) { run_after(after, 0, count(after.after_shape)); }

}  // namespace tenure::kernels
