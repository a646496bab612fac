#!/usr/bin/env python3
"""What arrives on interfaces, and what a test sends.

    capture.py listen INTERFACE FILE          each UDP frame's "source-mac port serial" to FILE until SIGTERM; FILE's
                                              first line says that it listens
    capture.py flows NETWORK FLOWS COUNT      COUNT numbered datagrams for each of FLOWS ports, flow after flow in turn, to
                                              the addresses NETWORK2 to NETWORK9
    capture.py judge MODE FLOWS COUNT FILE... what members got, by the rules of the mode: "ok …", or what is wrong
"""
import signal
import socket
import struct
import sys
import time

FIRST_PORT = 9000


def listen(interface, path):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    link.bind((interface, 0))
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    with open(path, "w", buffering=1) as out:
        out.write("listening\n")
        while True:
            frame = link.recv(2048)
            if frame[12:14] != b"\x08\x00" or frame[23] != 17:
                continue
            port = struct.unpack_from(">H", frame, 36)[0]
            if port >= FIRST_PORT and len(frame) >= 50:
                out.write(f"{frame[6:12].hex(':')} {port} {struct.unpack_from('>I', frame, 42)[0]}\n")


def flows(network, count_flows, count):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for serial in range(count):
        for flow in range(count_flows):
            link.sendto(struct.pack(">I", serial) + bytes(20), (f"{network}{2 + flow // 4 % 8}", FIRST_PORT + flow))
        time.sleep(0.002)


def read(path):
    rows = [line.split() for line in open(path).read().splitlines()[1:]]
    return [(mac, int(port), int(serial)) for mac, port, serial in rows]


def judge(mode, count_flows, count, paths):
    members = [read(path) for path in paths]
    wanted = {(FIRST_PORT + flow, serial) for flow in range(count_flows) for serial in range(count)}
    wrong = []
    seen = [[(port, serial) for _, port, serial in rows] for rows in members]
    for number, rows in enumerate(seen):
        if len(rows) != len(set(rows)):
            wrong.append(f"member {number} got a frame twice")
        for flow in range(count_flows):
            serials = [serial for port, serial in rows if port == FIRST_PORT + flow]
            if serials != sorted(serials):
                wrong.append(f"member {number}: flow {flow} out of order")
    if mode == "broadcast":
        wrong += [f"member {number} got {len(rows)} of {len(wanted)}" for number, rows in enumerate(seen)
                  if set(rows) != wanted]
    else:
        every = [frame for rows in seen for frame in rows]
        if sorted(every) != sorted(wanted):
            wrong.append(f"{len(every)} frames left, {len(wanted)} were sent")
    counts = [len(rows) for rows in seen]
    if mode == "balance-rr" and max(counts) - min(counts) > 1:
        wrong.append("round robin is uneven")
    if mode == "active-backup" and 0 not in counts:
        wrong.append("the backup sent")
    if mode in ("balance-xor", "balance-tlb", "balance-alb"):
        if 0 in counts:
            wrong.append("a member sent nothing")
        carriers = [{port for port, _ in rows} for rows in seen]
        if any(a & b for i, a in enumerate(carriers) for b in carriers[i + 1:]):
            wrong.append("a flow on two members")
    macs = [{mac for mac, _, _ in rows} for rows in members]
    if mode in ("balance-tlb", "balance-alb"):
        if any(len(own) != 1 for own in macs) or len(set.union(*macs)) != len(macs):
            wrong.append("members don't send from addresses of their own")
    elif len(set.union(*macs)) != 1:
        wrong.append("members send from several addresses")
    print("; ".join(wrong) if wrong else f"ok {counts}")
    return 1 if wrong else 0


def main(arguments):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    match arguments:
        case ["listen", interface, path]:
            listen(interface, path)
        case ["flows", network, count_flows, count]:
            flows(network, int(count_flows), int(count))
        case ["judge", mode, count_flows, count, *paths] if paths:
            return judge(mode, int(count_flows), int(count), paths)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
