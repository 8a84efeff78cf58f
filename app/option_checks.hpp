// Checks of numbers: CLI11's own checks miss nan, or report the largest double with 309 digits.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace attnprobe::app {

/// Each returns "" or an error, as CLI11 expects.
std::string check_seconds(const std::string& text);
std::string check_share(const std::string& text);
std::string check_jobs(const std::string& text);
std::string check_seed(const std::string& text);

/// For Option::transform: accepts these words in any letter case; the error for any other word names the nearest one.
CLI::Validator one_of(const std::vector<std::string>& words);
/// The words of an option's one_of; none if it has none.
std::vector<std::string> option_words(const CLI::Option& option);

}  // namespace attnprobe::app
