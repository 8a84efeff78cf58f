// Releases of libraries that a text names and that are older than what was read. Internal to lib/diagnose.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnprobe::diagnose {

struct OldRelease {
  std::string name, version, newest;  ///< "flash-attn", "2.0.4", "2.8.3"

  /// "flash-attn 2.0.4 in the text is older than 2.8.3, …"
  std::string text() const;
};

/// Those whose first or second number is lower than the newest one's; at most 3. Of several releases of one library the newest counts.
std::vector<OldRelease> old_releases(std::string_view text);

}  // namespace attnprobe::diagnose
