#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# stress.sh DISK N [MODULE.ko ...]: switches the scheduler of a disk N times under load.
#
# Runs as root inside of a guest (or on a machine whose DISK may be overwritten: it writes). All schedulers that the kernel offers
# take turns in random order, while processes read and write, alone and through the page cache, end and are killed, and nr_requests
# and random tunables of the present scheduler change. MODULEs are loaded at the start; now and then all that are not in use
# are unloaded and loaded again. Prints `STRESS OK n switches` if the kernel's log got no line that tells of trouble, otherwise these
# lines. SEED=number in the environment repeats a sequence of choices (the timing is the machine's).
set -u
disk=${1:?usage: stress.sh DISK N [MODULE.ko ...]}
count=${2:?usage: stress.sh DISK N [MODULE.ko ...]}
shift 2
modules=$*
queue=/sys/block/$disk/queue
dir=$(mktemp -d) || exit 1
seed=${SEED:-1}
sectors=$(cat "/sys/block/$disk/size") || exit 1
pages=$((sectors / 8))
[ -w "$queue/scheduler" ] && [ "$pages" -gt 4096 ] || { echo "STRESS FAILED: $disk has no scheduler or is too small"; exit 1; }

. "$(dirname "$0")/common.sh"

# A client: number, kind. Ends when $dir/stop is there.
client() {
	seed=$((seed + $1 * 7919))
	while [ ! -e "$dir/stop" ]; do
		choose $((pages - 512))
		at=$random
		case $2 in
		sequential) dd if="/dev/$disk" of=/dev/null bs=4k count=64 skip="$at" iflag=direct ;;
		random) for _ in 1 2 3 4; do
			choose $((pages - 512))
			dd if="/dev/$disk" of=/dev/null bs=4k count=4 skip="$random" iflag=direct
		done ;;
		readahead) dd if="/dev/$disk" of=/dev/null bs=128k count=8 skip=$((at / 32)) ;;
		direct-write) dd if=/dev/zero of="/dev/$disk" bs=4k count=32 seek="$at" oflag=direct conv=notrunc ;;
		write-back) dd if=/dev/zero of="/dev/$disk" bs=4k count=256 seek="$at" conv=notrunc,fsync ;;
		sync-write) dd if=/dev/zero of="/dev/$disk" bs=4k count=4 seek="$at" oflag=direct,dsync conv=notrunc ;;
		# Two of these ask for the same sectors, and for neighbours: aliases and merges between processes.
		same)
			choose 64
			dd if="/dev/$disk" of=/dev/null bs=4k count=32 skip=$((random * 8)) iflag=direct &
			dd if="/dev/$disk" of=/dev/null bs=8k count=16 skip=$((random * 4)) iflag=direct
			wait $!
			;;
		discard) blkdiscard -o $((at * 4096)) -l 1048576 "/dev/$disk" ;;
		killed)
			dd if="/dev/$disk" of=/dev/null bs=64k count=4096 iflag=direct &
			victim=$!
			sleep 0.02
			kill -9 $victim
			wait $victim
			true
			;;
		# A command that fails at once must not keep a guest's clock from moving: with infinite speed it only does when all sleep.
		esac || sleep 0.01
	done >/dev/null 2>&1
}

# A tunable of the present scheduler gets a value that may or may not be one; a word of refusal is fine.
change_tunable() {
	set -- "$queue"/iosched/*
	[ -e "$1" ] || return 0
	choose $#
	shift "$random"
	old=$(cat "$1" 2>/dev/null) || return 0
	choose 5
	case $random in
	0) echo 0 ;;
	1) echo 1 ;;
	2) echo 20 ;;
	3) echo 18446744073709551615 ;;
	4) echo word ;;
	esac 2>/dev/null >"$1"
	# Half of the time it stays.
	choose 2
	[ "$random" = 0 ] || echo "$old" >"$1"
} 2>/dev/null

load_modules() {
	for module in $modules; do
		insmod "$module" 2>/dev/null
	done
}

# Modules in use are not unloaded.
unload_modules() {
	for module in $modules; do
		rmmod "$(basename "$module" .ko | tr - _)" 2>/dev/null
	done
}

locks_checked || echo "note: the kernel does not check locks any more"
lines=$(dmesg | wc -l)
load_modules
number=0
for kind in sequential sequential random readahead direct-write write-back sync-write same same discard killed; do
	number=$((number + 1))
	client $number $kind &
done

switches=0
refused=0
while [ "$switches" -lt "$count" ]; do
	set -- $(tr -d '[]' <"$queue/scheduler")
	choose $#
	shift "$random"
	if echo "$1" >"$queue/scheduler"; then
		now=$(sed 's/.*\[\(.*\)\].*/\1/' "$queue/scheduler")
		[ "$now" = "$1" ] || { echo "STRESS FAILED: asked for $1, got $now"; touch "$dir/stop"; exit 1; }
		switches=$((switches + 1))
	else
		refused=$((refused + 1))
		[ "$refused" -lt 20 ] || { echo "STRESS FAILED: no switch to $1"; touch "$dir/stop"; exit 1; }
	fi 2>/dev/null
	choose 4
	case $random in
	0) change_tunable ;;
	1) change_depth ;;
	2) sleep 0.02 ;;
	3) sleep 0.1 ;;
	esac
	if [ $((switches % 25)) = 24 ]; then
		echo none >"$queue/scheduler"
		unload_modules
		load_modules
	fi
done
touch "$dir/stop"
wait
echo none >"$queue/scheduler"
unload_modules
if trouble >"$dir/trouble"; then
	echo "STRESS FAILED: the kernel complains after $switches switches"
	cat "$dir/trouble"
	rm -r "$dir"
	exit 1
fi
rm -r "$dir"
echo "STRESS OK $switches switches"
