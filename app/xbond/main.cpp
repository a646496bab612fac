// xbond: bonds Ethernet ports in user space and runs XDP programs on every packet.
#include <fmt/format.h>
#include <rte_lcore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/xbond/appliance.hpp"
#include "app/xbond/check.hpp"
#include "app/xbond/commands.hpp"
#include "app/xbond/options.hpp"
#include "lib/control/console.hpp"
#include "lib/control/socket.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::app {
namespace {

std::atomic<bool> g_stop{false};  // SIGINT, SIGTERM or quit
int g_wake = -1;                  // eventfd that says so

// Async-signal-safe: a store and a write.
void ask_to_stop(int /*signal*/) {
  g_stop = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(g_wake, &one, sizeof one);
}

bool stopping() {
  return g_stop;
}

int complain(const Error& error) {
  fmt::print(stderr, "xbond: {}\n", error.text);
  return EXIT_FAILURE;
}

Status catch_signals() {
  g_wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (g_wake < 0) {
    return fail(errno, "eventfd failed");
  }
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);  // a reader of stdout or of the socket went away: write() says so
  return {};
}

std::vector<std::string> device_names(const Options& options) {
  std::vector<std::string> names;
  for (const PortOption& port : options.ports) {
    names.push_back(port.device);
  }
  for (const BondOption& bond : options.bonds) {
    names.insert(names.end(), bond.members.begin(), bond.members.end());
  }
  return names;
}

// What runs on the control thread: start file, console or just services, until told to stop.
class Control {
 public:
  Control(const Options& options, Appliance& appliance, control::Notices& notices)
      : options_(options), appliance_(appliance), notices_(notices) {}

  Status prepare() {
    add_commands(table_, appliance_, [] { ask_to_stop(0); });
    if (options_.control_socket.empty()) {
      return {};
    }
    auto socket = control::SocketServer::open(options_.control_socket, table_);
    if (!socket) {
      return socket.error();
    }
    socket_ = std::move(socket.value());
    return {};
  }

  static void* main(void* self) {
    auto* control = static_cast<Control*>(self);
    control->run();
    control->appliance_.leave();
    (void)control->appliance_.stop();
    fmt::print("{}", stats_text(control->appliance_));
    std::fflush(stdout);
    control->appliance_.workers().end_service();
    return nullptr;
  }

  [[nodiscard]] int status() const { return status_; }

 private:
  void run() {
    if (!options_.cmdline_file.empty()) {
      if (Status ok = control::run_file(table_, options_.cmdline_file, stopping); !ok) {
        status_ = complain(ok.error());
        return;
      }
    }
    if (stopping()) {
      return;
    }
    // As testpmd: without a console forwarding starts by itself.
    if ((options_.auto_start || !options_.interactive) && !appliance_.started()) {
      if (Status ok = appliance_.start(); !ok) {
        status_ = complain(ok.error());
        return;
      }
    }
    const control::Services services{.notices = &notices_, .socket = socket_.get(), .mailbox = &appliance_.mailbox()};
    if (options_.interactive) {
      control::run_console(table_, g_wake, stopping, services);
    } else {
      serve(services);
    }
  }

  // Without a console: print statistics every --stats-period, else only wait.
  void serve(const control::Services& services) {
    const UniqueFd both(epoll_create1(EPOLL_CLOEXEC));
    const UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    itimerspec period{};
    period.it_value.tv_sec = period.it_interval.tv_sec = options_.stats_period;
    timerfd_settime(timer.get(), 0, &period, nullptr);
    for (const int fd : {g_wake, timer.get()}) {
      epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
      epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &event);
    }
    while (!stopping()) {
      control::run_services(both.get(), stopping, services);
      uint64_t expirations = 0;
      if (read(timer.get(), &expirations, sizeof expirations) > 0) {
        fmt::print("{}", stats_text(appliance_));
        std::fflush(stdout);
      }
    }
  }

  const Options& options_;
  Appliance& appliance_;
  control::Notices& notices_;
  control::CommandTable table_;
  std::unique_ptr<control::SocketServer> socket_;
  int status_ = EXIT_SUCCESS;
};

int run(const Options& options, const std::string& program) {
  if (Status ok = catch_signals(); !ok) {
    return complain(ok.error());
  }
  auto eal = port::Eal::init(program, port::eal_arguments(options.eal, device_names(options)));
  if (!eal) {
    return complain(eal.error());
  }
  auto notices = control::Notices::create();
  if (!notices) {
    return complain(notices.error());
  }
  auto appliance = Appliance::create(options, [&](const std::string& line) { notices.value()->post(line); });
  if (!appliance) {
    return complain(appliance.error());
  }
  Control control(options, *appliance.value(), *notices.value());
  if (Status ok = control.prepare(); !ok) {
    return complain(ok.error());
  }
  pthread_t thread{};
  if (const int rc = rte_ctrl_thread_create(&thread, "xbond-control", nullptr, &Control::main, &control); rc != 0) {
    return complain(fail(-rc, "the control thread cannot be started"));
  }
  appliance.value()->workers().serve_main_lcore();
  pthread_join(thread, nullptr);
  return control.status();
}

int main_with(const std::vector<std::string>& arguments, const std::string& program) {
  auto options = parse_options(arguments);
  if (!options) {
    return complain(options.error());
  }
  if (options->help) {
    fmt::print("{}", help_text());
    return EXIT_SUCCESS;
  }
  if (options->version) {
    fmt::print("xbond {}\n", XBOND_VERSION);
    return EXIT_SUCCESS;
  }
  if (options->check) {
    if (Status ok = check_configuration(*options); !ok) {
      return complain(ok.error());
    }
    fmt::print("configuration is valid\n");
    return EXIT_SUCCESS;
  }
  return run(*options, program);
}

}  // namespace
}  // namespace xbond::app

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // line by line, also into a pipe
  return xbond::app::main_with({argv + 1, argv + argc}, argc > 0 ? argv[0] : "xbond");
}
