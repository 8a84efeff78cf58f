// The permissions that workers for simulated GPUs give up, tested from inside: a library in place of the null driver
// tries to use them.
#include <fmt/format.h>

#include "catch.hpp"
#include "sanitizers.hpp"
#include "support.hpp"

namespace attnprobe::test::confinement_test {

namespace {

const std::string problem = "--heads 8 --seqlen 128 --head-dim 64 --target h200 --mode A --quick --format json";

// A library with a constructor that acts like malicious code, and writes the outcome to stderr.
constexpr const char* intruder = R"(
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
static void say(const char* what, long result) { fprintf(stderr, "%s:%s\n", what, result < 0 ? "no" : "yes"); }
__attribute__((constructor)) static void try_all(void) {
  const char* file = getenv("INTRUDER_FILE");
  say("read", open("/etc/passwd", O_RDONLY));
  say("null", open("/dev/null", O_WRONLY));
  say("write", open(file, O_WRONLY | O_CREAT, 0644));
  say("truncate", open(getenv("INTRUDER_VICTIM"), O_WRONLY | O_TRUNC));
  say("unlink", unlink(getenv("INTRUDER_VICTIM")));
  say("socket", socket(AF_INET, SOCK_STREAM, 0));
  say("unix", socket(AF_UNIX, SOCK_STREAM, 0));
  say("signal", kill(getppid(), 0));
  char* words[] = {"/bin/true", NULL};
  pid_t child = fork();
  if (child == 0) { execv(words[0], words); say("execute", -1); _exit(0); }
  say("privileges", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? -1 : 0);
  struct rlimit limit;
  getrlimit(RLIMIT_CORE, &limit);
  say("core", limit.rlim_cur <= 1 ? -1 : 0);
  getrlimit(RLIMIT_AS, &limit);
  say("memory", limit.rlim_cur < (1UL << 40) ? -1 : 0);
  usleep(200000);
  abort();
}
)";

std::string output_of(const Environment& more) {
  const TemporaryFolder folder;
  const std::string source = folder.file("intruder.c", intruder).string();
  const std::string library = (folder.path() / "libintruder.so").string();
  const std::string victim = folder.file("victim", "precious").string();
  REQUIRE(shell(fmt::format("cc -w -shared -fPIC -o {} {}", library, source)).exit_code == 0);
  Environment environment = {{"ATTNPROBE_NULL_DRIVER", library},
                             {"INTRUDER_FILE", (folder.path() / "new").string()},
                             {"INTRUDER_VICTIM", victim}};
  environment.insert(more.begin(), more.end());
  const Run run = run_attnprobe(problem, environment);
  INFO(run.out << run.err);
  return run.json()["results"][0]["crash"]["output"];
}

}  // namespace

TEST_CASE("a worker for simulated GPUs can read, but not write, run programs, send signals or connect", "[worker]") {
  const std::string said = output_of({});
  INFO(said);
  CHECK_THAT(said, ContainsSubstring("read:yes"));
  CHECK_THAT(said, ContainsSubstring("null:yes"));
  CHECK_THAT(said, ContainsSubstring("privileges:no"));
  CHECK_THAT(said, ContainsSubstring("core:no"));
  if (!under_sanitizers()) CHECK_THAT(said, ContainsSubstring("memory:no"));
  // By seccomp, which every supported kernel has.
  for (const char* what : {"socket", "unix", "execute"}) CHECK_THAT(said, ContainsSubstring(std::string(what) + ":no"));
  if (shell("python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 6)'").exit_code != 0) return;
  for (const char* what : {"write", "truncate", "unlink", "signal"})
    CHECK_THAT(said, ContainsSubstring(std::string(what) + ":no"));
}

TEST_CASE("ATTNPROBE_UNCONFINED disables the confinement of a worker", "[worker]") {
  const std::string said = output_of({{"ATTNPROBE_UNCONFINED", "1"}});
  INFO(said);
  for (const char* what : {"write", "truncate", "unlink", "socket", "unix", "signal", "privileges", "memory"})
    CHECK_THAT(said, ContainsSubstring(std::string(what) + ":yes"));
}

TEST_CASE("a worker out of memory is a broken environment or a crash, never a verdict", "[worker]") {
  const Run run = run_attnprobe(problem, {{"ATTNPROBE_MAX_WORKER_BYTES", "100000000"}});
  INFO(run.out << run.err);
  CHECK((run.exit_code == 3 || run.exit_code == 4));
  CHECK(run_attnprobe(problem, {{"ATTNPROBE_MAX_WORKER_BYTES", "much"}}).exit_code != 0);
}

TEST_CASE("exhausted descriptors or processes are reported with exit code 3", "[worker]") {
  if (under_sanitizers()) {
    WARN("SKIPPED: sanitizers need descriptors themselves");
    return;
  }
  const Run files = shell(fmt::format("ulimit -n 8; {} {}", program(), problem));
  INFO(files.out << files.err);
  CHECK(files.exit_code == 3);
  CHECK_THAT(files.out + files.err, ContainsSubstring("Too many open files") && ContainsSubstring("ulimit -n"));
  if (geteuid() != 0) return;  // only root can act as another user; root's own processes are not limited
  const Run processes = shell(
      fmt::format("ulimit -u 2; exec setpriv --reuid=65533 --regid=65533 --clear-groups {} {}", program(), problem));
  INFO(processes.out << processes.err);
  CHECK(processes.exit_code == 3);
  CHECK_FALSE(contains(processes.err, "critical"));
}

}  // namespace attnprobe::test::confinement_test
