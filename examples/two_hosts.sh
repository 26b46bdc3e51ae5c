#!/usr/bin/env bash
# Two hosts of two ranks each, on one machine: two network namespaces joined by a virtual cable.
# On two real hosts, run the torchrun line on each, with its own --node-rank and the address of
# the first as --master-addr. Needs root and iproute2.
#
#     [RANKS=2] examples/two_hosts.sh [script and arguments for torchrun]
set -euo pipefail
RANKS=${RANKS:-2} # of each host
PYTHON=${PYTHON:-python3}
[ $# -gt 0 ] || set -- -m gossamer.train --data blobs --lr 0.1 --momentum 0.8 --steps 50
SCRIPT=("$@")
A=gossamer-a-$$ B=gossamer-b-$$
CABLE=g$$

cleanup() { ip netns del "$A" 2> /dev/null || true; ip netns del "$B" 2> /dev/null || true; }
trap cleanup EXIT
ip netns add "$A"
ip netns add "$B"
ip link add "${CABLE}a" netns "$A" type veth peer name "${CABLE}b" netns "$B"
ip -n "$A" addr add 10.77.0.1/24 dev "${CABLE}a"
ip -n "$B" addr add 10.77.0.2/24 dev "${CABLE}b"
ip -n "$A" link set "${CABLE}a" up
ip -n "$B" link set "${CABLE}b" up
ip -n "$A" link set lo up
ip -n "$B" link set lo up

on_host() { # namespace, end of the cable, node rank
    GLOO_SOCKET_IFNAME=$CABLE$2 OMP_NUM_THREADS=1 ip netns exec "$1" \
        "$PYTHON" -m torch.distributed.run --nnodes 2 --nproc-per-node "$RANKS" --node-rank "$3" \
        --master-addr 10.77.0.1 --master-port 29400 "${SCRIPT[@]}"
}
on_host "$B" b 1 &
on_host "$A" a 0
wait $!
