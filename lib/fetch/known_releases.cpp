#include <algorithm>

#include "base/embedded.hpp"
#include "base/json_reader.hpp"
#include "base/version.hpp"
#include "fetch/releases.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_releases;
}

namespace attnprobe::fetch {
namespace {

std::vector<KnownRelease> read_releases() {
  const JsonSource source{.name = "lib/fetch/releases.json", .kind = ErrorKind::internal};
  const Json json = parse_json(embedded_releases.front().text, source, {.comments = false});
  JsonObject file(JsonView(json, source));
  file.take("comment").text();
  std::vector<KnownRelease> releases;
  for (const JsonView& element : file.take("releases").elements()) {
    JsonObject entry(element);
    releases.push_back({entry.take("version").text(), entry.take("cuda").integers(), entry.take("small_mb").integer(0),
                        entry.take("full_mb").integer(0)});
    entry.finish();
  }
  file.finish();
  return releases;
}

}  // namespace

const std::vector<KnownRelease>& known_releases() {
  static const std::vector<KnownRelease> releases = read_releases();
  return releases;
}

const KnownRelease* known_release(const std::string& word) {
  const auto& releases = known_releases();
  const auto found = std::find_if(releases.rbegin(), releases.rend(),
                                  [&](const KnownRelease& release) { return is_of_version(release.version, word); });
  return found == releases.rend() ? nullptr : &*found;
}

}  // namespace attnprobe::fetch
