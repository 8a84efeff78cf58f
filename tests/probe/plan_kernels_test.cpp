// The kernels of a compiled plan, and the result for other bytes.
#include "probe/plan_kernels.hpp"

#include <algorithm>
#include <fstream>

#include "probe/cubin.hpp"
#include "support.hpp"

namespace attnprobe::test::plan_kernels_test {

TEST_CASE("a plan compiled for a simulated GPU names its kernel, registers, threads and memory", "[plans]") {
  probe::WalkOptions options;
  options.modes = {"A"};
  options.plans = probe::Plans::first;
  struct Case {
    std::string target, name;
  };
  for (const auto& [target, name] : {Case{"h200", "_sm90_flash_fprop_"}, Case{"a100", "_sm80_flash_fprop_"}}) {
    INFO(target);
    const auto result = probe_one(R"({"heads": 12, "seqlen": 512, "head_dim": 64, "mask": "causal"})", target, options);
    const auto& configs = result.findings.engine_configs;
    const auto built = std::find_if(configs.begin(), configs.end(), probe::is_built);
    REQUIRE(built != configs.end());
    REQUIRE(built->plan->kernels.size() == 1);
    const auto& kernel = built->plan->kernels.front();
    CHECK(kernel.name.starts_with("cudnn_generated_fort_native_sdpa"));
    CHECK(contains(kernel.name, name));
    // Warps of 32; a thread of an attention kernel uses tens of registers, at most 255.
    REQUIRE(kernel.registers);
    CHECK((*kernel.registers >= 32 && *kernel.registers <= 255));
    REQUIRE(kernel.max_threads);
    CHECK((*kernel.max_threads % 32 == 0 && *kernel.max_threads <= 1024));
    CHECK(kernel.stack_bytes);
    CHECK(kernel.shared_memory_bytes);
  }
}

TEST_CASE("the text of a result names the kernel to be launched", "[plans]") {
  const Run run =
      run_attnprobe("--heads 12 --seqlen 512 --head-dim 64 --target h200 --mode A --plans first --quick -v");
  INFO(run.out << run.err);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "  kernels\n  engine "));
  CHECK(contains(run.out, "flash_fprop"));
  CHECK(contains(run.out, " registers, "));
  CHECK(contains(run.out, " threads a block"));
}

TEST_CASE("a plan in another format has no kernels, and a plan without machine code has only names", "[plans]") {
  for (const char* text : {"", "{", "[]", "{}", R"({"engine": {"payload": {"kernels": {}}}})",
                           R"({"engine": {"payload": {"kernels": [7, null]}}})"}) {
    INFO(text);
    CHECK(probe::plan_kernels(text).empty());
  }
  const auto kernels = probe::plan_kernels(
      R"({"engine": {"payload": {"kernels": [{"kernelName": "one", "cubin": "f0VMRg=="}, {"kernelName": "two"}]}}})");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name == "one");
  CHECK(kernels[1].name == "two");
  CHECK_FALSE(kernels[0].registers);
}

TEST_CASE("truncated or damaged machine code is read as far as possible", "[plans]") {
  // Any 64-bit ELF file will do: reads must remain inside it.
  std::ifstream file(program(), std::ios::binary);
  std::string bytes(1 << 16, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(
      bytes.starts_with("\x7f"
                        "ELF"));
  for (size_t size : {size_t{0}, size_t{3}, size_t{16}, size_t{63}, size_t{64}, size_t{4096}, bytes.size()})
    CHECK_NOTHROW(probe::kernels_of_cubin(std::string_view(bytes).substr(0, size)));
  // With its section table at any place.
  for (size_t at = 40; at < 64; ++at) {
    std::string damaged = bytes;
    damaged[at] = '\xff';
    CHECK_NOTHROW(probe::kernels_of_cubin(damaged));
  }
}

}  // namespace attnprobe::test::plan_kernels_test
