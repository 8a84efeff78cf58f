// Versions as values: read, printed, compared.
#include "base/version.hpp"

#include "support.hpp"

namespace attnprobe::test::version_test {

TEST_CASE("A version is read from its text or its number", "[version]") {
  CHECK(CudnnVersion::parse("9.14.0") == CudnnVersion{9, 14, 0});
  CHECK(CudnnVersion::parse("9.18.1") == CudnnVersion(91801));
  CHECK(CudnnVersion::parse("9.14") == CudnnVersion{9, 14, 0});
  CHECK(CudnnVersion::parse("91400") == CudnnVersion{9, 14, 0});
  CHECK(CudnnVersion::parse("9.19.0.56") == CudnnVersion{9, 19, 0});
  CHECK(CudnnVersion::parse("8.9.7") == CudnnVersion(8907));
  CHECK(FrontendVersion::parse("1.23.0") == FrontendVersion(12300));
  CHECK(FrontendVersion::parse("0.9.2") == FrontendVersion(902));
  for (const char* text : {"", "9", "9.", ".9", "9..0", "9.14.0x", "v9.14", " 9.14", "9.14.0 ", "-9.14", "9.100.0",
                           "9.14.100", "9.1.2.3.4", "9190056", "nine"}) {
    INFO(text);
    CHECK_FALSE(CudnnVersion::parse(text));
  }
}

TEST_CASE("A version prints in the forms of libraries, wheels and prose", "[version]") {
  CHECK(CudnnVersion(91900).text() == "9.19.0");
  CHECK(CudnnVersion(91301).text() == "9.13.1");
  CHECK(CudnnVersion(8907).text() == "8.9.7");  // before cuDNN 9 the number had three digits after the major version
  CHECK(FrontendVersion(902).text() == "0.9.2");
  CHECK(CudnnVersion(91900).short_text() == "9.19");
  CHECK(CudnnVersion(91301).short_text() == "9.13.1");
  CHECK(CudnnVersion(91301).release() == "9.13");
  CHECK(CudnnVersion(92801).major() == 9);
  CHECK(CudnnVersion(92801).minor() == 28);
  CHECK(CudnnVersion(92801).patch() == 1);
}

TEST_CASE("Versions compare by number, and an unknown version is below all others", "[version]") {
  CHECK(CudnnVersion{9, 8, 0} < CudnnVersion{9, 14, 0});
  CHECK(CudnnVersion{8, 9, 7} < CudnnVersion{9, 0, 0});
  CHECK(CudnnVersion{} < CudnnVersion{8, 0, 0});
  CHECK_FALSE(CudnnVersion{}.is_known());
  CHECK_FALSE(CudnnVersion::from_number(-1).is_known());
  CHECK(CudnnVersion::from_number(91900) == CudnnVersion(91900));
}

TEST_CASE("In JSON between attnprobe's processes a version is a number", "[version]") {
  CHECK(Json(CudnnVersion{9, 19, 0}) == Json(91900));
  CHECK(Json(91900).get<CudnnVersion>() == CudnnVersion{9, 19, 0});
}

TEST_CASE("A word may be a version prefix", "[version]") {
  CHECK(is_version("9"));
  CHECK(is_version("9.14.0.64"));
  CHECK_FALSE(is_version(""));
  CHECK_FALSE(is_version("./9.14"));
  CHECK(is_of_version("9.14.1", "9.14"));
  CHECK(is_of_version("9.14.0", "9"));
  CHECK_FALSE(is_of_version("9.14.0", "9.1"));
  CHECK_FALSE(is_of_version("9.14.0", "9.140"));
  CHECK(version_numbers("9.14.0.64") > version_numbers("9.14.0"));
  CHECK(version_numbers("9.14") > version_numbers("9.8.1"));
}

}  // namespace attnprobe::test::version_test
