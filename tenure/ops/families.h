#pragma once

#include <vector>

#include "tenure/ops/elementwise/family.h"
#include "tenure/ops/record.h"

// The families of ops, each defined by the source that has its records.

namespace tenure::ops {

const Family& arithmetic_family();
const Family& exponential_family();
const Family& trigonometric_family();
const Family& activation_family();
const Family& comparison_family();
const Family& logic_family();
const Family& selection_family();
const Family& derivative_family();

std::vector<const OpRecord*> cross_entropy_ops();
std::vector<const OpRecord*> pointwise_loss_ops();
std::vector<const OpRecord*> attention_ops();
std::vector<const OpRecord*> lstm_ops();
std::vector<const OpRecord*> gru_ops();

std::vector<const OpRecord*> view_ops();
std::vector<const OpRecord*> slice_ops();
std::vector<const OpRecord*> size_ops();
std::vector<const OpRecord*> copy_ops();
std::vector<const OpRecord*> joining_ops();
std::vector<const OpRecord*> linalg_ops();
std::vector<const OpRecord*> creation_ops();
std::vector<const OpRecord*> random_ops();
std::vector<const OpRecord*> selection_ops();
std::vector<const OpRecord*> index_ops();
std::vector<const OpRecord*> arrange_ops();
std::vector<const OpRecord*> sorting_ops();
std::vector<const OpRecord*> reduction_ops();
std::vector<const OpRecord*> statistics_ops();
std::vector<const OpRecord*> axiswise_ops();
std::vector<const OpRecord*> convolution_ops();
std::vector<const OpRecord*> optimizer_ops();
std::vector<const OpRecord*> pooling_ops();
std::vector<const OpRecord*> row_norm_ops();
std::vector<const OpRecord*> batch_norm_ops();
std::vector<const OpRecord*> dropout_ops();

}  // namespace tenure::ops
