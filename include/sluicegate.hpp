// Sluicegate for C++11 and later: a thin layer of RAII over sluicegate.h, by hand.
//
// Objects are counted handles: copies are the same object, the last one releases it. Threads, waits
// and ownership are as the C header says. Statuses that are errors are thrown as sluice::Error;
// ordinary answers (there is no more, not now) are return values. Times are milliseconds.
#ifndef SLUICEGATE_HPP
#define SLUICEGATE_HPP

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluicegate.h"

namespace sluice {

using Bytes = std::vector<std::uint8_t>;

/// What a call failed with.
class Error : public std::exception {
 public:
  /// An error of your own, to fail a request with. An empty code is the kind's own.
  Error(sluice_status kind, std::string message, std::string code = std::string(),
        sluice_class cls = SLUICE_CLASS_DEFAULT)
      : kind_(kind), class_(cls), code_(std::move(code)), message_(std::move(message)) {
    if (code_.empty()) {
      code_ = sluice_status_code(kind);
    }
    describe();
  }

  /// What the library said; takes the error over.
  Error(sluice_status status, sluice_error *err)
      : kind_(status),
        class_(SLUICE_CLASS_DEFAULT),
        code_(sluice_status_code(status)),
        message_(sluice_status_text(status)) {
    const char *text = nullptr;
    std::size_t len = 0;
    if (sluice_error_code(err, &text, &len) == SLUICE_OK) {
      code_.assign(text, len);
    }
    if (sluice_error_message(err, &text, &len) == SLUICE_OK) {
      message_.assign(text, len);
    }
    sluice_error_class(err, &class_);
    sluice_error_release(err);
    describe();
  }

  /// The status, which is the kind of the error.
  sluice_status kind() const noexcept { return kind_; }
  /// Whose fault it is.
  sluice_class attribution() const noexcept { return class_; }
  /// The code that the wire carries.
  const std::string &code() const noexcept { return code_; }
  /// The sentence for a person.
  const std::string &message() const noexcept { return message_; }
  /// "CODE: message".
  const char *what() const noexcept override { return what_.c_str(); }

  /// The C object, yours to release; NULL if there is no room for it.
  sluice_error *c_error() const noexcept {
    sluice_error *out = nullptr;
    sluice_error_new(kind_, code_.data(), code_.size(), class_, message_.data(), message_.size(),
                     &out);
    return out;
  }

 private:
  void describe() { what_ = message_.empty() ? code_ : code_ + ": " + message_; }

  sluice_status kind_;
  sluice_class class_;
  std::string code_;
  std::string message_;
  std::string what_;
};

/// Throws unless the status is SLUICE_OK.
inline void check(sluice_status status, sluice_error *err = nullptr) {
  if (status != SLUICE_OK) {
    throw Error(status, err);
  }
}

/// The same, with false for an ordinary answer.
inline bool check_unless(sluice_status ordinary, sluice_status status, sluice_error *err = nullptr) {
  if (status == ordinary) {
    sluice_error_release(err);
    return false;
  }
  check(status, err);
  return true;
}

/// A counted reference to a C object.
template <typename T, sluice_status (*Retain)(const T *), sluice_status (*Release)(T *)>
class Handle {
 public:
  Handle() noexcept : handle_(nullptr) {}
  /// Takes a reference over.
  explicit Handle(T *owned) noexcept : handle_(owned) {}
  Handle(const Handle &other) : handle_(other.handle_) {
    if (handle_ != nullptr) {
      check(Retain(handle_));
    }
  }
  Handle(Handle &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Handle &operator=(Handle other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { Release(handle_); }

  T *get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 protected:
  T *handle_;
};

/// One value with its metadata.
class Item : public Handle<sluice_item, sluice_item_retain, sluice_item_release> {
 public:
  using Handle::Handle;

  static Item bytes(const void *data, std::size_t len) {
    sluice_item *out = nullptr;
    check(sluice_item_new_bytes(static_cast<const std::uint8_t *>(data), len, &out));
    return Item(out);
  }
  static Item text(const std::string &text) {
    sluice_item *out = nullptr;
    check(sluice_item_new_text(text.data(), text.size(), &out));
    return Item(out);
  }
  static Item number(std::uint64_t value) {
    sluice_item *out = nullptr;
    check(sluice_item_new_u64(value, &out));
    return Item(out);
  }
  static Item cbor(const void *data, std::size_t len) {
    sluice_item *out = nullptr;
    sluice_error *err = nullptr;
    const sluice_status status =
        sluice_item_new_cbor(static_cast<const std::uint8_t *>(data), len, &out, &err);
    check(status, err);
    return Item(out);
  }

  sluice_item_kind_t kind() const {
    sluice_item_kind_t out = SLUICE_ITEM_OTHER;
    check(sluice_item_kind(handle_, &out));
    return out;
  }
  std::uint64_t as_u64() const {
    std::uint64_t out = 0;
    check(sluice_item_u64(handle_, &out));
    return out;
  }
  /// A copy of the byte string, or of the UTF-8 of the text.
  std::string str() const {
    const std::uint8_t *out = nullptr;
    std::size_t len = 0;
    check(sluice_item_bytes(handle_, &out, &len));
    return std::string(reinterpret_cast<const char *>(out), len);
  }
  Bytes cbor() const {
    const std::uint8_t *out = nullptr;
    std::size_t len = 0;
    check(sluice_item_cbor(handle_, &out, &len));
    return Bytes(out, out + len);
  }
  /// The metadata as CBOR; empty if there is none.
  Bytes meta() const {
    const std::uint8_t *out = nullptr;
    std::size_t len = 0;
    check(sluice_item_meta(handle_, &out, &len));
    return out == nullptr ? Bytes() : Bytes(out, out + len);
  }
};

/// A sender's credit for one stream, in chunks.
class Gate : public Handle<sluice_gate, sluice_gate_retain, sluice_gate_release> {
 public:
  using Handle::Handle;
  static Gate open(std::uint64_t window) {
    sluice_gate *out = nullptr;
    check(sluice_gate_new(window, &out));
    return Gate(out);
  }
  /// False if it would have to wait. Throws SLUICE_CLOSED.
  bool try_acquire(std::uint64_t n = 1) const {
    return check_unless(SLUICE_WAIT, sluice_gate_try_acquire(handle_, n), reason_if_closed());
  }
  /// False if the limit passed first. Throws SLUICE_CLOSED.
  bool acquire(std::uint64_t n = 1, std::int64_t timeout_ms = SLUICE_FOREVER) const {
    const sluice_status status = sluice_gate_acquire(handle_, n, timeout_ms);
    return check_unless(SLUICE_TIMED_OUT, status, status == SLUICE_CLOSED ? reason() : nullptr);
  }
  void grant(std::uint64_t n) const { check(sluice_gate_grant(handle_, n)); }
  bool close(const std::string &reason) const {
    bool out = false;
    check(sluice_gate_close(handle_, reason.data(), reason.size(), &out));
    return out;
  }
  std::uint64_t available() const {
    std::uint64_t out = 0;
    check(sluice_gate_available(handle_, &out));
    return out;
  }
  bool is_closed() const {
    bool out = false;
    check(sluice_gate_is_closed(handle_, &out));
    return out;
  }

 private:
  sluice_error *reason() const {
    sluice_error *out = nullptr;
    sluice_gate_reason(handle_, &out);
    return out;
  }
  sluice_error *reason_if_closed() const { return is_closed() ? reason() : nullptr; }
};

/// What a receiver has promised room for, and what it owes the sender, in chunks.
class Window : public Handle<sluice_window, sluice_window_retain, sluice_window_release> {
 public:
  using Handle::Handle;
  static Window open(std::uint64_t window) {
    sluice_window *out = nullptr;
    check(sluice_window_new(window, &out));
    return Window(out);
  }
  /// False for a violation: the chunk must not be delivered.
  bool arrive() const {
    return check_unless(SLUICE_CREDIT_VIOLATION, sluice_window_arrive(handle_));
  }
  /// Each answers the grant that is due now, 0 for none.
  std::uint64_t consumed() const { return grant(sluice_window_consumed); }
  std::uint64_t flush() const { return grant(sluice_window_flush); }
  std::uint64_t continued() const { return grant(sluice_window_continued); }
  std::uint64_t remaining() const { return grant(sluice_window_remaining); }
  std::uint64_t pending() const { return grant(sluice_window_pending); }

 private:
  std::uint64_t grant(sluice_status (*step)(const sluice_window *, std::uint64_t *)) const {
    std::uint64_t out = 0;
    check(step(handle_, &out));
    return out;
  }
};

/// A stream of values to read.
class Input : public Handle<sluice_input, sluice_input_retain, sluice_input_release> {
 public:
  using Handle::Handle;
  /// The next value; false at the clean end.
  bool recv(Item &out, std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_item *item = nullptr;
    sluice_error *err = nullptr;
    const sluice_status status = sluice_input_recv(handle_, timeout_ms, &item, &err);
    if (!check_unless(SLUICE_END_OF_STREAM, status, err)) {
      return false;
    }
    out = Item(item);
    return true;
  }
  Item collect_bytes(std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_item *item = nullptr;
    sluice_error *err = nullptr;
    const sluice_status status = sluice_input_collect_bytes(handle_, timeout_ms, &item, &err);
    check(status, err);
    return Item(item);
  }
  /// Ends its request unless its end has come `limit_ms` from now; see sluice_input_limit.
  void limit(std::int64_t limit_ms) const {
    sluice_error *err = nullptr;
    const sluice_status status = sluice_input_limit(handle_, limit_ms, &err);
    check(status, err);
  }
  void cancel() const { check(sluice_input_cancel(handle_)); }
};

/// A stream of values to write.
class Output : public Handle<sluice_output, sluice_output_retain, sluice_output_release> {
 public:
  using Handle::Handle;
  void write(const void *data, std::size_t len, std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_error *err = nullptr;
    const auto *bytes = static_cast<const std::uint8_t *>(data);
    const sluice_status status = sluice_output_write(handle_, bytes, len, timeout_ms, &err);
    check(status, err);
  }
  /// Ends its request unless it is closed `limit_ms` from now; see sluice_output_limit.
  void limit(std::int64_t limit_ms) const {
    sluice_error *err = nullptr;
    const sluice_status status = sluice_output_limit(handle_, limit_ms, &err);
    check(status, err);
  }
  void emit(const Item &item, std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_error *err = nullptr;
    const sluice_status status = sluice_output_emit(handle_, item.get(), timeout_ms, &err);
    check(status, err);
  }
  void emit_list_item(const Item &item, std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_error *err = nullptr;
    const sluice_status status = sluice_output_emit_list_item(handle_, item.get(), timeout_ms, &err);
    check(status, err);
  }
  void flush(std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_error *err = nullptr;
    const sluice_status status = sluice_output_flush(handle_, timeout_ms, &err);
    check(status, err);
  }
  void close(std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_error *err = nullptr;
    const sluice_status status = sluice_output_close(handle_, timeout_ms, &err);
    check(status, err);
  }
};

/// Moves everything from one stream to another with credit end to end; answers how much.
inline std::uint64_t forward(const Input &input, const Output &output) {
  std::uint64_t chunks = 0;
  sluice_error *err = nullptr;
  const sluice_status status =
      sluice_forward(input.get(), output.get(), SLUICE_FOREVER, &chunks, &err);
  check(status, err);
  return chunks;
}

/// One call, at the handler's end.
class Request : public Handle<sluice_request, sluice_request_retain, sluice_request_release> {
 public:
  using Handle::Handle;
  Input input(std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_input *out = nullptr;
    sluice_error *err = nullptr;
    const sluice_status status = sluice_request_input(handle_, timeout_ms, &out, &err);
    check(status, err);
    return Input(out);
  }
  Output output() const {
    sluice_output *out = nullptr;
    check(sluice_request_output(handle_, &out));
    return Output(out);
  }
  /// Ends the request unless it has ended `limit_ms` from now; see sluice_request_limit.
  void limit(std::int64_t limit_ms) const {
    sluice_error *err = nullptr;
    const sluice_status status = sluice_request_limit(handle_, limit_ms, &err);
    check(status, err);
  }
  void progress(double value, const std::string &message) const {
    check(sluice_request_progress(handle_, value, message.data(), message.size()));
  }
  void log(const std::string &level, const std::string &message,
           sluice_class cls = SLUICE_CLASS_INTERNAL) const {
    check(sluice_request_log(handle_, level.data(), level.size(), cls, message.data(),
                             message.size()));
  }
};

/// A plugin: caps and what serves them.
class Cartridge {
 public:
  using Serve = std::function<void(const Request &)>;

  Cartridge(const std::string &name, const std::string &version) {
    sluice_manifest *out = nullptr;
    check(sluice_manifest_new(name.data(), name.size(), version.data(), version.size(), &out));
    manifest_ = Manifest(out);
  }

  /// Declares a cap of scalar streams and serves it. What `serve` throws fails the request.
  Cartridge &cap(const std::string &urn, Serve serve) {
    sluice_cap *out = nullptr;
    check(sluice_cap_new(urn.data(), urn.size(), &out));
    const Cap cap(out);
    check(sluice_manifest_add_cap(manifest_.get(), cap.get()));
    handlers_.emplace_back(urn, std::move(serve));
    return *this;
  }

  /// Serves on stdin and stdout until the host closes.
  void run_stdio() const {
    sluice_cartridge *out = nullptr;
    check(sluice_cartridge_new(manifest_.get(), &out));
    const Running cartridge(out);
    for (const auto &one : handlers_) {
      std::unique_ptr<Serve> serve(new Serve(one.second));
      sluice_handler handler;
      handler.ctx = serve.release(); // the library calls release, whatever it answers
      handler.run = run;
      handler.release = release;
      check(sluice_cartridge_handler(out, one.first.data(), one.first.size(), &handler));
    }
    sluice_error *err = nullptr;
    const sluice_status status = sluice_cartridge_run_stdio(out, &err);
    check(status, err);
  }

 private:
  using Manifest = Handle<sluice_manifest, sluice_manifest_retain, sluice_manifest_release>;
  using Cap = Handle<sluice_cap, sluice_cap_retain, sluice_cap_release>;
  using Running = Handle<sluice_cartridge, sluice_cartridge_retain, sluice_cartridge_release>;

  static std::int32_t run(void *ctx, const sluice_request *request, sluice_error **err) {
    try {
      check(sluice_request_retain(request));
      (*static_cast<Serve *>(ctx))(Request(const_cast<sluice_request *>(request)));
      return SLUICE_OK;
    } catch (const Error &error) {
      *err = error.c_error();
      return error.kind();
    } catch (const std::exception &other) {
      *err = Error(SLUICE_REMOTE, other.what()).c_error();
      return SLUICE_REMOTE;
    } catch (...) {
      return SLUICE_REMOTE;
    }
  }
  static void release(void *ctx) { delete static_cast<Serve *>(ctx); }

  Manifest manifest_;
  std::vector<std::pair<std::string, Serve>> handlers_;
};

/// A call of a cap.
class Call : public Handle<sluice_call, sluice_call_retain, sluice_call_release> {
 public:
  using Handle::Handle;
  Output input(const std::string &media) const {
    sluice_output *out = nullptr;
    sluice_error *err = nullptr;
    const sluice_status status =
        sluice_call_input(handle_, media.data(), media.size(), &out, &err);
    check(status, err);
    return Output(out);
  }
  void finish_input(std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_error *err = nullptr;
    const sluice_status status = sluice_call_finish_input(handle_, timeout_ms, &err);
    check(status, err);
  }
  Input output(std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_input *out = nullptr;
    sluice_error *err = nullptr;
    const sluice_status status = sluice_call_output(handle_, timeout_ms, &out, &err);
    check(status, err);
    return Input(out);
  }
  /// Ends the call unless it has ended `limit_ms` from now; see sluice_call_limit.
  void limit(std::int64_t limit_ms) const {
    sluice_error *err = nullptr;
    const sluice_status status = sluice_call_limit(handle_, limit_ms, &err);
    check(status, err);
  }
  /// Waits for the end; throws what it failed with.
  void wait(std::int64_t timeout_ms = SLUICE_FOREVER) const {
    sluice_terminal *out = nullptr;
    sluice_error *err = nullptr;
    const sluice_status status = sluice_call_wait(handle_, timeout_ms, &out, &err);
    check(status, err);
    check(sluice_terminal_release(out));
  }
};

/// A cartridge that an engine can call.
class Peer : public Handle<sluice_peer, sluice_peer_retain, sluice_peer_release> {
 public:
  using Handle::Handle;
  Call call(const std::string &cap) const {
    sluice_call *out = nullptr;
    sluice_error *err = nullptr;
    const sluice_status status = sluice_peer_call(handle_, cap.data(), cap.size(), &out, &err);
    check(status, err);
    return Call(out);
  }
};

/// A host of cartridges.
class Engine : public Handle<sluice_engine, sluice_engine_retain, sluice_engine_release> {
 public:
  using Handle::Handle;
  static Engine make(const sluice_engine_options *options = nullptr) {
    sluice_engine *out = nullptr;
    sluice_error *err = nullptr;
    const sluice_status status = sluice_engine_new(options, &out, &err);
    check(status, err);
    return Engine(out);
  }
  Peer spawn(const std::string &program, const std::vector<std::string> &args = {}) const {
    using Command = Handle<sluice_command, sluice_command_retain, sluice_command_release>;
    sluice_command *made = nullptr;
    check(sluice_command_new(program.data(), program.size(), &made));
    const Command command(made);
    for (const auto &arg : args) {
      check(sluice_command_arg(made, arg.data(), arg.size()));
    }
    sluice_peer *out = nullptr;
    sluice_error *err = nullptr;
    const sluice_status status = sluice_engine_spawn(handle_, made, &out, &err);
    check(status, err);
    return Peer(out);
  }
  void close() const { check(sluice_engine_close(handle_)); }
};

}  // namespace sluice

#endif
