#!/usr/bin/env python3
"""A steady numbered UDP flow, and what became of it.

    flow.py send ADDRESS PORT COUNT INTERVAL-MS LOG     one datagram each interval; LOG gets "number ns" when sent
    flow.py receive PORT LOG                            LOG gets "number ns" on arrival, until SIGTERM
    flow.py carrier INTERFACE LOG                       LOG gets "down|up ns" as the kernel reports it, until SIGTERM
    flow.py judge SENT RECEIVED [FROM-NS TO-NS]         prints and checks: no duplicate, no reorder, and what was lost
                                                        was sent between the two moments (nothing when none are given)
    flow.py echo PORT | ping-udp ADDRESS PORT           answers datagrams; asks once, exit status 0 when answered
    flow.py ask-many ADDRESS PORT FLOWS                 asks from as many ports; prints how many were answered
    flow.py flood INTERFACE MAC PER-SECOND SECONDS      datagrams of many flows straight onto a link; prints how many

Times are of CLOCK_MONOTONIC, which all network namespaces share.
"""
import os
import select
import signal
import socket
import struct
import sys
import time


def log(path):
    return open(path, "w", buffering=1)


def send(address, port, count, interval_ms, path):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.connect((address, port))
    start = time.monotonic_ns()
    with open(path, "w") as sent:
        for number in range(count):
            due = start + int(number * interval_ms * 1e6)
            while (left := due - time.monotonic_ns()) > 0:
                time.sleep(left / 1e9)
            now = time.monotonic_ns()
            try:
                link.send(struct.pack(">Q", number) + bytes(56))
            except OSError:  # the peer's ICMP error, or no carrier: the datagram counts as lost
                pass
            sent.write(f"{number} {now}\n")


def receive(port, path):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    link.bind(("", port))
    with log(path) as received:
        while True:
            data = link.recv(2048)
            received.write(f"{struct.unpack_from('>Q', data)[0]} {time.monotonic_ns()}\n")


def carrier(interface, path):
    rtnetlink, link_group, lower_up = 0, 1, 0x10000
    index = socket.if_nametoindex(interface)
    notices = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, rtnetlink)
    notices.bind((0, link_group))
    with log(path) as out:
        out.write("watching\n")
        last = None
        while True:
            data = notices.recv(65536)
            now = time.monotonic_ns()
            # struct nlmsghdr, then struct ifinfomsg: family, type, index, flags, change
            if len(data) >= 32 and struct.unpack_from("=i", data, 20)[0] == index:
                state = "up" if struct.unpack_from("=I", data, 24)[0] & lower_up else "down"
                if state != last:
                    out.write(f"{state} {now}\n")
                last = state


def read(path):
    return [tuple(map(int, line.split())) for line in open(path)]


def judge(sent_path, received_path, first=None, last=None):
    sent, received = dict(read(sent_path)), [number for number, _ in read(received_path)]
    duplicates = len(received) - len(set(received))
    reordered = sum(1 for before, after in zip(received, received[1:]) if after < before)
    lost = sorted(set(sent) - set(received))
    print(f"sent {len(sent)}, received {len(received)}, lost {len(lost)}, duplicates {duplicates}, reordered {reordered}")
    ok = len(sent) > 0 and duplicates == 0 and reordered == 0
    outside = [number for number in lost if first is None or not first <= sent[number] <= last]
    if lost and first is not None:
        print(f"the lost were sent within {(sent[lost[-1]] - sent[lost[0]]) / 1e6:.1f} ms")
    if outside:
        away = [max(first - sent[n], sent[n] - last) / 1e6 for n in outside] if first is not None else []
        print(f"{len(outside)} were not under way: {outside[:10]}" + (f", up to {max(away):.1f} ms away" if away else ""))
    return 0 if ok and not outside else 1


def echo(port):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind(("", port))
    while True:
        data, peer = link.recvfrom(2048)
        link.sendto(data, peer)


def ask(address, port):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.settimeout(0.5)
    link.connect((address, port))
    question = os.urandom(16)
    for _ in range(3):
        try:
            link.send(question)
            if link.recv(2048) == question:
                return 0
        except OSError:
            pass
    return 1


def ask_many(address, port, flows):
    links = []
    for _ in range(flows):
        link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.connect((address, port))
        link.setblocking(False)
        links.append(link)
    answered = set()
    for _ in range(3):
        for link in links:
            if link not in answered:
                link.send(b"question")
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline and len(answered) < flows:
            waiting = [link for link in links if link not in answered]
            for link in select.select(waiting, [], [], 0.1)[0]:
                link.recv(2048)
                answered.add(link)
    return len(answered)


def flood(interface, mac, per_second, seconds):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((interface, 0))
    header = bytes.fromhex(mac.replace(":", "")) + bytes.fromhex("0200000000ee0800")
    frames = []
    for flow in range(256):
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, bytes([10, 9, 0, flow]), bytes([10, 9, 1, 1]))
        frames.append(header + ip + struct.pack(">HHHH", 1000 + flow, 9, 26, 0) + bytes(18))
    sent, start = 0, time.monotonic()
    while (elapsed := time.monotonic() - start) < seconds:
        for _ in range(min(256, int(elapsed * per_second) - sent)):
            link.send(frames[sent % len(frames)])
            sent += 1
        time.sleep(0.0005)
    print(sent)


def main(arguments):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    match arguments:
        case ["send", address, port, count, interval, path]:
            send(address, int(port), int(count), float(interval), path)
        case ["receive", port, path]:
            receive(int(port), path)
        case ["carrier", interface, path]:
            carrier(interface, path)
        case ["judge", sent, received]:
            return judge(sent, received)
        case ["judge", sent, received, first, last]:
            return judge(sent, received, int(first), int(last))
        case ["echo", port]:
            echo(int(port))
        case ["ping-udp", address, port]:
            return ask(address, int(port))
        case ["flood", interface, mac, per_second, seconds]:
            flood(interface, mac, int(per_second), float(seconds))
        case ["ask-many", address, port, flows]:
            print(ask_many(address, int(port), int(flows)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
