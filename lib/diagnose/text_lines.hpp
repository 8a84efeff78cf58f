// Lines of a text, and the words by which one speaks of an attention. Internal to lib/diagnose.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace attnprobe::diagnose {

struct Line {
  std::string_view text;
  int64_t number = 0;  ///< from 1
};

std::vector<Line> lines_of(std::string_view text);

const re2::RE2& attention_words();

/// What stands right above a line, where the frames of its traceback would be: at most 16 lines.
std::string_view frames_above(const std::vector<Line>& lines, size_t at);

}  // namespace attnprobe::diagnose
