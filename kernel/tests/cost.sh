#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# cost.sh PROGRAM MHZ [ROUNDS]: CPU time of a request under each scheduler, in a guest with schedlab's modules. PROGRAM is cost.c, compiled
# on the machine outside; MHZ is the rate of its counter of cycles:
#
#     cc -O2 -o /var/tmp/cost kernel/tests/cost.c
#     schedlab kernel exec --device hp97560 --time-travel plain -- \
#         sh kernel/tests/cost.sh /var/tmp/cost "$(awk '/MHz/ { print $4; exit }' /proc/cpuinfo)"
#
# Prints for each scheduler the least, tenth percentile and median of nanoseconds over all batches, of the round with the smallest tenth percentile.
set -u
program=${1:?usage: cost.sh PROGRAM MHZ [ROUNDS]}
mhz=${2:?usage: cost.sh PROGRAM MHZ [ROUNDS]}
insmod "$SCHEDLAB_MODULES/null_blk.ko" irqmode=0 hw_queue_depth=64 nr_devices=1 gb=4 || exit 1
for name in occupancy anticipatory; do
	insmod "$SCHEDLAB_MODULES/$name-iosched.ko" || exit 1
done
for round in $(seq "${3:-5}"); do
	for scheduler in none kyber mq-deadline bfq anticipatory occupancy; do
		echo "$scheduler" >/sys/block/nullb0/queue/scheduler || exit 1
		echo "$scheduler $("$program" /dev/nullb0 "$mhz")"
	done
done | sort -n -k 3 | awk '!seen[$1]++'
