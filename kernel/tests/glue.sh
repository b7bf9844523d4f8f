#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# glue.sh DISK: what the glue promises, checked in a guest's virtual time. DISK takes 32 requests at once, 1 ms each (null_blk irqmode=2
# completion_nsec=1000000 hw_queue_depth=32), and the elevators are loaded. Prints a line a check, at the end GLUE OK or GLUE FAILED.
set -u
disk=${1:?usage: glue.sh DISK}
queue=/sys/block/$disk/queue
failed=0

check() { # what, is, at least, at most
	if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then
		echo "ok: $1: $2"
	else
		echo "FAILED: $1: $2 is not in $3..$4"
		failed=1
	fi
}

# Milliseconds that 8 processes need for 50 direct reads each, all over the disk.
eight_readers() {
	start=$(date +%s%N)
	for i in 1 2 3 4 5 6 7 8; do
		dd if="/dev/$disk" of=/dev/null bs=4k count=50 skip=$((i * 10000)) iflag=direct 2>/dev/null &
	done
	wait
	echo $((($(date +%s%N) - start) / 1000000))
}

# Milliseconds until process B has its far read, when A has taught the elevator to wait for it and then asks no more.
abandoned() {
	perl -e '
		open(F, "<", "/dev/'"$disk"'") or die;
		my $b;
		for (1 .. 60) { sysread(F, $b, 4096); select(undef, undef, undef, 0.001) }
		sysread(F, $b, 4096);
		select(undef, undef, undef, 1);
	' &
	# Within the last wait, or in the middle of the others: each way it is let through.
	timeout 20 perl -e '
		select(undef, undef, undef, 0.05);
		use Time::HiRes "time";
		open(F, "<", "/dev/'"$disk"'") or die;
		my ($b, $worst) = ("", 0);
		for (1 .. 40) {
			sysseek(F, (200 + $_) * 1048576, 0);
			my $t = time;
			sysread(F, $b, 4096);
			$worst = time - $t if time - $t > $worst;
			select(undef, undef, undef, 0.005);
		}
		printf "%d\n", $worst * 1000;
	' || echo 99999
	wait
}

stat_of() {
	tr ' ' '\n' <"$queue/iosched/antic_stats" | grep -A1 -x "$1" | tail -n 1
}

refused() { # file, value
	perl -e 'open(F, ">", $ARGV[0]) or exit 2; exit(defined syswrite(F, $ARGV[1]) ? 1 : $!{EINVAL} ? 0 : 3)' "$queue/iosched/$1" "$2"
	check "$1 of '$2' is refused with EINVAL" $? 0 0
}

for scheduler in anticipatory wpcas; do
	echo none >"$queue/scheduler"
	echo "$scheduler" >"$queue/scheduler" || exit 1
	echo 0 >"$queue/read_ahead_kb"
	echo 0 >"$queue/iosched/antic_expire"
	echo 0 >"$queue/iosched/max_inflight"
	check "$scheduler: 400 reads of 1 ms, 8 at a time, ms" "$(eight_readers)" 50 75
	echo 1 >"$queue/iosched/max_inflight"
	check "$scheduler: one at a time, without gaps, ms" "$(eight_readers)" 400 420
	check "$scheduler: no wait while it is off" "$(stat_of started)" 0 0
	echo none >"$queue/scheduler"
	echo "$scheduler" >"$queue/scheduler"
	echo 1 >"$queue/iosched/max_inflight"
	if [ "$scheduler" = wpcas ]; then
		echo 1962 >"$queue/iosched/cylinders"
		echo 1368 >"$queue/iosched/cylinder_sectors"
		echo 100000 >"$queue/iosched/seek_knee"
		echo 10000000 >"$queue/iosched/seek_a_ns"
	fi
	echo 3 >/proc/sys/vm/drop_caches
	# As long as A keeps asking the other waits; but its read expires after 125 ms, which is looked at every 125 ms.
	check "$scheduler: no process starves, ms" "$(abandoned)" 1 260
	check "$scheduler: waits that brought something" "$(stat_of successes)" 1 1000
	check "$scheduler: waits that ended by the timer" "$(stat_of failures)" 1 1000
	for value in -1 word 18446744073709551616 0x5 "7 "; do
		refused antic_expire "$value"
	done
	refused max_inflight 2049
	refused drain 2
	# More tags: a new core with the tunables and counters of the old one.
	before=$(stat_of started)
	echo 3 >"$queue/iosched/antic_expire"
	echo 2000 >"$queue/nr_requests"
	check "$scheduler: tunables outlive more tags" "$(cat "$queue/iosched/antic_expire")" 3 3
	check "$scheduler: counters outlive more tags" "$(stat_of started)" "$before" "$before"
done

# Milliseconds until 20 direct reads of a process with this I/O priority are done, beside eight_readers.
beside_eight() {
	eight_readers >/dev/null &
	start=$(date +%s%N)
	ionice "$@" dd if="/dev/$disk" of=/dev/null bs=4k count=20 skip=90000 iflag=direct 2>/dev/null
	echo $((($(date +%s%N) - start) / 1000000))
	wait
}

# Asks for 32 KiB at each offset, in pages from 80000 on, without waiting for them: posix_fadvise of POSIX_FADV_WILLNEED.
ask_for() {
	perl -e 'open(F, "<", shift) or die; syscall(221, fileno F, (80000 + $_) * 4096, 32768, 3) for @ARGV' "/dev/$disk" "$@"
}

# Merges while 32 KiB, and the 32 KiB behind them, are asked for by as many processes as there are arguments.
merges() {
	echo 3 >/proc/sys/vm/drop_caches
	eight_readers >/dev/null &
	before=$(awk '{ print $2 }' "/sys/block/$disk/stat")
	sleep 0.02
	for offsets; do
		ask_for $offsets
	done
	wait
	echo $(($(awk '{ print $2 }' "/sys/block/$disk/stat") - before))
}

echo none >"$queue/scheduler"
echo 1 >"$queue/rotational"
echo occupancy >"$queue/scheduler" || exit 1
echo 0 >"$queue/read_ahead_kb"
check "occupancy: attributes, and those that it has in all" \
	"$(ls "$queue/iosched" | grep -c -x -E 'max_inflight|antic_stats')$(ls "$queue/iosched" | wc -l)" 22 22
check "occupancy: it bounds what a rotating disk gets itself" "$(cat "$queue/iosched/max_inflight")" 0 0
check "occupancy: 400 reads of 1 ms, 8 at a time, ms" "$(eight_readers)" 50 75
echo 1 >"$queue/iosched/max_inflight"
check "occupancy: one at a time, without gaps, ms" "$(eight_readers)" 400 420
# Of the weight 100, 8 processes at level 4; 200 at level 0, 25 at level 7.
check "occupancy: 20 reads at level 0 beside 8 processes at level 4, ms" "$(beside_eight -c 2 -n 0)" 40 130
check "occupancy: 20 reads at level 4, ms" "$(beside_eight -c 2 -n 4)" 140 200
check "occupancy: 20 reads at level 7, ms" "$(beside_eight -c 2 -n 7)" 300 440
check "occupancy: 20 reads of the real-time class, ms" "$(beside_eight -c 1 -n 4)" 20 130
check "occupancy: 20 reads of the idle class, ms" "$(beside_eight -c 3)" 300 440
check "occupancy: two requests of a process become one" "$(merges "0 8")" 1 1
check "occupancy: those of two processes do not" "$(merges 0 8)" 0 0
echo 3 >/proc/sys/vm/drop_caches
check "occupancy: no process starves, ms" "$(abandoned)" 1 260
echo none >"$queue/scheduler"
rmmod occupancy_iosched
insmod "$SCHEDLAB_MODULES/occupancy-iosched.ko" internal=1
echo occupancy >"$queue/scheduler" || exit 1
check "occupancy: attributes with internal=1" "$(ls "$queue/iosched" | wc -l)" 17 17
for value in -1 word 18446744073709551616 0x5 "7 " 60001; do
	refused overdue_ms "$value"
done
echo 12345 >"$queue/iosched/overdue_ms"
echo 2000 >"$queue/nr_requests"
check "occupancy: tunables outlive more tags" "$(cat "$queue/iosched/overdue_ms")" 12345 12345
check "occupancy: requests after that, 8 at a time, ms" "$(echo 0 >"$queue/iosched/max_inflight"; eight_readers)" 50 75
echo none >"$queue/scheduler"
[ $failed = 0 ] && echo "GLUE OK" || echo "GLUE FAILED"
