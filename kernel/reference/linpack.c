// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * LINPACK in plain C: the same algorithm, step by step, as schedlab's own (crates/load/src/cpu/linpack),
 * to be compared with it: `schedlab bench linpack` compiles this with `cc -O2` and runs both in turn.
 *
 * usage: linpack ARRAY REPS
 * Prints, in seconds, the time in DGEFA, in DGESL and in all of REPS repetitions of the rolled and of
 * the unrolled form, and the larger normalised residual of the two.
 */
#define _POSIX_C_SOURCE 199309L
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct system {
	long n;
	long lda;
	double *a;
	double *b;
	long *pivots;
};

struct spent {
	double dgefa;
	double dgesl;
	double total;
};

struct form {
	void (*factor)(struct system *sys);
	void (*solve)(struct system *sys);
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void axpy_rolled(long n, double t, const double *restrict x, double *restrict y)
{
	long i;

	if (n <= 0 || t == 0.0)
		return;
	for (i = 0; i < n; i++)
		y[i] += t * x[i];
}

static void axpy_unrolled(long n, double t, const double *restrict x, double *restrict y)
{
	long odd = n % 4;
	long i;

	if (n <= 0 || t == 0.0)
		return;
	for (i = 0; i < odd; i++)
		y[i] += t * x[i];
	for (i = odd; i < n; i += 4) {
		y[i] += t * x[i];
		y[i + 1] += t * x[i + 1];
		y[i + 2] += t * x[i + 2];
		y[i + 3] += t * x[i + 3];
	}
}

static void scale_rolled(long n, double t, double *x)
{
	long i;

	for (i = 0; i < n; i++)
		x[i] *= t;
}

static void scale_unrolled(long n, double t, double *x)
{
	long odd = n % 4;
	long i;

	for (i = 0; i < odd; i++)
		x[i] *= t;
	for (i = odd; i < n; i += 4) {
		x[i] *= t;
		x[i + 1] *= t;
		x[i + 2] *= t;
		x[i + 3] *= t;
	}
}

static long largest(long n, const double *x)
{
	double most = fabs(x[0]);
	long best = 0;
	long i;

	for (i = 1; i < n; i++) {
		if (fabs(x[i]) > most) {
			most = fabs(x[i]);
			best = i;
		}
	}
	return best;
}

static void swap(double *one, double *other)
{
	double old = *one;

	*one = *other;
	*other = old;
}

static void generate(struct system *sys)
{
	long init = 1325;
	long i;
	long j;

	for (j = 0; j < sys->n; j++) {
		for (i = 0; i < sys->n; i++) {
			init = 3125 * init % 65536;
			sys->a[j * sys->lda + i] = (init - 32768.0) / 16384.0;
		}
	}
	for (i = 0; i < sys->n; i++)
		sys->b[i] = 0.0;
	for (j = 0; j < sys->n; j++) {
		for (i = 0; i < sys->n; i++)
			sys->b[i] += sys->a[j * sys->lda + i];
	}
}

/* DGEFA and DGESL are the same for both forms but for the vector operations, which are to be inlined. */
#define DEFINE_FORM(form)								\
static void factor_##form(struct system *sys)						\
{											\
	long n = sys->n;								\
	long j;										\
	long k;										\
											\
	for (k = 0; k < n - 1; k++) {							\
		double *pivot_column = sys->a + k * sys->lda;				\
		long pivot = k + largest(n - k, pivot_column + k);			\
											\
		sys->pivots[k] = pivot;							\
		if (pivot_column[pivot] == 0.0)						\
			continue;							\
		swap(&pivot_column[pivot], &pivot_column[k]);				\
		scale_##form(n - k - 1, -1.0 / pivot_column[k], pivot_column + k + 1);	\
		for (j = k + 1; j < n; j++) {						\
			double *column = sys->a + j * sys->lda;				\
											\
			swap(&column[pivot], &column[k]);				\
			axpy_##form(n - k - 1, column[k], pivot_column + k + 1,		\
				    column + k + 1);					\
		}									\
	}										\
	sys->pivots[n - 1] = n - 1;							\
}											\
											\
static void solve_##form(struct system *sys)						\
{											\
	long n = sys->n;								\
	double *b = sys->b;								\
	long k;										\
											\
	for (k = 0; k < n - 1; k++) {							\
		swap(&b[sys->pivots[k]], &b[k]);					\
		axpy_##form(n - k - 1, b[k], sys->a + k * sys->lda + k + 1, b + k + 1);	\
	}										\
	for (k = n - 1; k >= 0; k--) {							\
		b[k] /= sys->a[k * sys->lda + k];					\
		axpy_##form(k, -b[k], sys->a + k * sys->lda, b);			\
	}										\
}

DEFINE_FORM(rolled)
DEFINE_FORM(unrolled)

static const struct form forms[] = {
	{ factor_rolled, solve_rolled },
	{ factor_unrolled, solve_unrolled },
};

/* How wrong the solution in `b` is, normalised as LINPACK does; `b` and `a` are made anew. */
static double residual(struct system *sys, double *x)
{
	double rest = 0.0;
	double norm_a = 0.0;
	double norm_x = 0.0;
	long i;
	long j;

	for (i = 0; i < sys->n; i++) {
		x[i] = sys->b[i];
		norm_x = fmax(norm_x, fabs(x[i]));
	}
	generate(sys);
	for (j = 0; j < sys->n; j++) {
		for (i = 0; i < sys->n; i++) {
			double value = sys->a[j * sys->lda + i];

			norm_a = fmax(norm_a, fabs(value));
			sys->b[i] -= value * x[j];
		}
	}
	for (i = 0; i < sys->n; i++)
		rest = fmax(rest, fabs(sys->b[i]));
	return rest / (sys->n * norm_a * norm_x * DBL_EPSILON);
}

static void repeat(const struct form *form, struct system *sys, long reps, struct spent *spent)
{
	double began = now();
	long i;

	for (i = 0; i < reps; i++) {
		double before;
		double factored;

		generate(sys);
		before = now();
		form->factor(sys);
		factored = now();
		form->solve(sys);
		spent->dgesl += now() - factored;
		spent->dgefa += factored - before;
	}
	spent->total += now() - began;
}

int main(int argc, char **argv)
{
	struct spent spent = { 0.0, 0.0, 0.0 };
	struct system sys;
	double worst = 0.0;
	double *x;
	long reps;
	int i;

	if (argc != 3) {
		fprintf(stderr, "usage: %s ARRAY REPS\n", argv[0]);
		return 2;
	}
	sys.lda = strtol(argv[1], NULL, 10);
	sys.n = sys.lda / 2;
	reps = strtol(argv[2], NULL, 10);
	if (sys.n < 1 || reps < 1) {
		fprintf(stderr, "%s: ARRAY is a number from 2, REPS one from 1\n", argv[0]);
		return 2;
	}
	sys.a = calloc(sys.lda * sys.n, sizeof(*sys.a));
	sys.b = calloc(sys.n, sizeof(*sys.b));
	sys.pivots = calloc(sys.n, sizeof(*sys.pivots));
	x = calloc(sys.n, sizeof(*x));
	if (!sys.a || !sys.b || !sys.pivots || !x) {
		fprintf(stderr, "%s: no memory for ARRAY = %ld\n", argv[0], sys.lda);
		return 1;
	}
	for (i = 0; i < 2; i++) {
		repeat(&forms[i], &sys, reps, &spent);
		worst = fmax(worst, residual(&sys, x));
	}
	printf("%.9f %.9f %.9f %.6f\n", spent.dgefa, spent.dgesl, spent.total, worst);
	return 0;
}
