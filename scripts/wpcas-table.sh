#!/bin/sh
# Prints what Table 1 of the WPCAS study implies, as Markdown (research/wpcas-postmark.md). "If waiting were all": the same bytes take the run of
# WPCAS, and that run plus the difference of waiting.
set -eu
awk -F, '
    NR > 1 { w[$1] = $2; s[$1] = $3; f[$1] = $4; good[$1] = $5; bad[$1] = $6; rate[$1] = $8; all[$1] = ($5 + $6) / 1000; order[++n] = $1 }
    END {
        print "| | waits | failed | mean success, ms | mean failure, ms | all waiting, s | kbit/s | if waiting were all: run of WPCAS, s | of that a request, ms |"
        print "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
        for (i = 1; i <= n; i++) {
            a = order[i]; more = "- | -"
            if (a != "wpcas") {
                run = (all[a] - all["wpcas"]) / (rate["wpcas"] / rate[a] - 1)
                more = sprintf("%.0f | %.2f", run, 1000 * (run - all["wpcas"]) / w["wpcas"])
            }
            printf "| %s | %d | %.2f %% | %.3f | %.3f | %.1f | %d | %s |\n", a, w[a], 100 * f[a] / w[a], good[a] / s[a], bad[a] / f[a], all[a], rate[a], more
        }
        fewer = w["as"] - w["wpcas"]; failed = f["as"] - f["wpcas"]
        printf "\nWPCAS against AS: %d fewer waits, %d fewer failures, %.1f %% of them.\n", fewer, failed, 100 * failed / fewer
    }' "$(dirname "$0")/../data/published/wpcas_postmark.csv"
