// SPDX-License-Identifier: GPL-2.0
/* The core of wpcas-iosched.ko in one unit: see anticipatory-core.c. */
#include "core/antic.c"
#include "core/wpcas.c"
