#pragma once

#include <initializer_list>

#include "python/src/core/collector.h"
#include "python/src/nn/arguments.h"
#include "tenure/nn/attention.h"
#include "tenure/nn/recurrent.h"
#include "tenure/tenure.h"

// What tools/nn_sources.py makes calls these: where a class has more than arguments say, it is
// extended.

namespace tenure::python {

/// "<Scores loss=0.5, metrics=[]>"
py::str told(const py::object& object, std::initializer_list<const char*> fields);

/// Adds what is not made of the header; most classes have nothing of that kind.
template <class Made>
void extend(Made& /*made*/) {}

template <class T, class Base = nn::Layer>
using LayerClass = py::class_<T, Base, std::shared_ptr<T>>;

void extend(LayerClass<nn::MultiHeadAttention>& made);
void extend(LayerClass<nn::TransformerBlock>& made);
void extend(LayerClass<nn::Recurrent>& made);
void extend(py::class_<nn::Trainer, std::shared_ptr<nn::Trainer>>& made);
void extend(py::class_<nn::Fit, std::shared_ptr<nn::Fit>>& made);
void extend(py::class_<nn::StepPlan>& made);
void extend(py::class_<data::Table>& made);
void extend(py::class_<data::Position>& made);

// What is made.
void add_classes_0(Module& module);
void add_classes_1(Module& module);
void add_nn_functions(Module& module);
void add_nn_structs(Module& module);
void add_initializers(Module& module);
void add_schedules(Module& module);
void add_data_functions(Module& module);

// What is written by hand.
void add_layer_base(Module& module);
void add_optimizer_base(Module& module);
void add_callback_base(Module& module);
void add_training(Module& module);
void add_lbfgs(Module& module);
void add_datasets(Module& module);

}  // namespace tenure::python
