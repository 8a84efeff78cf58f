// What of an emitted C++ program does not depend on the graph.
#pragma once

namespace attnprobe::emit {

/// Before the constants and the graph: cuDNN's functions, found with dlopen, and attributes set by their C++ types.
extern const char* const cpp_prelude;

/// Behind them: main, which asks heuristic mode A or one engine config, and prints what cuDNN says.
extern const char* const cpp_main;

}  // namespace attnprobe::emit
