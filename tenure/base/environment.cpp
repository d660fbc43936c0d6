#include "tenure/base/environment.h"

#include <stdlib.h>

namespace tenure {

const char* environment(const char* name) { return secure_getenv(name); }

}  // namespace tenure
