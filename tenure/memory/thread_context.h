#pragma once

// For sources that have not moved with it yet.
#include "tenure/memory/threads/thread_context.h"
