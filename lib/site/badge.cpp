// A badge: a GPU's newest answer for a config, as a one-line image.
#include <fmt/format.h>

#include <cmath>

#include "site/html.hpp"
#include "site/site.hpp"

namespace attnprobe::site {
namespace {

// Approximate widths in Verdana or DejaVu Sans at 11 pixels; textLength forces this width in any font.
int width_of(const std::string& text) {
  double width = 0;
  for (const char c : text)
    width += std::string_view(" .,:;il|'!jtf-").find(c) != std::string_view::npos ? 4.2
             : std::string_view("mwMW").find(c) != std::string_view::npos         ? 10.0
                                                                                  : 6.8;
  return static_cast<int>(std::ceil(width));
}

// White text is readable on each of them (WCAG AA).
std::string_view colour_of(Word word) {
  const std::string_view style = style_of(word);
  return style == "yes"    ? "#0b5cad"
         : style == "but"  ? "#7a5c00"
         : style == "no"   ? "#a8470f"
         : style == "none" ? "#5b6570"
                           : "#9a1457";
}

}  // namespace

std::string badge(const Axes& axes, const Answers& answers, size_t config, size_t target) {
  const Run newest = answers.newest(config, target);
  size_t oldest = 0;
  while (newest.word != Word::not_asked && answers.word(config, target, oldest) == Word::not_asked) ++oldest;
  const std::string left = "attention on " + axes.targets[target].name,
                    right = newest.word == Word::not_asked
                                ? std::string(name_of(Word::not_asked))
                                : std::string(name_of(newest.word)) + " " + since_text(newest, axes, oldest);
  const int left_text = width_of(left), right_text = width_of(right), a = left_text + 12, b = right_text + 12;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"20\" role=\"img\" aria-label=\"{1}: {2}\"><title>{3}: {1}: {2}</title>"
      "<clipPath id=\"c\"><rect width=\"{0}\" height=\"20\" rx=\"3\"/></clipPath><g clip-path=\"url(#c)\"><path fill=\"#444b53\" d=\"M0 0h{4}v20H0z\"/>"
      "<path fill=\"{5}\" d=\"M{4} 0h{6}v20H{4}z\"/></g><g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">"
      "<text x=\"6\" y=\"14\" textLength=\"{7}\">{1}</text><text x=\"{8}\" y=\"14\" textLength=\"{9}\">{2}</text></g></svg>\n",
      a + b, escaped_html(left), escaped_html(right), escaped_html(axes.configs[config].name), a,
      colour_of(newest.word), b, left_text, a + 6, right_text);
}

}  // namespace attnprobe::site
