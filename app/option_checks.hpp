// What CLI11's own checks of numbers let through (nan) or say with the 309 digits of the largest double.
#pragma once

#include <string>

namespace attnprobe::app {

/// Each gives "" or what is wrong, as CLI11 takes it.
std::string check_seconds(const std::string& text);
std::string check_share(const std::string& text);
std::string check_jobs(const std::string& text);
std::string check_seed(const std::string& text);

}  // namespace attnprobe::app
