// SPDX-License-Identifier: GPL-2.0
/*
 * The host's side of User-mode Linux with several CPUs; replaces arch/um/os-Linux/smp.c.
 *
 * CPUs take turns in one thread of the host: one runs until it waits for virtual time, and then the
 * one with the next event continues. Their order hence depends on nothing but their events, and a
 * switch is no system call.
 *
 * A seed alone determines random numbers, because the scheduler balances by them: since 6.19 a CPU
 * that becomes idle looks for work with a probability.
 */
#include <init.h>
#include <os.h>
#include <smp.h>
#include <string.h>
#include "internal.h"

extern int setjmp(jmp_buf buf);
extern void longjmp(jmp_buf buf, int value);

int uml_current_cpu;
/* Where each CPU that does not run continues. */
static jmp_buf cpus[CONFIG_NR_CPUS];
static unsigned long long random_state;

/* @cpu begins at @entry when it is first switched to. */
void os_prepare_cpu(int cpu, jmp_buf *entry)
{
	memcpy(&cpus[cpu], entry, sizeof(cpus[cpu]));
}

/* Returns when another CPU switches back. Each CPU has its own pending interrupts. */
void os_switch_cpu(int cpu)
{
	int me = uml_current_cpu, enabled = signals_enabled;
	unsigned int pending = signals_pending, active = signals_active;

	if (!setjmp(cpus[me])) {
		uml_current_cpu = cpu;
		signals_pending = 0;
		signals_active = 0;
		longjmp(cpus[cpu], 1);
	}
	signals_enabled = enabled;
	signals_pending = pending;
	signals_active = active;
}

void os_seed_random(unsigned long long seed)
{
	random_state = seed;
}

/* SplitMix64. */
static unsigned long long next_random(void)
{
	unsigned long long z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	size_t done;

	for (done = 0; done < len; done += sizeof(random_state)) {
		unsigned long long value = next_random();
		size_t left = len - done;

		memcpy(buf + done, &value, left < sizeof(value) ? left : sizeof(value));
	}
	return len;
}
