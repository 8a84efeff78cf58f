// A GPU to ask about: a GPU of this machine, or a simulated GPU described by device properties.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/json.hpp"

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
  bool representative = false;  ///< asked about by default on a machine without a GPU
  std::optional<int> device;    ///< the driver's index, for Kind::device
  std::string uuid;             ///< "GPU-…", for Kind::device
  int64_t memory_bytes = 0;     ///< for Kind::device; 0: unknown
  /// The JSON of cuDNN's device property descriptor (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION). Null for a device.
  Json properties;
  /// Multiply-adds per clock and multiprocessor of dense matmuls with f32 accumulation, by input type: "f16", "bf16",
  /// "fp8" on tensor cores, "f32" on CUDA cores. Empty if unknown. Omits types that the GPU does not support.
  std::map<std::string, int> matmul_rates;
  std::string rates_source;  ///< date of `references`
  Json sources, references;  ///< source of each property; empty in user files
  std::string file;          ///< the file that was read; "" for the built-in catalogue
};

/// Reads the catalogue's form ({"schema": "attnprobe/target/1", …}) or a bare property JSON from cuDNN. The id of the
/// latter is the file name without extensions. Throws Error(usage) naming file, JSON pointer, value and what is
/// allowed.
Target parse_target(std::string_view text, const std::string& file_name);
/// The same from a file, which may be compressed (gzip, xz).
Target load_target(const std::filesystem::path& path);

/// The catalogue's form.
Json to_json(const Target& target);

/// The content of a target file for a GPU, made from cuDNN's property JSON; the source of every number is "measured".
/// The memory bus width in bits comes from the driver: cuDNN before 9.28 does not report it, and 9.28 requires it.
Target measured_target(const std::string& properties_json, int memory_bus_bits, const std::string& measured_with);

}  // namespace attnprobe::gpu
