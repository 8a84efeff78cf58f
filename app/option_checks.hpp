// Checks of numbers that CLI11's own checks miss (nan), or report with the 309 digits of the largest double.
#pragma once

#include <string>

namespace attnprobe::app {

/// Each returns "" or the problem, as CLI11 expects.
std::string check_seconds(const std::string& text);
std::string check_share(const std::string& text);
std::string check_jobs(const std::string& text);
std::string check_seed(const std::string& text);

}  // namespace attnprobe::app
