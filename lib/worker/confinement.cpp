#include "worker/confinement.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/limits.hpp"

namespace attnprobe::worker {
namespace {

void lower_limit(__rlimit_resource resource, rlim_t most) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  setrlimit(resource, &limit);
}

// Includes existing mappings: the sanitizers map terabytes.
uint64_t address_space_bytes() {
  unsigned long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return uint64_t{pages} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void limit_resources() {
  lower_limit(RLIMIT_AS, address_space_bytes() + value_of(limits::worker_bytes));
  constexpr rlim_t open_files = 256;  // at most 7 were open at once
  lower_limit(RLIMIT_NOFILE, open_files);
  // The notes, a file in memory, contain a walk's findings with cuDNN's messages: megabytes.
  constexpr rlim_t note_bytes = rlim_t{1} << 30;
  lower_limit(RLIMIT_FSIZE, note_bytes);
}

// ---- Landlock, by its numbers: Debian 12's headers know the first version, older ones none

struct LandlockRuleset {
  uint64_t file_system = 0, network = 0, scoped = 0;
};

struct [[gnu::packed]] LandlockPath {
  uint64_t allowed = 0;
  int32_t parent = -1;
};

constexpr long landlock_create_ruleset = 444, landlock_add_rule = 445, landlock_restrict_self = 446;
constexpr uint64_t write_file = 1U << 1;
// remove_dir, remove_file, make_char, make_dir, make_reg, make_sock, make_fifo, make_block, make_sym
constexpr uint64_t make_and_remove = 0x1ff0;
constexpr uint64_t execute = 1U << 0, refer = 1U << 13, truncate_file = 1U << 14, ioctl_device = 1U << 15;
constexpr uint64_t bind_and_connect = 3, sockets_and_signals = 3;

void forbid_writing() {
  constexpr unsigned ask_version = 1;
  const long version = syscall(landlock_create_ruleset, nullptr, size_t{0}, ask_version);
  if (version < 1) return;
  LandlockRuleset rules;
  rules.file_system = execute | write_file | make_and_remove;
  if (version >= 2) rules.file_system |= refer;
  if (version >= 3) rules.file_system |= truncate_file;
  if (version >= 4) rules.network = bind_and_connect;
  if (version >= 5) rules.file_system |= ioctl_device;
  if (version >= 6) rules.scoped = sockets_and_signals;
  const size_t size = version >= 6   ? sizeof rules
                      : version >= 4 ? offsetof(LandlockRuleset, scoped)
                                     : offsetof(LandlockRuleset, network);
  const FileDescriptor ruleset(static_cast<int>(syscall(landlock_create_ruleset, &rules, size, 0U)));
  if (!ruleset) return;
  const FileDescriptor null_device(open("/dev/null", O_PATH | O_CLOEXEC));
  LandlockPath writable;
  writable.allowed = write_file | (version >= 3 ? truncate_file : 0);
  writable.parent = null_device.get();
  constexpr int path_beneath = 1;
  if (null_device) syscall(landlock_add_rule, ruleset.get(), path_beneath, &writable, 0U);
  syscall(landlock_restrict_self, ruleset.get(), 0U);
}

// ---- seccomp: calls that walks do not need fail with EPERM

#if defined(__x86_64__)
constexpr uint32_t this_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t this_architecture = AUDIT_ARCH_AARCH64;
#endif

constexpr long forbidden_calls[] = {
    // starting programs
    SYS_execve, SYS_execveat,
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_open,
    // network and other sockets
    SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen,
    // namespaces and mounts
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_unshare,
    // kernel interfaces with the most vulnerabilities
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_add_key, SYS_request_key, SYS_keyctl,
    SYS_init_module, SYS_finit_module, SYS_kexec_load};

void forbid_calls() {
#if defined(__x86_64__) || defined(__aarch64__)
  const auto statement = [](uint32_t code, uint32_t k) { return sock_filter{static_cast<uint16_t>(code), 0, 0, k}; };
  const auto if_equal = [](uint32_t value, uint8_t then, uint8_t otherwise) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, then, otherwise, value};
  };
  constexpr uint32_t load = BPF_LD | BPF_W | BPF_ABS, give = BPF_RET | BPF_K;
  constexpr uint32_t refuse = SECCOMP_RET_ERRNO | 1;  // EPERM
  std::vector<sock_filter> filter{statement(load, offsetof(seccomp_data, arch)), if_equal(this_architecture, 1, 0),
                                  statement(give, refuse), statement(load, offsetof(seccomp_data, nr))};
#if defined(__x86_64__)
  // The same calls under other numbers (x32).
  constexpr uint32_t x32_bit = 0x40000000;
  filter.push_back({BPF_JMP | BPF_JGE | BPF_K, 0, 1, x32_bit});
  filter.push_back(statement(give, refuse));
#endif
  for (const long call : forbidden_calls) {
    filter.push_back(if_equal(static_cast<uint32_t>(call), 0, 1));
    filter.push_back(statement(give, refuse));
  }
  filter.push_back(statement(give, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

}  // namespace

void leave_no_core() {
  // With a limit of 1 byte no core is written. A limit of 0 would still pipe it to a program (core(5)).
  lower_limit(RLIMIT_CORE, 1);
}

void confine() {
  if (std::getenv("ATTNPROBE_UNCONFINED") != nullptr) return;
  limit_resources();
  // Required for the next two steps.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  forbid_writing();
  forbid_calls();
}

}  // namespace attnprobe::worker
