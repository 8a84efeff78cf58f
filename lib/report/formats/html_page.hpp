// Self-contained HTML pages. Not installed.
#pragma once

#include <map>
#include <string>

#include "base/json.hpp"
#include "base/text.hpp"

namespace attnprobe::report {

/// lib/report/page/NAME_page.html with the page's own and the common styles and scripts, and its data. `name`:
/// "matrix", "map".
std::string html_page(const std::string& name, const Json& data);

/// Values used in many places of a page's data, stored once.
class Interned {
 public:
  int64_t index(const Json& value) {
    const auto [known, is_new] = known_.try_emplace(json_text(value), static_cast<int64_t>(values_.size()));
    if (is_new) values_.push_back(value);
    return known->second;
  }
  /// -1 for "".
  int64_t text(const std::string& value) { return value.empty() ? -1 : index(value); }
  Json take() { return std::move(values_); }

 private:
  Json values_ = Json::array();
  std::map<std::string, int64_t> known_;
};

}  // namespace attnprobe::report
