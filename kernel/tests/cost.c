// SPDX-License-Identifier: GPL-2.0
/*
 * cost DISK MHZ [BATCHES]: nanoseconds of a 4 KiB read at a random place, by the counter of cycles.
 *
 * Batches of 32 direct reads, each batch one io_submit and one io_getevents, so that what remains
 * is the block layer and its scheduler. DISK completes at once. Other work on the machine makes
 * batches longer and never shorter: prints the least, the tenth percentile and the median.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define NR 32
#define PAGE 4096
#define PAGES 1000000

static aio_context_t context;
static struct iocb blocks[NR], *list[NR];
static struct io_event events[NR];

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void fill(int fd, char *buffer, uint32_t *seed)
{
	for (int i = 0; i < NR; i++) {
		*seed = *seed * 1103515245 + 12345;
		blocks[i] = (struct iocb){
			.aio_fildes = fd,
			.aio_lio_opcode = IOCB_CMD_PREAD,
			.aio_buf = (uintptr_t)(buffer + PAGE * i),
			.aio_nbytes = PAGE,
			.aio_offset = (long long)(*seed >> 8) % PAGES * PAGE,
		};
		list[i] = &blocks[i];
	}
}

static uint64_t batch(void)
{
	uint64_t start = __rdtsc();

	if (syscall(SYS_io_submit, context, NR, list) != NR)
		fail("io_submit");
	if (syscall(SYS_io_getevents, context, NR, NR, events, NULL) != NR)
		fail("io_getevents");
	return __rdtsc() - start;
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDONLY | O_DIRECT) : -1;
	double mhz = argc > 2 ? atof(argv[2]) : 0;
	int nr = argc > 3 ? atoi(argv[3]) : 3000;
	double *ns = calloc(nr, sizeof(*ns));
	char *buffer = aligned_alloc(PAGE, NR * PAGE);
	uint32_t seed = 1;

	if (fd < 0 || mhz <= 0 || nr < 1 || !ns || !buffer)
		fail("usage: cost DISK MHZ [BATCHES]");
	memset(buffer, 0, NR * PAGE);
	if (syscall(SYS_io_setup, NR, &context))
		fail("io_setup");
	for (int i = 0; i < nr; i++) {
		fill(fd, buffer, &seed);
		ns[i] = batch() * 1000 / mhz / NR;
	}
	qsort(ns, nr, sizeof(*ns), compare);
	printf("%.0f %.0f %.0f\n", ns[0], ns[nr / 10], ns[nr / 2]);
	return 0;
}
