# SPDX-License-Identifier: GPL-2.0
# What stress.sh and switch.sh share. Sourced with $queue, $seed set, and $lines: how many lines the kernel's log had.

# A number below $1, in $random.
choose() {
	seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
	random=$((seed / 256 % $1))
}

change_depth() {
	choose 5
	set -- 4 16 128 256 2048
	shift "$random"
	echo "$1" >"$queue/nr_requests"
} 2>/dev/null

trouble() {
	dmesg | tail -n "+$((lines + 1))" | grep -E 'BUG|WARNING|INFO:|Oops|KASAN|possible|deadlock|sleeping function|Call Trace|I/O error|hung task|UBSAN|refcount|list_(add|del) corruption|leak'
}

# A debug kernel's lock checks switch themselves off at their first finding.
locks_checked() {
	[ ! -e /proc/lockdep_stats ] || grep -q 'debug_locks: *1' /proc/lockdep_stats
}
