#include "bring_cudnn.hpp"
#include "worker/client.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "ask.hpp"
#include "ask/by_rule.hpp"
#include "base/text.hpp"
#include "cudnn/cuda_libraries.hpp"
#include "cudnn/library_info.hpp"
#include "fetch/releases.hpp"
#include "machine/preflight.hpp"
#include "output.hpp"

namespace attnprobe::app {
namespace {

namespace fs = std::filesystem;

enum class Policy { ask, always, never };

Policy policy_of(bool fetch) {
  if (fetch) return Policy::always;
  const char* variable = std::getenv("ATTNPROBE_FETCH");
  const std::string word = variable == nullptr ? "" : variable;
  if (word == "always") return Policy::always;
  if (word == "never") return Policy::never;
  if (!word.empty())
    throw Error(ErrorKind::usage,
                fmt::format("ATTNPROBE_FETCH: \"{}\" is not a known value; allowed: always, never", cut(word)));
  return Policy::ask;
}

bool is_here(const std::string& word) {
  try {
    cudnn::choose_library(word);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string with_size(const std::string& word) {
  const auto* known = fetch::known_release(word);
  if (known == nullptr) return "cuDNN " + word;
  return fmt::format("cuDNN {} ({} MB)", word, known->small_mb > 0 ? known->small_mb : known->full_mb);
}

// The newest small cuDNN, and the newest of at most a third of its size, which has no built-in compiler.
std::vector<std::string> offered() {
  std::vector<std::string> words;
  const auto& all = fetch::known_releases();
  int64_t limit = std::numeric_limits<int64_t>::max();
  for (auto release = all.rbegin(); release != all.rend() && words.size() < 2; ++release) {
    if (release->small_mb == 0 || release->small_mb > limit) continue;
    words.push_back(CudnnVersion::parse(release->version).value().release());
    limit = release->small_mb / 3;
  }
  return words;
}

// For the default cuDNN: the version that a framework pins, otherwise the newest small cuDNN; at a terminal the user
// may choose another.
std::vector<std::string> choices_for(const std::string& word, const std::vector<rules::ChosenGate>& frameworks) {
  if (!word.empty()) return {word};
  const auto brought = rules::cudnn_of(frameworks);
  const auto version = brought ? CudnnVersion::parse(*brought) : std::nullopt;
  return version && *version >= asking::first_that_simulates ? std::vector{*brought} : offered();
}

// One of the choices, or "".
std::string ask_terminal(const std::string& question, const std::vector<std::string>& choices) {
  say(fmt::format("{} with pip? [{}/n] ", question,
                  choices.size() == 1 ? "Y" : fmt::format("{}", fmt::join(choices, "/"))));
  std::string line;
  if (!std::getline(std::cin, line)) return "";
  const std::string answer(trim(line));
  if (answer.empty() || (choices.size() == 1 && (answer == "y" || answer == "Y" || answer == "yes")))
    return choices.front();
  return std::find(choices.begin(), choices.end(), answer) != choices.end() ? answer : "";
}

// The version to download, or "".
std::string chosen(Policy policy, const std::string& question, const std::vector<std::string>& choices) {
  if (policy == Policy::always) return choices.front();
  if (policy == Policy::never || isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) return "";
  return ask_terminal(question, choices);
}

void fetch_now(fetch::FetchOptions options) {
  options.folder = fetch::usual_folder();
  options.preferred_cuda = cuda_of_driver();
  fetch::fetch(fetch::plan_fetch(options), options.folder, [](const fetch::FetchStep& step, const auto& downloader) {
    say(fmt::format("fetching {} with {}\n", fmt::join(step.requirements, " or "), downloader.text()));
  });
}

// Only for attnprobe's own folder, because other environments must not be changed. Without NVRTC, plans report that it
// is missing.
void bring_compiler(const std::string& word, Policy policy) try {
  const auto folder = cudnn::fetched_folder();
  const fs::path library = cudnn::choose_library(word).path;
  if (!folder || !library.string().starts_with(folder->string() + "/")) return;
  const auto lacks = cudnn::lacks_compiler(library);
  if (!lacks) return;
  const std::string version = *library.lexically_relative(*folder).begin();
  if (!chosen(policy, *lacks + ". Fetch it (90 MB)", {version}).empty())
    fetch_now({.versions = {version}, .compiler = true});
} catch (const Error& e) {
  warn(e.what());
}

}  // namespace

int cuda_of_driver() {
  constexpr double patience_seconds = 20;
  const int version = worker::inspect_driver(patience_seconds).version;
  return version > 0 && version < 13000 ? 12 : 13;
}

void add_fetch_option(CLI::App& command, bool& fetch) {
  command
      .add_flag(
          "--fetch", fetch,
          "download a missing cuDNN (the small package, with pip) without asking. ATTNPROBE_FETCH=always does so for every command, and ATTNPROBE_FETCH=never forbids it")
      ->group("Where");
}

void require_cudnn(const WantedCudnn& wanted) {
  if (const auto missing = bring_cudnn(wanted)) throw Error(ErrorKind::environment, missing->tried);
}

std::optional<MissingCudnn> bring_cudnn(const WantedCudnn& wanted) {
  const Policy policy = policy_of(wanted.fetch);
  for (const auto& word : wanted.words) {
    std::error_code ignored;
    const bool may_be_fetched =
        word.empty() ? std::getenv("ATTNPROBE_CUDNN") == nullptr : is_version(word) && !fs::exists(word, ignored);
    if (!may_be_fetched || asking::version_by_rule(word, {})) continue;
    std::string fetched;
    try {
      if (!is_here(word)) {
        const auto choices = choices_for(word, wanted.frameworks);
        std::vector<std::string> sizes;
        sizes.reserve(choices.size());
        for (const auto& choice : choices) sizes.push_back(with_size(choice));
        fetched = chosen(policy,
                         fmt::format("{} is not on this machine. Fetch {}",
                                     word.empty() ? "cuDNN" : fmt::format("cuDNN {}", word), fmt::join(sizes, " or ")),
                         choices);
        if (fetched.empty()) continue;
        fetch_now({.versions = {fetched}});
      }
      if (wanted.compiles) bring_compiler(word, policy);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::environment) throw;
      const auto* known = fetch::known_release(fetched);
      const auto version = CudnnVersion::parse(known == nullptr ? fetched : known->version);
      return MissingCudnn{version.value_or(CudnnVersion()), fmt::format("cuDNN {}: {}", fetched, e.what())};
    }
  }
  return std::nullopt;
}

}  // namespace attnprobe::app
