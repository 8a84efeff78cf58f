// A GPU to ask about: one of this machine, or one that is simulated from its device properties.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../base/enum_names.hpp"
#include "../base/json.hpp"

namespace attnprobe::gpu {

enum class Kind { simulated, device };
ATTNPROBE_ENUM(Kind, simulated, device)

struct Target {
  std::string id;    ///< "l40s", "device:0"
  std::string name;  ///< "NVIDIA L40S"
  int sm = 0;        ///< 89
  Kind kind = Kind::simulated;
  std::string architecture;
  std::vector<std::string> aliases;
  bool representative = false;  ///< one of those asked about where a machine has no GPU
  std::optional<int> device;    ///< index as the driver counts, for Kind::device
  std::string uuid;             ///< "GPU-…", for Kind::device
  int64_t memory_bytes = 0;     ///< for Kind::device; 0 where not known
  /// What cuDNN's device property descriptor takes (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION). Null for a device.
  Json properties;
  /// Multiply-adds a clock and multiprocessor of dense matmuls with f32 accumulation, by the type of their inputs: "f16",
  /// "bf16", "fp8" on tensor cores, "f32" on CUDA cores. Empty where not known; a type that the GPU lacks is absent.
  std::map<std::string, int> matmul_rates;
  std::string rates_source;  ///< of `references`
  Json sources, references;  ///< where each property comes from; empty in files of one's own
  std::string file;          ///< the file that it came from; "" for the built-in catalogue
};

/// Reads the catalogue's form ({"schema": "attnprobe/target/1", …}) or a bare property JSON as cuDNN gives it. The id
/// of the latter is the file's name without endings. Throws Error(usage) naming file, JSON pointer, value and what is allowed.
Target parse_target(std::string_view text, const std::string& file_name);
/// The same from a file, which may be compressed (gzip, xz).
Target load_target(const std::filesystem::path& path);

/// The catalogue's form.
Json to_json(const Target& target);

/// A target file's content for a GPU whose property JSON cuDNN gave: every number's source is "measured". The width of
/// the memory bus in bits comes from the driver, since cuDNN before 9.28 does not give it and 9.28 wants it.
Target measured_target(const std::string& properties_json, int memory_bus_bits, const std::string& measured_with);

}  // namespace attnprobe::gpu
