// SPDX-License-Identifier: GPL-2.0
/*
 * Several CPUs of User-mode Linux in one thread of the host; replaces arch/um/os-Linux/smp.c.
 *
 * A CPU runs until it waits for virtual time, and then the one with the next event goes on. The
 * order of CPUs hence depends on nothing but their events, and a switch is no system call.
 */
#include <init.h>
#include <os.h>
#include <smp.h>
#include <string.h>
#include "internal.h"

extern int setjmp(jmp_buf buf);
extern void longjmp(jmp_buf buf, int value);

int uml_current_cpu;
/* Where each CPU that does not run goes on. */
static jmp_buf cpus[CONFIG_NR_CPUS];

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
