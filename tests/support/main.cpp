#define CATCH_CONFIG_RUNNER  // Catch2 2; 3 ignores it
#include <cstdlib>

#include "catch.hpp"

int main(int argc, char** argv) {
  // Workers run the program just built, not an installed one.
  setenv("ATTNPROBE_PROGRAM", ATTNPROBE_TEST_PROGRAM, 0);
  setenv("ATTNPROBE_NULL_DRIVER", ATTNPROBE_TEST_NULL_DRIVER, 0);
  return Catch::Session().run(argc, argv);
}
