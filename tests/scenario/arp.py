#!/usr/bin/env python3
"""ARP behind a VLAN tag, on machines whose kernel has no VLAN devices.

    arp.py answer INTERFACE VLAN MAC ADDRESS CLIENT-MAC CLIENT-ADDRESS   sends the host's reply to a client
    arp.py heard INTERFACE VLAN CLIENT-ADDRESS FILE                      FILE gets the sender's MAC of each reply to that
                                                                         client, after a first line that says that it listens
"""
import socket
import struct
import sys

SOL_PACKET, PACKET_AUXDATA, VLAN_VALID = 263, 8, 0x10


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def answer(interface, vlan, own_mac, own, client_mac, client):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((interface, 0))
    arp = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 2)
    arp += mac(own_mac) + socket.inet_aton(own) + mac(client_mac) + socket.inet_aton(client)
    link.send(mac(client_mac) + mac(own_mac) + struct.pack(">HHH", 0x8100, vlan, 0x0806) + arp + bytes(18))


def heard(interface, vlan, client, path):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    link.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    link.bind((interface, 0))
    with open(path, "w", buffering=1) as out:
        out.write("listening\n")
        while True:
            frame, control, _, _ = link.recvmsg(2048, 256)
            # The kernel takes the tag out and tells of it beside the frame, or leaves it where it was.
            tag = None
            for level, kind, data in control:
                if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and struct.unpack_from("=I", data)[0] & VLAN_VALID:
                    tag = struct.unpack_from("=H", data, 16)[0]
            if frame[12:14] == b"\x81\x00":
                tag, frame = struct.unpack_from(">H", frame, 14)[0], frame[:12] + frame[16:]
            if tag == vlan and frame[12:14] == b"\x08\x06" and frame[38:42] == socket.inet_aton(client):
                out.write(f"{frame[22:28].hex(':')}\n")


def main(arguments):
    match arguments:
        case ["answer", interface, vlan, own_mac, own, client_mac, client]:
            answer(interface, int(vlan), own_mac, own, client_mac, client)
        case ["heard", interface, vlan, client, path]:
            heard(interface, int(vlan), client, path)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
