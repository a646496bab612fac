// Result<T>: a value or one error line. The control API's way to fail (no exceptions cross it).
// Lives here because bpf_compat is the room that all others may use.
#pragma once

#include <cerrno>
#include <string>
#include <utility>
#include <variant>

namespace xbond {

// `code` is a positive errno; `text` one line, without a final newline: what failed, why, and what to do.
struct Error {
  int code = EINVAL;
  std::string text;
};

[[nodiscard]] inline Error fail(int code, std::string text) {
  return Error{code, std::move(text)};
}

template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // Precondition: ok()
  T& value() noexcept { return *std::get_if<0>(&state_); }
  const T& value() const noexcept { return *std::get_if<0>(&state_); }
  T& operator*() noexcept { return value(); }
  const T& operator*() const noexcept { return value(); }
  T* operator->() noexcept { return &value(); }
  const T* operator->() const noexcept { return &value(); }

  // Precondition: !ok()
  Error& error() noexcept { return *std::get_if<1>(&state_); }
  const Error& error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }
  Error& error() noexcept { return error_; }
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

using Status = Result<void>;

}  // namespace xbond
