#!/usr/bin/env python3
"""Captures for the scenarios.

    pcap.py golden CSV OUT.pcap                         every frame of the golden file, in its order
    pcap.py by-member CSV POLICY OUT0.pcap OUT1.pcap... each frame is in the capture of the member that the golden hash
                                                        names (hash modulo members), each capture in the file's order
    pcap.py frames OUT.pcap COUNT                       COUNT numbered UDP frames of 64 bytes
    pcap.py bonding OUT.pcap [vary-ip]                  the 100 UDP frames of the kernel's xdp_bonding self-test: each has
                                                        another port, and with vary-ip another destination address
    pcap.py deal IN.pcap OUT0.pcap OUT1.pcap...         the frames in turn
    pcap.py count FILE.pcap                             how many frames it holds
    pcap.py same A.pcap B.pcap                          "N equal" when both hold the same N frames in the same order
"""
import csv
import socket
import struct
import sys


def write(path, frames):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(frames):
            out.write(struct.pack("<IIII", number // 1000000, number % 1000000, len(frame), len(frame)) + frame)


def read(path):
    data = open(path, "rb").read()
    magic = struct.unpack_from("<I", data)[0]
    if magic not in (0xA1B2C3D4, 0xA1B23C4D):
        raise SystemExit(f"{path}: not a little-endian capture")
    frames, at = [], 24
    while at < len(data):
        captured, length = struct.unpack_from("<II", data, at + 8)
        if captured != length or at + 16 + captured > len(data):
            raise SystemExit(f"{path}: frame {len(frames)} is cut")
        frames.append(data[at + 16:at + 16 + captured])
        at += 16 + captured
    return frames


def golden(path):
    with open(path, newline="") as rows:
        return [(row, bytes.fromhex(row["hex"])) for row in csv.DictReader(rows)]


def by_member(path, policy, captures):
    wanted = [[] for _ in captures]
    for row, frame in golden(path):
        wanted[int(row["xdp:" + policy], 16) % len(captures)].append((row["frame"], frame))
    wrong = 0
    for member, (capture, frames) in enumerate(zip(captures, wanted)):
        got = read(capture)
        if got == [frame for _, frame in frames]:
            print(f"member {member}: {len(got)} frames, all as golden and in order")
            continue
        wrong += 1
        print(f"member {member}: {len(got)} frames, golden has {len(frames)}")
        for position, (name, frame) in enumerate(frames):
            if position >= len(got) or got[position] != frame:
                print(f"  first difference at {position}: golden has {name} {frame[:48].hex()}...")
                break
    return 1 if wrong else 0


def numbered(count):
    for number in range(count):
        payload = struct.pack(">I", number) + bytes(18)
        udp = struct.pack(">HHHH", 1024 + number % 256, 9, 8 + len(payload), 0) + payload
        header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number & 0xFFFF, 0, 64, 17, 0,
                             socket.inet_aton("10.9.0.1"), socket.inet_aton("10.9.0.2"))
        words = struct.unpack(">10H", header)
        total = sum(words)
        total = (total & 0xFFFF) + (total >> 16)
        header = header[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + header[12:]
        yield bytes.fromhex("020000000002" "020000000001" "0800") + header + udp


def bonding(vary_ip):
    for number in range(1, 101):
        udp = struct.pack(">HHHH", 0, number, 0, 0)
        header = struct.pack(">BBHHHBBHII", 0x45, 16, 114, 0x0100, 0, 64, 17, 0, 0x01000000,
                             0x02000000 + (number << 24) * vary_ip)
        yield (bytes.fromhex("002233445566" "001122334455" "0800") + header + udp).ljust(128, b"\0")


def main(arguments):
    match arguments:
        case ["golden", path, out]:
            write(out, [frame for _, frame in golden(path)])
        case ["by-member", path, policy, *captures] if captures:
            return by_member(path, policy, captures)
        case ["frames", out, count]:
            write(out, numbered(int(count)))
        case ["bonding", out, *options] if options in ([], ["vary-ip"]):
            write(out, bonding(bool(options)))
        case ["deal", path, *outs] if outs:
            for place, out in enumerate(outs):
                write(out, read(path)[place::len(outs)])
        case ["count", path]:
            print(len(read(path)))
        case ["same", first, second]:
            frames, others = read(first), read(second)
            print(f"{len(frames)} equal" if frames == others else f"{len(frames)} and {len(others)} frames, not the same")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
