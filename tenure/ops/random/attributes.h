#pragma once

// The places of the attributes of each op, in the order of its signature.
// Those that draw have the key and the first counter last; see stream_of().

namespace tenure::ops {

struct UniformAttributes {
  enum : int { shape, low, high, dtype };
};
struct NormalAttributes {
  enum : int { shape, mean, deviation, dtype };
};
struct BernoulliAttributes {
  enum : int { shape, probability, dtype };
};
struct RandintAttributes {
  enum : int { low, high, shape, dtype };
};
struct PermutationAttributes {
  enum : int { size, dtype };
};
struct MultinomialAttributes {
  enum : int { count, replacement };
};
struct RandomKeyAttributes {
  enum : int { words, key, counter };
};
struct DropoutAttributes {
  enum : int { probability };
};

}  // namespace tenure::ops
