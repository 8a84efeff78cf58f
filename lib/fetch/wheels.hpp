// Wheels of a package index: which there are, one brought here, its libraries taken out. Not installed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprobe::fetch {

/// A wheel as the index lists it.
struct Wheel {
  std::string package, version;  ///< "nvidia-cudnn-cu13", "9.19.0.56"
  std::string file, url, sha256;
  int64_t bytes = 0;
};

/// The address of the index: `given`, else PIP_INDEX_URL, else PyPI's; without a "/" at its end.
std::string index_address(const std::string& given);

/// The wheels of a package for this machine's processor, in the order of the index, without those that were taken back
/// (yanked). Asks the index (https://peps.python.org/pep-0691) by curl, wget or Python, whichever is there, which obey
/// the machine's proxies and certificates. Throws Error(environment) where it cannot be reached.
std::vector<Wheel> wheels_of(const std::string& package, const std::string& address);

/// The same from the text that an index answers; `source` is its address. Throws Error(environment) for what is not such
/// an answer.
std::vector<Wheel> parse_index(std::string_view json, const std::string& package, const std::string& source);

/// How much of a file is here.
using OnBytes = std::function<void(int64_t bytes)>;

/// Brings the wheel to `folder`, going on with what an earlier run left there as FILE.part, and checks its SHA-256. One
/// that is there whole is only checked. Throws Error(environment) saying what the downloading program said.
std::filesystem::path download(const Wheel& wheel, const std::filesystem::path& folder, const OnBytes& on_bytes);

/// How much of the wheel an earlier download() left in `folder`.
int64_t begun_bytes(const Wheel& wheel, const std::filesystem::path& folder);

/// Takes the libraries and licences that cuDNN needs out of a wheel, below `folder`: of cuDNN all libraries, of CUDA's
/// packages NVRTC and cuBLASLt alone. Throws Error(environment) for a broken wheel and a full disk.
void unpack(const std::filesystem::path& wheel, const std::filesystem::path& folder);

}  // namespace attnprobe::fetch
