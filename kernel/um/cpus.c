// SPDX-License-Identifier: GPL-2.0
/*
 * Several CPUs of User-mode Linux in time travel; replaces arch/um/kernel/smp.c, whose CPUs are
 * threads of the host.
 *
 * An interrupt for another CPU is an event at the present moment of virtual time, and so is its
 * start. CPUs take turns (host.c); one that waits for another does so in cpu_relax(), which lets
 * a nanosecond pass.
 */
#include <linux/cpu.h>
#include <linux/export.h>
#include <linux/hardirq.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>
#include <linux/smp-internal.h>
#include <linux/threads.h>
#include <linux/time-internal.h>
#include <init.h>
#include <kern.h>
#include <kern_util.h>
#include <os.h>
#include <smp.h>

static struct time_travel_event reschedules[NR_CPUS], calls[NR_CPUS], single_calls[NR_CPUS],
				stops[NR_CPUS], starts[NR_CPUS];

int uml_ncpus = 1;

static void on_reschedule(struct time_travel_event *event)
{
	inc_irq_stat(irq_resched_count);
	scheduler_ipi();
}

static void on_call(struct time_travel_event *event)
{
	inc_irq_stat(irq_call_count);
	generic_smp_call_function_interrupt();
}

static void on_single_call(struct time_travel_event *event)
{
	inc_irq_stat(irq_call_count);
	generic_smp_call_function_single_interrupt();
}

static void on_stop(struct time_travel_event *event)
{
	set_cpu_online(raw_smp_processor_id(), false);
	local_irq_disable();
	for (;;)
		time_travel_sleep();
}

/* The CPU removes the event when it has started. */
static void on_start(struct time_travel_event *event)
{
}

static void interrupt(struct time_travel_event *events, int cpu,
		      void (*fn)(struct time_travel_event *event))
{
	time_travel_set_event_fn(&events[cpu], fn);
	time_travel_interrupt(&events[cpu], cpu);
}

void arch_smp_send_reschedule(int cpu)
{
	interrupt(reschedules, cpu, on_reschedule);
}

void arch_send_call_function_single_ipi(int cpu)
{
	interrupt(single_calls, cpu, on_single_call);
}

void arch_send_call_function_ipi_mask(const struct cpumask *mask)
{
	int cpu;

	for_each_cpu(cpu, mask)
		interrupt(calls, cpu, on_call);
}

void smp_send_stop(void)
{
	int cpu;

	for_each_online_cpu(cpu)
		if (cpu != smp_processor_id())
			interrupt(stops, cpu, on_stop);
}

static int start(void *unused)
{
	int cpu = raw_smp_processor_id();

	time_travel_del_event(&starts[cpu]);
	notify_cpu_starting(cpu);
	set_cpu_online(cpu, true);
	if (um_setup_timer())
		panic("CPU %d: no timer", cpu);
	local_irq_enable();
	cpu_startup_entry(CPUHP_AP_ONLINE_IDLE);
	return 0;
}

int __cpu_up(unsigned int cpu, struct task_struct *idle)
{
	jmp_buf *entry = &idle->thread.switch_buf;

	cpu_tasks[cpu] = idle;
	task_thread_info(idle)->cpu = cpu;
	mmgrab(&init_mm);
	idle->active_mm = &init_mm;
	idle->thread.request.thread.proc = start;
	idle->thread.request.thread.arg = NULL;
	new_thread(task_stack_page(idle), entry, new_thread_handler);
	os_prepare_cpu(cpu, entry);
	interrupt(starts, cpu, on_start);
	while (!cpu_online(cpu))
		cpu_relax();
	return 0;
}

void __init smp_prepare_cpus(unsigned int max_cpus)
{
	int cpu;

	if (uml_ncpus > 1 && time_travel_mode != TT_MODE_INFCPU)
		panic("several CPUs need time-travel=inf-cpu");
	for_each_possible_cpu(cpu)
		set_cpu_present(cpu, true);
}

void __init smp_cpus_done(unsigned int max_cpus)
{
}

void __init prefill_possible_map(void)
{
	int cpu;

	for (cpu = 0; cpu < NR_CPUS; cpu++)
		set_cpu_possible(cpu, cpu < uml_ncpus);
}

static int __init read_ncpus(char *value, int *add)
{
	*add = 0;
	if (kstrtoint(value, 10, &uml_ncpus) || uml_ncpus < 1 || uml_ncpus > NR_CPUS) {
		os_warn("ncpus=%s: expected 1 to %d\n", value, NR_CPUS);
		return -1;
	}
	return 0;
}

__uml_setup("ncpus=", read_ncpus,
"ncpus=<number>\n"
"    CPUs of this kernel.\n\n"
);

static int __init read_seed(char *value, int *add)
{
	unsigned long long seed;

	*add = 0;
	if (kstrtoull(value, 10, &seed)) {
		os_warn("seed=%s: expected a number\n", value);
		return -1;
	}
	os_seed_random(seed);
	return 0;
}

__uml_setup("seed=", read_seed,
"seed=<number>\n"
"    Seed of all random numbers.\n\n"
);

EXPORT_SYMBOL(uml_current_cpu);
