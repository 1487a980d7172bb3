// sluicegate.hpp: counted references, exceptions, a cartridge and its host. As `--cartridge` it is
// the cartridge.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <sluicegate.hpp>
#include <sluicegate.hpp>

namespace {

unsigned passed, failed;

void expect(bool condition, const char *what) {
  (condition ? passed : failed) += 1;
  if (!condition) {
    std::fprintf(stderr, "FAILED raii: %s\n", what);
  }
}

template <typename Body>
sluice::Error thrown(Body body) {
  try {
    body();
  } catch (const sluice::Error &error) {
    return error;
  }
  return sluice::Error(SLUICE_OK, "nothing was thrown");
}

const char UPPER[] = "cap:upper;in=media:blob;out=media:blob";
const char THROWS[] = "cap:throws;in=media:blob;out=media:blob";

void run_cartridge() {
  sluice::Cartridge("raii", "1.0.0")
      .cap(UPPER,
           [](const sluice::Request &request) {
             const sluice::Output output = request.output();
             sluice::Item item;
             for (const sluice::Input input = request.input(); input.recv(item);) {
               std::string text = item.str();
               for (char &c : text) {
                 c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
               }
               output.write(text.data(), text.size());
             }
           })
      .cap(THROWS, [](const sluice::Request &) { throw std::runtime_error("as was asked for"); })
      .run_stdio();
}

void gates_and_windows() {
  const sluice::Gate gate = sluice::Gate::open(1);
  const sluice::Gate same = gate; // NOLINT: a second reference is the point
  expect(gate.try_acquire(), "a chunk can be taken");
  expect(!same.try_acquire() && !same.acquire(1, 5), "and then there is none");
  gate.grant(2);
  expect(same.available() == 2, "copies are the same gate");
  gate.close("END");
  const sluice::Error closed = thrown([&] { same.acquire(); });
  expect(closed.kind() == SLUICE_CLOSED && closed.code() == "END", "the reason is thrown");
  const sluice::Window window = sluice::Window::open(2);
  expect(window.arrive() && window.arrive() && !window.arrive(), "a third chunk is a violation");
  expect(window.consumed() == 1 && window.remaining() == 1, "half the window is granted back");
}

void a_call() {
  char self[4096];
  const ssize_t len = readlink("/proc/self/exe", self, sizeof self);
  const sluice::Engine engine = sluice::Engine::make();
  const sluice::Peer peer =
      engine.spawn(std::string(self, static_cast<std::size_t>(len)), {"--cartridge"});
  const sluice::Call call = peer.call(UPPER);
  call.input("media:blob").write("hello", 5);
  call.finish_input(120000);
  expect(call.output(120000).collect_bytes(120000).str() == "HELLO", "the cartridge answers");
  call.wait(120000);
  const sluice::Call throws = peer.call(THROWS);
  const sluice::Error error = thrown([&] { throws.wait(120000); });
  expect(error.kind() == SLUICE_REMOTE && std::strstr(error.what(), "as was asked for") != nullptr,
         "what a handler throws is the caller's error");
  const sluice::Call late = peer.call(UPPER);
  late.limit(50);
  const sluice::Error passed = thrown([&] { late.wait(120000); });
  expect(passed.kind() == SLUICE_TIMED_OUT && std::strstr(passed.what(), "50ms") != nullptr,
         "a limit ends the call and is named");
  const sluice::Error spawn = thrown([&] { engine.spawn("/no/such/program"); });
  expect(spawn.kind() == SLUICE_SPAWN, "a program that is none");
  engine.close();
}

}  // namespace

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "--cartridge") == 0) {
    run_cartridge();
    return 0;
  }
  gates_and_windows();
  a_call();
  expect(sluice_live_handles() == 0, "nothing is left behind");
  std::printf("raii: %u passed, %u failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
