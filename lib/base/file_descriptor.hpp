// An open file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace attnprobe {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Takes it over; a negative number is none.
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

/// Closes those from `first` to `last`, whoever opened them: what a child process inherits.
void close_descriptors(unsigned first, unsigned last);

}  // namespace attnprobe
