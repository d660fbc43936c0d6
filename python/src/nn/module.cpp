#include "python/src/nn/classes.h"
#include "python/src/nn/stream.h"

namespace tenure::python {

void add_nn(Module& module) {
  Module data = module.def_submodule("_data", "Datasets, and files that they come from.");
  Module nn = module.def_submodule("_nn", "Layers, optimizers and training.");
  Module init = nn.def_submodule("init", "What parameters hold at first.");
  Module schedule = nn.def_submodule("schedule", "The learning rate of each step.");
  add_datasets(data);
  add_data_functions(data);
  add_layer_base(nn);
  add_optimizer_base(nn);
  add_callback_base(nn);
  add_stream(nn);
  add_training(nn);
  add_lbfgs(nn);
  add_nn_structs(nn);
  add_classes_0(nn);
  add_classes_1(nn);
  add_nn_functions(nn);
  add_initializers(init);
  add_schedules(schedule);
}

}  // namespace tenure::python
