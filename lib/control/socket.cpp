#include "lib/control/socket.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "lib/control/line_reader.hpp"
#include "lib/control/tokenize.hpp"

namespace xbond::control {
namespace {

// Lines of one client that are run before the others get their turn.
constexpr int kLinesPerTurn = 64;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(ENAMETOOLONG,
                fmt::format("control socket {}: the path must have 1 to {} bytes", path, sizeof address.sun_path - 1));
  }
  std::memcpy(static_cast<char*>(address.sun_path), path.data(), path.size());
  return address;
}

Error socket_error(const std::string& path, std::string_view what, int code) {
  return fail(code, fmt::format("control socket {}: {}: {}", path, what, std::strerror(code)));
}

int bind_to(const UniqueFd& socket, const sockaddr_un& address) {
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);  // the API's own cast
  return ::bind(socket.get(), generic, sizeof address) == 0 ? 0 : errno;
}

// Removes the file at `path` if it is a socket on which nobody listens.
Status remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return socket_error(path, "cannot look at it", errno);
  if (!S_ISSOCK(status.st_mode)) {
    return fail(EEXIST, fmt::format("control socket {}: there is something else of that name", path));
  }
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return socket_error(path, "cannot make a socket", errno);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const bool refused = ::connect(probe.get(), generic, sizeof address) != 0 && errno == ECONNREFUSED;
  if (!refused) {
    return fail(EADDRINUSE, fmt::format("control socket {}: another process listens on it", path));
  }
  if (::unlink(path.c_str()) != 0) return socket_error(path, "cannot remove the stale one", errno);
  return {};
}

// An answer is one line.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

struct SocketServer::Client {
  explicit Client(UniqueFd connection) : fd(std::move(connection)) {}
  UniqueFd fd;
  LineReader reader{kMaxLine};
  std::string out;  // not yet taken by the client, from `sent` on
  size_t sent = 0;
  bool ended = false;   // it sends no more
  bool broken = false;  // it is gone
  bool more = false;    // whole lines may be left in `reader`

  [[nodiscard]] bool idle() const { return out.empty() && !more; }
  // EPOLLOUT also brings the next turn for lines that are left over: the socket is writable then.
  [[nodiscard]] uint32_t interest() const { return idle() ? EPOLLIN : EPOLLOUT; }
};

SocketServer::SocketServer(std::string path, const CommandTable& table, UniqueFd listener)
    : path_(std::move(path)), table_(table), listener_(std::move(listener)) {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
}

SocketServer::~SocketServer() {
  detach();
  struct stat status {};
  if (::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
}

Result<std::unique_ptr<SocketServer>> SocketServer::open(const std::string& path, const CommandTable& table) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address) return address.error();
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return socket_error(path, "cannot make a socket", errno);
  // Linux gives the file the socket's own mode: there is no moment at which others could connect.
  if (::fchmod(listener.get(), S_IRUSR | S_IWUSR) != 0) return socket_error(path, "cannot set its mode", errno);

  int code = bind_to(listener, *address);
  if (code == EADDRINUSE) {
    if (Status removed = remove_stale(path, *address); !removed) return removed.error();
    code = bind_to(listener, *address);
  }
  if (code != 0) return socket_error(path, "cannot make it", code);
  if (::listen(listener.get(), static_cast<int>(kMaxClients)) != 0) {
    code = errno;
    ::unlink(path.c_str());
    return socket_error(path, "cannot listen", code);
  }
  return std::unique_ptr<SocketServer>(new SocketServer(path, table, std::move(listener)));
}

Status SocketServer::attach(EventLoop& loop) {
  detach();
  loop_ = &loop;
  Status watched = loop.watch(listener_.get(), EPOLLIN, [this](uint32_t) { accept_clients(); });
  for (auto client = clients_.begin(); watched && client != clients_.end(); ++client) {
    watched = watch(client->first, *client->second);
  }
  return watched;
}

void SocketServer::detach() {
  if (loop_ == nullptr) return;
  loop_->forget(listener_.get());
  for (const auto& [fd, client] : clients_) loop_->forget(fd);
  loop_ = nullptr;
}

Status SocketServer::watch(int fd, const Client& client) {
  return loop_->watch(fd, client.interest(), [this, fd](uint32_t events) { serve(fd, events); });
}

void SocketServer::accept_clients() {
  // As many as can be waiting; a flood beyond that comes with the next event.
  for (size_t i = 0; i < kMaxClients; ++i) {
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!connection) return;
    admit(std::move(connection));
  }
}

void SocketServer::admit(UniqueFd connection) {
  if (clients_.size() >= kMaxClients) {
    const std::string refusal = fmt::format("ERROR {} clients are connected already\n", kMaxClients);
    ::send(connection.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  const int fd = connection.get();
  auto client = std::make_unique<Client>(std::move(connection));
  if (watch(fd, *client)) clients_[fd] = std::move(client);
}

void SocketServer::serve(int fd, uint32_t events) {
  const auto found = clients_.find(fd);
  if (found == clients_.end()) return;
  Client& client = *found->second;
  // Only one that has taken all its answers is listened to: this bounds what is queued for it to one answer.
  send(client);
  if (client.idle() && !client.ended && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive(client);
  answer(client);
  listen_or_close(fd);
}

void SocketServer::receive(Client& client) {
  std::array<char, 65536> chunk{};
  const ssize_t got = ::recv(client.fd.get(), chunk.data(), chunk.size(), 0);
  if (got > 0) {
    client.reader.feed({chunk.data(), static_cast<size_t>(got)});
  } else if (got == 0) {
    client.ended = true;
    client.reader.end();
  } else {
    client.broken = errno != EAGAIN && errno != EINTR;
    return;
  }
  client.more = true;
}

void SocketServer::answer(Client& client) {
  std::string line;
  for (int turn = 0; client.more && client.out.empty() && !client.broken && turn < kLinesPerTurn; ++turn) {
    const LineReader::Next next = client.reader.next(line);
    if (next == LineReader::Next::nothing) {
      client.more = false;
      return;
    }
    const Status ran = next == LineReader::Next::too_long
                           ? Status(fail(E2BIG, fmt::format("line is longer than {} bytes", kMaxLine)))
                           : table_.run(line, client.out);
    if (!client.out.empty() && !client.out.ends_with('\n')) client.out += '\n';
    client.out += ran ? std::string("OK\n") : "ERROR " + one_line(ran.error().text) + '\n';
    send(client);
  }
}

void SocketServer::send(Client& client) {
  while (client.sent < client.out.size()) {
    const ssize_t taken = ::send(client.fd.get(), client.out.data() + client.sent, client.out.size() - client.sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) {
      client.broken = errno != EAGAIN;
      return;
    }
    client.sent += static_cast<size_t>(taken);
  }
  client.out.clear();
  client.out.shrink_to_fit();  // one dump must not stay allocated for a client's life
  client.sent = 0;
}

void SocketServer::listen_or_close(int fd) {
  const auto found = clients_.find(fd);
  if (found == clients_.end()) return;
  const Client& client = *found->second;
  if (client.broken || (client.ended && client.idle())) {
    loop_->forget(fd);
    clients_.erase(found);
    return;
  }
  loop_->change(fd, client.interest());
}

}  // namespace xbond::control
