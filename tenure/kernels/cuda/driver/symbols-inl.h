#pragma once

#include "tenure/kernels/cuda/driver/library.h"

// How a struct of functions is made of a list of their names, X(cuInit) X(cuMemGetInfo) ...: a
// header of CUDA's may define a name as that of a version, cuMemGetInfo_v2, and the member and the
// symbol then have that one.

#define TENURE_TEXT_OF(name) #name
/// A member of the type of the function that the header declares.
#define TENURE_MEMBER(name) decltype(&::name) name = nullptr;
/// Its entry in the array of symbols of the struct `functions`.
#define TENURE_SYMBOL(name) {TENURE_TEXT_OF(name), reinterpret_cast<void**>(&functions.name)},
