#include "tenure/ops/core/list.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/lasting.h"
#include "tenure/ops/core/record.h"

namespace tenure::ops {

// The families, each defined by the source that has its records.

std::vector<const OpRecord*> elementwise_ops();
std::vector<const OpRecord*> elementwise_composites();
std::vector<const OpRecord*> cross_entropy_ops();
std::vector<const OpRecord*> pointwise_loss_ops();
std::vector<const OpRecord*> class_loss_ops();
std::vector<const OpRecord*> vector_loss_ops();
std::vector<const OpRecord*> ctc_loss_ops();
std::vector<const OpRecord*> attention_ops();
std::vector<const OpRecord*> lstm_ops();
std::vector<const OpRecord*> gru_ops();

std::vector<const OpRecord*> view_ops();
std::vector<const OpRecord*> slice_ops();
std::vector<const OpRecord*> piece_ops();
std::vector<const OpRecord*> size_ops();
std::vector<const OpRecord*> copy_ops();
std::vector<const OpRecord*> joining_ops();
std::vector<const OpRecord*> shape_composites();
std::vector<const OpRecord*> fourier_ops();
std::vector<const OpRecord*> fourier_composites();
std::vector<const OpRecord*> frame_ops();
std::vector<const OpRecord*> linalg_ops();
std::vector<const OpRecord*> solving_ops();
std::vector<const OpRecord*> decomposition_ops();
std::vector<const OpRecord*> solving_composites();
std::vector<const OpRecord*> product_ops();
std::vector<const OpRecord*> creation_ops();
std::vector<const OpRecord*> random_ops();
std::vector<const OpRecord*> multinomial_ops();
std::vector<const OpRecord*> selection_ops();
std::vector<const OpRecord*> index_ops();
std::vector<const OpRecord*> arrange_ops();
std::vector<const OpRecord*> check_ops();
std::vector<const OpRecord*> sorting_ops();
std::vector<const OpRecord*> bin_ops();
std::vector<const OpRecord*> reduce_composites();
std::vector<const OpRecord*> reduction_ops();
std::vector<const OpRecord*> statistics_ops();
std::vector<const OpRecord*> axiswise_ops();
std::vector<const OpRecord*> convolution_ops();
std::vector<const OpRecord*> optimizer_ops();
std::vector<const OpRecord*> interpolation_ops();
std::vector<const OpRecord*> grid_ops();
std::vector<const OpRecord*> pooling_ops();
std::vector<const OpRecord*> row_norm_ops();
std::vector<const OpRecord*> batch_norm_ops();
std::vector<const OpRecord*> dropout_ops();

const std::vector<const OpRecord*>& all_ops() {
  static constinit Lasting<const std::vector<const OpRecord*>> all;
  return all.get([] {
    std::vector<const OpRecord*> list = elementwise_ops();
    for (const auto& family : {elementwise_composites(),
                               shape_composites(),
                               product_ops(),
                               reduce_composites(),
                               bin_ops(),
                               view_ops(),
                               slice_ops(),
                               piece_ops(),
                               copy_ops(),
                               joining_ops(),
                               fourier_ops(),
                               fourier_composites(),
                               frame_ops(),
                               linalg_ops(),
                               solving_ops(),
                               decomposition_ops(),
                               solving_composites(),
                               reduction_ops(),
                               statistics_ops(),
                               axiswise_ops(),
                               creation_ops(),
                               random_ops(),
                               multinomial_ops(),
                               selection_ops(),
                               index_ops(),
                               arrange_ops(),
                               check_ops(),
                               sorting_ops(),
                               convolution_ops(),
                               optimizer_ops(),
                               pooling_ops(),
                               interpolation_ops(),
                               grid_ops(),
                               row_norm_ops(),
                               batch_norm_ops(),
                               dropout_ops()}) {
      list.insert(list.end(), family.begin(), family.end());
    }
    for (const auto& family :
         {cross_entropy_ops(), pointwise_loss_ops(), class_loss_ops(), vector_loss_ops(),
          ctc_loss_ops(), attention_ops(), lstm_ops(), gru_ops(), size_ops()}) {
      list.insert(list.end(), family.begin(), family.end());
    }
    const std::vector<const OpRecord*> above = ops_from_above();
    list.insert(list.end(), above.begin(), above.end());
    return new const std::vector<const OpRecord*>(std::move(list));
  });
}

const OpRecord* find_op(std::string_view name) {
  const auto& all = all_ops();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const OpRecord* record) { return record->name == name; });
  return found == all.end() ? nullptr : *found;
}

const OpRecord& NamedOp::find() const {
  const OpRecord* const found = find_op(name_);
  internal_check(found != nullptr, "an op that is called by its name is in the list");
  op_.store(found, std::memory_order_release);
  return *found;
}

std::string to_string(const MemoryEffect& effect) {
  std::string text;
  switch (effect.kind) {
    case MemoryEffect::Kind::view:
      return "view of input 0";
    case MemoryEffect::Kind::view_or_copy:
      return "view of input 0 where the layout allows, else allocates";
    case MemoryEffect::Kind::allocates:
      text = "allocates";
  }
  if (effect.reuses != 0) {
    text += "; in place in a moved input ";
    bool first = true;
    for (int i = 0; i < 8; ++i) {
      if ((effect.reuses >> i & 1) == 0) continue;
      text += fmt::format("{}{}", first ? "" : " or ", i);
      first = false;
    }
  }
  if (effect.workspace) text += "; takes a workspace";
  return text;
}

}  // namespace tenure::ops
