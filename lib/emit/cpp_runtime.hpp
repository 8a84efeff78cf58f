// The parts of an emitted C++ program that do not depend on the graph.
#pragma once

namespace attnprobe::emit {

/// Comes before the constants and the graph: cuDNN's functions, found with dlopen, and setters by C++ type.
extern const char* const cpp_prelude;

/// Comes after them: main, which asks heuristic mode A or one engine config, and prints cuDNN's answer.
extern const char* const cpp_main;

}  // namespace attnprobe::emit
