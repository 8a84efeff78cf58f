// A file descriptor that its owner closes.
#pragma once

#include <unistd.h>

#include <utility>

namespace attnprobe {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Takes ownership. A negative number means no descriptor.
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void reset() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

/// Closes all descriptors from `first` to `last`, including those that a child process inherits from other code.
void close_descriptors(unsigned first, unsigned last);

}  // namespace attnprobe
