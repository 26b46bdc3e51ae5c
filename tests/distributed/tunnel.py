"""A tunnel between two machines, in user space: what WireGuard or `ssh -w` do, but for the cipher.

    python tunnel.py OWN_TUNNEL_ADDRESS OWN_ADDRESS OTHER_ADDRESS

makes the interface `tun0` and carries its packets to the other end in UDP. Needs root and Linux.
"""

import fcntl
import os
import select
import socket
import struct
import subprocess
import sys

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
PORT, LARGEST = 51820, 65535


def main(inside: str, here: str, there: str) -> None:
    tunnel = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tunnel, TUNSETIFF, struct.pack("16sH", b"tun0", IFF_TUN | IFF_NO_PI))
    for command in (f"addr add {inside}/24 dev tun0", "link set tun0 mtu 1400 up"):
        subprocess.run(["ip", *command.split()], check=True)
    outside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outside.bind((here, PORT))
    print("ready", flush=True)
    while True:
        for end in select.select([tunnel, outside], [], [])[0]:
            if end is tunnel:
                outside.sendto(os.read(tunnel, LARGEST), (there, PORT))
            else:
                os.write(tunnel, outside.recv(LARGEST))


if __name__ == "__main__":
    main(*sys.argv[1:])
