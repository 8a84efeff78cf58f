#include "line_reader.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.hpp"

namespace attnprobe::app {

// Returns false at the end.
bool LineReader::fill() {
  while (true) {
    std::array<pollfd, 2> ready{{{STDIN_FILENO, POLLIN, 0}, {wake_, POLLIN, 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0 && errno == EINTR) continue;
    if (ready[1].revents != 0) return false;
    const ssize_t count = read(STDIN_FILENO, buffer_.data(), buffer_.size());
    if (count >= 0) {
      unread_ = {buffer_.data(), static_cast<size_t>(count)};
      return count > 0;
    }
    if (errno != EINTR && errno != EAGAIN)
      throw Error(ErrorKind::environment, fmt::format("standard input: cannot be read: {}",
                                                      errno == EBADF ? "it is closed" : std::strerror(errno)));
  }
}

LineReader::Read LineReader::next(std::string& line) {
  line.clear();
  Read read = Read::line;
  const auto pass_over = [&](Read why) {
    read = why;
    std::string().swap(line);
  };
  for (bool is_begun = false;; is_begun = true) {
    if (unread_.empty() && !fill()) return is_begun ? read : Read::end;
    const size_t end = unread_.find('\n');
    const std::string_view part = unread_.substr(0, end);
    if (read == Read::line) try {
        if (line.size() + part.size() > longest_)
          pass_over(Read::too_long);
        else
          line += part;
      } catch (const std::bad_alloc&) {
        pass_over(Read::no_memory);
      }
    unread_.remove_prefix(end == std::string_view::npos ? unread_.size() : end + 1);
    if (end != std::string_view::npos) return read;
  }
}

}  // namespace attnprobe::app
