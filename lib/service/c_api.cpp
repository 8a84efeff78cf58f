#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "report/formats/report.hpp"
#include "service/c_api.h"
#include "service/rpc.hpp"

// An incomplete type to C callers.
struct attnprobe_session {
  explicit attnprobe_session(std::string program) : rpc(std::move(program)) {}
  attnprobe::service::Rpc rpc;
};

int attnprobe_abi(void) {
  return ATTNPROBE_ABI;
}

const char* attnprobe_version(void) try {
  static const std::string version = attnprobe::report::tool_version();
  return version.c_str();
} catch (...) {
  return "";
}

attnprobe_session* attnprobe_open(const char* program) try {
  return new attnprobe_session(program == nullptr ? "" : program);
} catch (...) {
  return nullptr;
}

char* attnprobe_call(attnprobe_session* session, const char* request) try {
  if (session == nullptr || request == nullptr) return nullptr;
  return strdup(session->rpc.answer(request).c_str());
} catch (...) {
  return nullptr;
}

void attnprobe_free(char* answer) {
  std::free(answer);
}

void attnprobe_close(attnprobe_session* session) {
  delete session;
}
