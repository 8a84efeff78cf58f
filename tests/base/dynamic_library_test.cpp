// Libraries that are loaded at run time.
#include "base/dynamic_library.hpp"

#include <dlfcn.h>

#include "support.hpp"

namespace attnprobe::test::dynamic_library_test {

TEST_CASE("A library function is bound by its type", "[library]") {
  const DynamicLibrary math("libm.so.6");
  REQUIRE(math);
  double (*cosine)(double) = nullptr;
  math.bind("cos", cosine);
  CHECK(cosine(0) == 1);
  CHECK(contains(math.path().string(), "libm.so.6"));
  CHECK(math.find("attnprobe_no_such_function") == nullptr);
}

TEST_CASE("A missing symbol is named with its library", "[library]") {
  const DynamicLibrary math("libm.so.6");
  void (*function)() = nullptr;
  try {
    math.bind("attnprobe_no_such_function", function, "it is too old");
    FAIL("bound");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::environment);
    CHECK(contains(e.what(), "libm.so.6 has no attnprobe_no_such_function: it is too old"));
  }
  const DynamicLibrary none("/attnprobe/no/such/library.so");
  CHECK_FALSE(none);
  CHECK(contains(loader_words(), "/attnprobe/no/such/library.so"));
  CHECK(none.find("cos") == nullptr);
  CHECK(none.path().empty());
}

TEST_CASE("A library is closed with its last handle unless it is kept", "[library]") {
  // The null driver: this program does not need it.
  const std::filesystem::path file =
      std::filesystem::canonical("/proc/self/exe").parent_path() / ".." / "libattnprobe_null_driver.so";
  if (!std::filesystem::exists(file) || DynamicLibrary(file, RTLD_NOLOAD)) return;
  {
    const DynamicLibrary open(file);
    REQUIRE(open);
  }
  CHECK_FALSE(DynamicLibrary(file, RTLD_NOLOAD));
}

}  // namespace attnprobe::test::dynamic_library_test
