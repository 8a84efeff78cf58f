#include "cudnn/log_capture.hpp"

#include <cstring>
#include <mutex>
#include <string_view>

#include "base/error.hpp"

namespace attnprobe::cudnn {
namespace {

constexpr size_t longest_message = size_t{16} << 20;

// Another thread may be inside the callback while a capture ends. So the callback receives the capture's number, not
// its address, and looks up the capture under this lock, if it still exists.
std::mutex lock_of_active;
uintptr_t last_number = 0;

}  // namespace

std::atomic<LogCapture*> LogCapture::active_{nullptr};

std::string message_text(const char* message, LoggedGraphs graphs) {
  constexpr std::string_view json = "apiLog: type=json; val={", engine = "\"engine\":";
  std::string text;
  if (message == nullptr) return text;
  for (size_t begin = 0; message[begin] != '\0' && begin < longest_message;) {
    const std::string_view part(message + begin, strnlen(message + begin, longest_message - begin));
    begin += part.size() + 1;
    const size_t at = graphs == LoggedGraphs::left_out ? part.substr(0, 64).find(json) : part.npos;
    const size_t config = at == part.npos ? at : part.rfind(engine);
    if (config != part.npos)
      text.append(part.substr(0, at + json.size())).append(part.substr(config));
    else
      text.append(part);
    text += '\n';
  }
  return text;
}

void silence(const Library& library) {
  library.api().cudnnSetCallback(CUDNN_SEV_ERROR_EN, nullptr,
                                 [](cudnnSeverity_t, void*, const cudnnDebug_t*, const char*) {});
}

LogCapture::LogCapture(const Library& library, Level level, LoggedGraphs graphs) : library_(library), graphs_(graphs) {
  {
    const std::lock_guard lock(lock_of_active);
    if (active_ != nullptr) throw Error(ErrorKind::internal, "two log captures at once: cuDNN has one callback");
    number_ = ++last_number;
    active_ = this;
  }
  const unsigned mask = CUDNN_SEV_ERROR_EN | CUDNN_SEV_WARNING_EN | (level == Level::info ? CUDNN_SEV_INFO_EN : 0U);
  library_.api().cudnnSetCallback(mask, reinterpret_cast<void*>(number_), &LogCapture::receive);
}

LogCapture::~LogCapture() {
  silence(library_);
  const std::lock_guard lock(lock_of_active);  // waits for a running callback
  active_ = nullptr;
}

void LogCapture::receive(cudnnSeverity_t severity, void* number, const cudnnDebug_t* debug, const char* message) {
  const std::lock_guard lock(lock_of_active);
  LogCapture* capture = active_;
  if (capture == nullptr || capture->number_ != reinterpret_cast<uintptr_t>(number)) return;
  LogMessage entry;
  entry.severity = severity;
  if (debug != nullptr) {
    entry.status = debug->cudnnStatus;
    entry.thread = debug->tid;
  }
  entry.text = message_text(message, capture->graphs_);
  capture->messages_.push_back(std::move(entry));
}

std::vector<LogMessage> LogCapture::messages() const {
  const std::lock_guard lock(lock_of_active);
  return messages_;
}

std::string LogCapture::text() const {
  const std::lock_guard lock(lock_of_active);
  std::string all;
  for (const auto& message : messages_) all += message.text;
  return all;
}

void LogCapture::clear() {
  const std::lock_guard lock(lock_of_active);
  messages_.clear();
}

}  // namespace attnprobe::cudnn
