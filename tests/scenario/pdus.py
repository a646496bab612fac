#!/usr/bin/env python3
"""When LACP PDUs arrive, and how evenly.

    pdus.py listen INTERFACE LOG               each LACP PDU's arrival by the kernel's clock, "ns", to LOG until SIGTERM; its
                                               first line says that it listens
    pdus.py judge SECONDS FROM TO LOG...       the spacings between two moments (ns of CLOCK_REALTIME) as a histogram of
                                               every link together, with the least and the greatest; status 1 when one
                                               is not within 5 % of SECONDS, or too few arrived
"""
import collections
import signal
import socket
import struct
import sys

SLOW_PROTOCOLS, LACP = 0x8809, 1
SO_TIMESTAMPNS = 35
BUCKET_MS = 5


def listen(interface, path):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(SLOW_PROTOCOLS))
    link.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    link.bind((interface, SLOW_PROTOCOLS))
    with open(path, "w", buffering=1) as out:
        out.write("listening\n")
        while True:
            frame, extra, _, _ = link.recvmsg(256, 64)
            if len(frame) < 15 or frame[14] != LACP:
                continue
            for level, kind, data in extra:
                if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                    seconds, nanoseconds = struct.unpack("@qq", data)
                    out.write(f"{seconds * 10**9 + nanoseconds}\n")


def judge(seconds, start, end, paths):
    spacings, wrong = [], []
    for path in paths:
        times = [int(line) for line in open(path).read().splitlines()[1:]]
        times = [time for time in times if start <= time <= end]
        if len(times) < (end - start) / 1e9 / seconds - 2:
            wrong.append(f"{path}: {len(times)} PDUs in {(end - start) / 1e9:.0f} s")
        spacings += [(b - a) / 1e6 for a, b in zip(times, times[1:])]
    buckets = collections.Counter(int(spacing // BUCKET_MS) for spacing in spacings)
    for bucket, count in sorted(buckets.items()):
        print(f"    {bucket * BUCKET_MS:6} to {(bucket + 1) * BUCKET_MS:6} ms {count:5} {'#' * min(60, count)}")
    if spacings:
        print(f"    {len(spacings)} spacings, {min(spacings):.2f} to {max(spacings):.2f} ms")
        wrong += [f"a spacing of {spacing:.2f} ms" for spacing in spacings
                  if abs(spacing - 1000 * seconds) > 50 * seconds]
    for line in wrong:
        print(f"    {line}")
    return 1 if wrong else 0


def main(arguments):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    match arguments:
        case ["listen", interface, path]:
            listen(interface, path)
        case ["judge", seconds, start, end, *paths] if paths:
            return judge(float(seconds), int(start), int(end), paths)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
