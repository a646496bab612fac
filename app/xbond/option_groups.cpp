#include <boost/program_options/value_semantic.hpp>
#include <sstream>

#include "app/xbond/option_source.hpp"
#include "app/xbond/options.hpp"

namespace xbond::app {
namespace {

namespace po = boost::program_options;

constexpr unsigned kWidth = 100, kDescriptionWidth = 58;

// Everything is taken as text and checked by our own rules, whose errors say what is allowed.
auto* value(const char* name, const char* shown_default = nullptr) {
  auto* semantic = po::value<std::string>()->value_name(name);
  return shown_default == nullptr ? semantic : semantic->default_value(shown_default);
}

constexpr const char* kUsage =
    "xbond bonds ports in user space and runs XDP object files on every packet.\n"
    "\n"
    "Usage: xbond [EAL options] -- [options]\n"
    "       xbond [options]\n"
    "\n"
    "EAL options are DPDK's: -l CORES, -a PCI-DEVICE, --vdev NAME,ARGS, --file-prefix NAME, ... Without \"--\" all\n"
    "options are xbond's own. EAL gets what is not given by what the machine has: hugepages or none, no PCI scan\n"
    "unless a port is a PCI device.\n"
    "\n";

constexpr const char* kExamples =
    "\n"
    "PORT is a DPDK port number or device name: 0, 0000:3b:00.0, net_pcap0, net_af_packet0.\n"
    "A configuration file holds the same options, one a line: \"bond = bond0,mode=active-backup,member=0\",\n"
    "\"burst 64\", \"auto-start\"; # begins a comment. Repeatable options of both add up, the file's first; of the\n"
    "others the command line's wins.\n"
    "\n"
    "Examples:\n"
    "  Two NICs as one link, a load balancer on it, console on the terminal:\n"
    "    xbond --bond bond0,mode=balance-xor,xmit_hash_policy=layer3+4,member=0000:3b:00.0,member=0000:3b:00.1 \\\n"
    "          --xdp bond0=balancer.o:xdp_lb --rxq 4 --nb-cores 4 -i\n"
    "  Without a NIC, over two veth devices:\n"
    "    xbond --vdev net_af_packet0,iface=veth0 --vdev net_af_packet1,iface=veth1 -- \\\n"
    "          --bond bond0,mode=active-backup,miimon=100,member=net_af_packet0,member=net_af_packet1 -i\n"
    "  Check a configuration file and stop:\n"
    "    xbond --config /etc/xbond.conf --check\n";

}  // namespace

OptionGroups::OptionGroups()
    : ports("Ports and bonds", kWidth, kDescriptionWidth),
      xdp("XDP", kWidth, kDescriptionWidth),
      running("Running", kWidth, kDescriptionWidth),
      queues("Queues and cores (testpmd's names)", kWidth, kDescriptionWidth),
      other("Other", kWidth, kDescriptionWidth) {
  ports.add_options()                         //
      ("port", value("PORT[,KEY=VALUE]..."),  //
       "use a port by itself; repeatable. Keys: host=on|off (a kernel interface of its name for what programs "
       "pass; on), rxq, txq, rxd, txd, mtu, promiscuous=on|off (off)")  //
      ("bond", value("NAME[,OPTION=VALUE]..."),                         //
       "make a bond; repeatable. member=PORT for each member, and Linux' bonding options by name: "
       "mode (balance-rr), xmit_hash_policy, miimon, primary, ...")  //
      ("portmask", value("HEX"), "ports by number, as --port for each bit");
  xdp.add_options()                           //
      ("xdp", value("TARGET=OBJ[:PROGRAM]"),  //
       "attach a program of an XDP object file to a bond or port; repeatable. PROGRAM is a function or section "
       "name, needed where the object holds several")  //
      ("bpf-engine", value("ENGINE", "auto"),
       "auto, rte_bpf, llvm or interpreter; only by interpreter is a program run that the verifier refuses");
  running.add_options()                                                                               //
      ("interactive,i", "console on the terminal, or commands from stdin")                            //
      ("cmdline-file", value("FILE"), "run the console commands of this file first")                  //
      ("auto-start,a", "start forwarding at once, also with --interactive")                           //
      ("control-socket", value("PATH"), "take console commands on a local socket, mode 0600")         //
      ("stats-period", value("SECONDS", "0"), "print statistics every so often, 0..86400; 0: never")  //
      ("config", value("FILE"), "read options from a file")                                           //
      ("check", "check everything that is given, run nothing; exit status 0 or 1");
  queues.add_options()                                                                                  //
      ("rxq", value("N"), "receive queues per port, 1..1024; default: one per core")                    //
      ("txq", value("N"), "transmit queues per port, 1..1024; default: one per core, one for control")  //
      ("rxd", value("N", "1024"), "descriptors per receive queue, 1..32768")                            //
      ("txd", value("N", "1024"), "descriptors per transmit queue, 1..32768")                           //
      ("burst", value("N", "32"), "packets per burst, 1..128")                                          //
      ("nb-cores", value("N", "1"), "forwarding cores, 1..128");
  other.add_options()          //
      ("help,h", "this text")  //
      ("version", "version of xbond");
}

po::options_description OptionGroups::all() const {
  po::options_description all;
  all.add(ports).add(xdp).add(running).add(queues).add(other);
  return all;
}

std::string help_text() {
  const OptionGroups groups;
  std::ostringstream text;
  text << kUsage << groups.ports << '\n' << groups.xdp << '\n' << groups.running << '\n';
  text << groups.queues << '\n' << groups.other << kExamples;
  return text.str();
}

}  // namespace xbond::app
