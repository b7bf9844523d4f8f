#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tags.sh DISK: how many tags of the scheduler 128 direct random writes hold at once, under the present scheduler. In a guest:
#
#     schedlab kernel exec --device hp97560 --scheduler bfq:after=none --time-travel plain -- sh kernel/tests/tags.sh disk0
#
# The writes are synchronous, so what they may hold is limited by the scheduler. Needs fio.
disk=$1
fio --clocksource=clock_gettime --name=writes --filename="/dev/$disk" --rw=randwrite --direct=1 --ioengine=io_uring --iodepth=128 \
	--bs=4k --size=64M --time_based --runtime=30 --output=/dev/null >/dev/null 2>&1 &
writes=$!
most=0
# From the first write on; fio takes a while to start.
left=15
while [ "$left" -gt 0 ] && kill -0 "$writes"; do
	sleep 0.05
	while IFS='=' read -r name value; do
		[ "$name" != busy ] || [ "$value" -le "$most" ] || most=$value
	done <"/sys/kernel/debug/block/$disk/hctx0/sched_tags"
	[ "$most" = 0 ] || left=$((left - 1))
done
kill "$writes"
wait "$writes"
scheduler=$(sed 's/.*\[\(.*\)\].*/\1/' "/sys/block/$disk/queue/scheduler")
echo "Linux $(uname -r), $scheduler: $most of $(cat "/sys/block/$disk/queue/nr_requests") tags"
