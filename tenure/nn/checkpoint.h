#pragma once

#include <string>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/io/checkpoint.h"
#include "tenure/nn/layer.h"

namespace tenure::nn {

/// A checkpoint does not fit what it is loaded into: other names, shapes or types.
class CheckpointError : public Error {
 public:
  CheckpointError(const std::string& path, std::vector<std::string> problems);

  const std::string& path() const { return path_; }
  /// "model/dense/kernel: float32[4, 8] in the file, float32[4, 16] here", ...
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::string path_;
  std::vector<std::string> problems_;
};

/// What the variables hold, by name.
NamedTensors values_of(const std::vector<NamedVariable>& variables, Site site = Site::current());

/// Gives variables what a checkpoint has under their names. Every name must be there, and no
/// others. Throws CheckpointError; then nothing has changed.
void assign_all(const std::vector<NamedVariable>& variables, const Checkpoint& checkpoint,
                Site site = Site::current());

/// Parameters and buffers of a model as a safetensors file, and back.
void save_weights(const Layer& model, const std::string& path, Site site = Site::current());
void load_weights(const Layer& model, const std::string& path, Site site = Site::current());

struct LoadOptions {
  bool cast = false;     ///< floats of another floating type are converted
  bool partial = false;  ///< what does not fit is left as it is, and told
};
/// What a file was good for.
struct LoadReport {
  std::vector<std::string> loaded{};
  /// "head/kernel: not in the file", "body/norm: float32[4] in the file, float32[8] here", ...
  std::vector<std::string> left_out{};
};
/// The same for a model that differs from the saved one. Throws CheckpointError as load_weights()
/// does for what the options do not allow, and if nothing fits; then nothing has changed.
LoadReport load_weights(const Layer& model, const std::string& path, const LoadOptions& options,
                        Site site = Site::current());

}  // namespace tenure::nn
