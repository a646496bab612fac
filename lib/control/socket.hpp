// The control socket: a local stream socket, mode 0600. A client sends commands, one a line, and gets for each its
// output and then a line "OK" or "ERROR text". Thread: control, by its event loop; no client can make it wait: what a
// client does not take stays queued for it, and it is not listened to before it has taken it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "bpf_compat/result.hpp"
#include "lib/control/command.hpp"
#include "lib/control/event_loop.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::control {

class SocketServer {
 public:
  static constexpr size_t kMaxClients = 16;

  // Listens at `path`. A socket file that is there is replaced only if nobody listens on it. `table` must outlive the
  // server. Errors: ENAMETOOLONG, EADDRINUSE somebody listens, EEXIST something else has that name, bind's errno.
  static Result<std::unique_ptr<SocketServer>> open(const std::string& path, const CommandTable& table);
  // Removes the socket file if it is still this server's.
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  // `loop` must live until detach(). Between the two clients stay connected, but are not served.
  Status attach(EventLoop& loop);
  void detach();

 private:
  struct Client;
  SocketServer(std::string path, const CommandTable& table, UniqueFd listener);
  void accept_clients();
  void admit(UniqueFd connection);
  Status watch(int fd, const Client& client);
  void serve(int fd, uint32_t events);
  void receive(Client& client);
  void answer(Client& client);
  void send(Client& client);
  void listen_or_close(int fd);

  std::string path_;
  const CommandTable& table_;
  UniqueFd listener_;
  unsigned long device_ = 0, inode_ = 0;  // of the socket file
  EventLoop* loop_ = nullptr;
  std::map<int, std::unique_ptr<Client>> clients_;
};

}  // namespace xbond::control
