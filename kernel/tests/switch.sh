#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# switch.sh DISK N IOS MODULE.ko: N switches of the scheduler, most of them to occupancy, and at least IOS requests.
#
# Like stress.sh, with fio as the load and no process started for a switch, since that takes most of the time in a guest with KASAN.
# DISK has 4 GiB, is overwritten, and takes discards. Run it in a guest with `--time-travel plain`, as fio polls the clock.
# Prints CLEAN or TROUBLE at the end, and the lines of the kernel's log that tell of it. SEED=number repeats a sequence of choices.
set -u
disk=${1:?usage: switch.sh DISK N IOS MODULE.ko}
count=${2:?usage: switch.sh DISK N IOS MODULE.ko}
least=${3:?usage: switch.sh DISK N IOS MODULE.ko}
module=${4:?usage: switch.sh DISK N IOS MODULE.ko}
queue=/sys/block/$disk/queue
seed=${SEED:-7}
lines=$(dmesg | wc -l)

. "$(dirname "$0")/common.sh"

# Requests that the disk has completed, in $ios.
count_ios() {
	read -r reads _ _ _ writes _ _ _ _ _ _ discards _ <"/sys/block/$disk/stat"
	ios=$((reads + writes + discards))
}

start_fio() {
	fio --output=/dev/null --filename="/dev/$disk" --time_based --runtime=100000 --size=512m --bs=4k \
		--name=rr --rw=randread --ioengine=libaio --direct=1 --iodepth=32 --offset=0 \
		--name=rw --rw=randrw --ioengine=libaio --direct=1 --iodepth=4 --bsrange=4k-64k --offset=1g --prioclass=1 --prio=2 \
		--name=sr --rw=read --ioengine=psync --direct=1 --offset=2g --bs=16k \
		--name=bw --rw=write --ioengine=psync --direct=0 --fsync=64 --offset=3g --prio=7 --prioclass=2 \
		--name=tr --rw=randtrim --ioengine=psync --direct=1 --offset=3g --thinktime=20000 2>/dev/null &
	fio=$!
}

insmod "$module" internal=1 || exit 1
start_fio
sleep 1
n=0
to_occupancy=0
refused=0
while [ $n -lt "$count" ]; do
	set -- none occupancy mq-deadline occupancy bfq occupancy kyber
	choose $#
	shift "$random"
	echo "$1" >"$queue/scheduler"
	read -r now <"$queue/scheduler"
	case $now in *"[$1]"*) ;; *)
		echo "asked for $1, got $now"
		refused=$((refused + 1))
		;;
	esac
	[ "$1" = occupancy ] && to_occupancy=$((to_occupancy + 1))
	n=$((n + 1))
	choose 4
	case $random in
	0) change_depth ;;
	1) [ "$1" = occupancy ] && {
		choose 5
		set -- fairness holds anticipation positions credit
		shift "$random"
		choose 2
		echo "$random" >"$queue/iosched/$1"
	} ;;
	2) sleep 0.02 ;;
	esac 2>/dev/null
	if [ $((n % 100)) = 99 ]; then
		echo none >"$queue/scheduler"
		rmmod occupancy_iosched
		insmod "$module" internal=1
		kill $fio
		wait $fio
		start_fio
		count_ios
		echo "$n switches, $to_occupancy to occupancy, $ios requests"
	fi
done
echo none >"$queue/scheduler"
echo occupancy >"$queue/scheduler"
count_ios
while [ "$ios" -lt "$least" ]; do
	sleep 2
	count_ios
done
kill $fio
wait $fio
echo none >"$queue/scheduler"
rmmod occupancy_iosched
locks_checked || echo "note: the kernel does not check locks any more"
if trouble || [ "$refused" -gt 0 ]; then
	echo "TROUBLE after $n switches, $refused refused"
	exit 1
fi
echo "CLEAN after $n switches, $ios requests"
