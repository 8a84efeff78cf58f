// Foreign text cannot control a terminal or a CI log.
#include "base/printable.hpp"
#include "base/text.hpp"

#include "catch.hpp"

namespace attnprobe::test::printable_test {

TEST_CASE("Harmless text is unchanged", "[printable]") {
  for (const char* text :
       {"", "a b\n\tc\n", "größer – 注意 👍🏽 \xef\xbf\xbd", "a::b ## c [d]", "#[x]", "\\x1b"})
    CHECK(printable(text) == text);
}

TEST_CASE("Control characters and terminal sequences are escaped", "[printable]") {
  CHECK(printable("\x1b]0;title\x07 \x1b[31mred\x1b[0m") == "\\x1b]0;title\\x07 \\x1b[31mred\\x1b[0m");
  CHECK(printable("a\rb\bc\x7f") == "a\\x0db\\x08c\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u009b31m");  // CSI in one character
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("Invisible characters and those that change text direction are escaped", "[printable]") {
  CHECK(printable("\u202e\u2066\u2069\u200f\u200e\u061c") == "\\u202e\\u2066\\u2069\\u200f\\u200e\\u061c");
  CHECK(printable("\u2028\ufeff\U000e0041") == "\\u2028\\ufeff\\U000e0041");
  CHECK(printable("\xef\xbf\xbe\xef\xbf\xbf") == "\\ufffe\\uffff");
}

TEST_CASE("Bytes that are not UTF-8 are escaped one by one", "[printable]") {
  CHECK(printable("\xff\xc3(\xe2\x82") == "\\xff\\xc3(\\xe2\\x82");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a lone surrogate
  CHECK(printable("\xc0\xaf\xf5") == "\\xc0\\xaf\\xf5");  // overlong, beyond Unicode
}

TEST_CASE("Lines of a text cannot become CI commands", "[printable]") {
  CHECK(printable("::error::x\n  ::set-env\n\u3000::stop") == "\\x3a:error::x\n  \\x3a:set-env\n\u3000\\x3a:stop");
  CHECK(printable("a ##[error]x ##vso[task] ##teamcity[x") == "a \\x23#[error]x \\x23#vso[task] \\x23#teamcity[x");
  CHECK(printable_line("a\n::b\tc") == "a\\x0a::b\\x09c");
}

TEST_CASE("Only attnprobe can set colours", "[printable]") {
  CHECK(printable(coloured("ok", "1;32")) == "\x1b[1;32mok\x1b[0m");
  const std::string text = coloured("ok", "1");
  size_t printed = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t length = colour_length(text, at);
    printed += length == 0 ? 1 : 0;
    at += std::max<size_t>(length, 1);
  }
  CHECK(printed == 2);
  CHECK(colour_length("\x1b[1mok", 0) == 0);
  CHECK(printable("\xff"
                  "00000000;1m") == "\\xff00000000;1m");
}

TEST_CASE("An id is a terminal link if the documentation is published", "[printable]") {
  const std::string site = "https://example.org/", link = linked_id("torch:dropout", true, site);
  CHECK(printable("[" + link + "]") ==
        "[\x1b]8;;https://example.org/reference/ids.html#torch:dropout\x1b\\torch:dropout\x1b]8;;\x1b\\]");
  CHECK(colour_length(link, 0) + std::string("torch:dropout").size() < link.size());
  CHECK(linked_id("torch:dropout", false, site) == "torch:dropout");
  CHECK(linked_id("torch:dropout", true, "") == "torch:dropout");
}

TEST_CASE("a cut leaves whole UTF-8 letters", "[base]") {
  CHECK(whole_letters("aжб", 0, 2) == "a");
  CHECK(whole_letters("aжб", 2, 3) == "б");
  CHECK(whole_letters("aжб", 0, 9) == "aжб");
}

}  // namespace attnprobe::test::printable_test
