// Downloads a cuDNN for the first question if none is installed and the user agrees.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/version.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::app {

/// --fetch. Otherwise ATTNPROBE_FETCH decides (always, never); by default, a user at a terminal is asked.
void add_fetch_option(CLI::App& command, bool& fetch);

struct WantedCudnn {
  std::vector<std::string> words;             ///< words of --cudnn; "" for the default
  std::vector<rules::ChosenGate> frameworks;  ///< frameworks whose pinned release is the default
  bool fetch = false;                         ///< --fetch
  bool compiles = false;                      ///< plans were requested, for which cuDNN up to 9.20 needs NVRTC
};

/// A cuDNN that could not be downloaded.
struct MissingCudnn {
  CudnnVersion version;
  std::string tried;  ///< "cuDNN 9.20 cannot be fetched: …"
};

/// Downloads missing versions, and NVRTC, if --fetch, ATTNPROBE_FETCH=always or the user at the terminal allows it.
/// None if every version is installed, or if downloading was not requested or was declined; the question itself then
/// reports what is missing. Throws Error(usage) for another value of ATTNPROBE_FETCH.
std::optional<MissingCudnn> bring_cudnn(const WantedCudnn& wanted);

/// The same for commands that rules cannot answer: throws Error(environment) if a cuDNN could not be downloaded.
void require_cudnn(const WantedCudnn& wanted);

/// 12 for a driver without CUDA 13, otherwise 13.
int cuda_of_driver();

}  // namespace attnprobe::app
