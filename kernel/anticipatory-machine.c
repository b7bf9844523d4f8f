// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The machine of the anticipatory family for anticipatory-iosched.ko: one object file in two modules is what kbuild warns of. */
#include "core/antic.c"
