#!/bin/sh
# Prints the sensitivity tables of research/wpcas-sequential.md, research/wpcas-random.md and research/wpcas-postmark.md, as Markdown.
#
#     scripts/sweep-wpcas.sh sequential|random|postmark [files|rules|time|drives]...
#
# Each row is one `schedlab compare --arena sim` of six rounds with AS as the baseline. Nothing is written but a temporary directory.
# SCHEDLAB names the program if it is not on the PATH.
set -eu

schedlab=${SCHEDLAB:-schedlab}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
slow=60s # virtual time of a trial on a slow drive
fast=20s # and on others

table() {
    echo '| MB/s of | noop | deadline | cfq | AS | antic-95 | WPCAS | WPCAS against AS | waits AS / WPCAS | failed | Jain AS / WPCAS |'
    echo '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|'
}
section() { echo "| **$1** | | | | | | | | | | |"; }

# row LABEL DEVICE WORKLOAD COMMON WPCAS: one comparison. COMMON are tunables of every variant, WPCAS those of wpcas alone; each begins with a colon.
row() {
    rm -rf "$scratch/out"
    case $2 in # a fast device makes as many requests in less time
    hp97560*) time=$slow ;;
    nvme*) time=1s ;;
    *) time=$fast ;;
    esac
    variants="noop=noop$4,deadline=deadline$4,cfq=cfq$4,as=anticipatory$4,antic-95=antic-95$4,wpcas=wpcas$4$5"
    if ! "$schedlab" compare --arena sim --device "$2" --schedulers "$variants" --workload "$3" --baseline as --rounds 6 \
        --trial-time "$time" --out "$scratch/out" --quiet >"$scratch/said" 2>&1; then
        echo "| $1 | failed: $(tail -n 1 "$scratch/said") |"
        return
    fi
    # In trials.csv and comparisons.csv the columns that matter come before any that may hold a quoted comma.
    awk -F, -v label="$1" '
        function mean(variant, metric) { return n[variant, metric] ? sum[variant, metric] / n[variant, metric] : "nan" }
        function share(variant,  waits) {
            waits = mean(variant, "anticipations")
            return waits > 0 ? sprintf("%.1f %%", 100 * mean(variant, "anticipation_failures") / waits) : "-"
        }
        function jain(variant) { return mean(variant, "fairness_jain") == "nan" ? "-" : sprintf("%.2f", mean(variant, "fairness_jain")) }
        function percent(ratio) { return sprintf("%+.1f", 100 * (ratio - 1)) }
        FILENAME ~ /trials/ && $10 == "false" { sum[$5, $8] += $9; n[$5, $8]++ }
        FILENAME ~ /comparisons/ && $2 == "throughput_mb_per_s" && $4 == "wpcas" {
            against = percent($6) " %" ($7 == "" ? "" : " [" percent($7) ", " percent($8) "]")
        }
        END {
            m = "throughput_mb_per_s"
            printf "| %s | %.3g | %.3g | %.3g | %.3g | %.3g | %.3g | %s | %.0f / %.0f | %s / %s | %s / %s |\n", label, mean("noop", m),
                mean("deadline", m), mean("cfq", m), mean("as", m), mean("antic-95", m), mean("wpcas", m), against,
                mean("as", "anticipations"), mean("wpcas", "anticipations"), share("as"), share("wpcas"), jain("as"), jain("wpcas")
        }' "$scratch/out/trials.csv" "$scratch/out/comparisons.csv"
}

# What the study leaves open about WPCAS itself: DEVICE WORKLOAD
rules() {
    section "WPCAS's own parameters (else γ 50 %, n 64, width 2 ms): $2 on $1"
    for percent in 30 50 70 90; do row "γ $percent %" "$1" "$2" :hz=1000 ":gamma_percent=$percent"; done
    for n in 16 256 1024; do row "n $n" "$1" "$2" :hz=1000 ":window=$n"; done
    for ms in 1 4 8; do row "width $ms ms" "$1" "$2" :hz=1000 ":width_ms=$ms"; done
    row "literal T_as: tas=1, γ 90 %" "$1" "$2" :hz=1000 ":tas=1:gamma_percent=90"
    row "never on trial: relearn=0" "$1" "$2" :hz=1000 ":relearn=0"
    if [ "$case" = postmark ]; then return; fi
    row "grown around the mode: region=1" "$1" "$2" :hz=1000 ":region=1"
    row "fine_clock=1, bins of 100 µs" "$1" "$2" :hz=1000 ":fine_clock=1:bin_us=100"
    row "arrival to arrival: interval=1" "$1" "$2" :hz=1000 ":interval=1"
    row "nearest=1, mean_close=1, class=1" "$1" "$2" :hz=1000 ":nearest=1:mean_close=1:class=1"
}

# DEVICE WORKLOAD THINKING-WORKLOAD
clocks() {
    section "HZ: $2 on $1"
    for hz in 1000 250 100; do row "HZ $hz" "$1" "$2" ":hz=$hz" ""; done
    section "turnaround_us, ±50 %: $2 on $1"
    for us in 10 100 500 1000 3000 5000; do row "$us µs" "$1" "$2" ":hz=1000:turnaround_us=$us" ""; done
    section "think times: $3 on $1"
    for dist in exponential bimodal; do
        for mean in 1ms 2ms; do row "$dist, $mean" "$1" "$3:think_dist=$dist:think_time=$mean" ":hz=1000" ""; done
    done
}

# LABEL WORKLOAD DRIVE...
drives() {
    section "drives: $1"
    workload=$2
    shift 2
    for drive in "$@"; do
        row "$drive" "$drive" "$workload" :hz=1000 ""
    done
}

others="hp97560:read_ahead=0 barracuda7200 cheetah9lp wd4tb7200:queue_depth=1 wd4tb7200 nvme"
case=${1:?sequential, random or postmark}
shift
wanted=${*:-all}
wants() { case " $wanted " in *" all "* | *" $1 "*) return 0 ;; *) return 1 ;; esac; }

table
case $case in
sequential | random)
    if [ "$case" = sequential ]; then
        iozone=iozone:phase=read
        thinking=think-mix:clients=10:file_size=16M
        written=write
        modern=wd4tb7200
    else
        iozone=iozone:phase=randread
        thinking=think-mix:clients=10:random_share=100:file_size=16M
        written=randwrite
        modern=wd4tb7200:queue_depth=1
    fi
    if wants files; then
        section "$iozone on hp97560: 10 processes, files of"
        for size in 512k 2M 4M 8M 32M; do row "$size" hp97560 "$iozone:clients=10:file_size=$size" :hz=1000 ""; done
        section "files of 8 MiB, processes"
        for n in 40 80; do row "$n" hp97560 "$iozone:clients=$n:file_size=8M" :hz=1000 ""; done
        section "files of 512 KiB on $modern, processes"
        for n in 10 40 80; do row "$n" $modern "$iozone:clients=$n" :hz=1000 ""; done
        section "10 processes, writing"
        row "512k" hp97560 "iozone:phase=$written:clients=10" :hz=1000 ""
        row "8M" hp97560 "iozone:phase=$written:clients=10:file_size=8M" :hz=1000 ""
    fi
    if wants rules; then rules hp97560 $thinking:think_dist=exponential:think_time=1ms; fi
    if wants time; then clocks hp97560 $iozone:clients=10:file_size=8M $thinking; fi
    if wants drives; then
        drives "files of 512 KiB" $iozone:clients=10 $others
        drives "files of 8 MiB" $iozone:clients=10:file_size=8M $others
    fi
    ;;
postmark)
    slow=600s
    fast=100s
    web=postmark:seed=trial:number=500:transactions=2000:bias_read=10:bias_create=off:block_size=4k:read_block=16k:write_block=16k
    think=think_dist=exponential:think_time=600us
    modern=wd4tb7200:queue_depth=1
    if wants files; then
        section "PostMark on hp97560: web server, processes"
        for n in 1 2 4 16; do row "$n" hp97560 "$web:clients=$n:$think" :hz=1000 ""; done
        section "web server on $modern, processes"
        for n in 2 4 16; do row "$n" $modern "$web:clients=$n:$think" :hz=1000 ""; done
        row "4, eight times the files" $modern "$(echo $web | sed 's/=500:/=4000:/; s/=2000:/=16000:/'):file_size=128M:clients=4:$think" :hz=1000 ""
        section "other loads of 4 processes on hp97560"
        row "web server in reads of 512 bytes" hp97560 "postmark:seed=trial:clients=4:bias_read=10:bias_create=off:number=200:transactions=1000:$think" :hz=1000 ""
        row "mail server, direct" hp97560 "postmark:seed=trial:clients=4:number=200:transactions=200:$think" :hz=1000 ""
        row "mail server, buffered" hp97560 "postmark:seed=trial:clients=4:number=200:transactions=200:direct=false:$think" :hz=1000 ""
    fi
    if wants rules; then rules hp97560 $web:clients=4:$think; fi
    if wants time; then clocks hp97560 $web:clients=4 $web:clients=4; fi
    if wants drives; then
        drives "web server, 4 processes" $web:clients=4:$think $others
        section "drives: web server, some long pauses (bimodal, 1.2 ms)"
        paused=$web:think_dist=bimodal:think_time=1200us
        for drive in hp97560 barracuda7200 $modern; do row "$drive, 4 processes" $drive $paused:clients=4 :hz=1000 ""; done
        row "$modern, 2 processes" $modern $paused:clients=2 :hz=1000 ""
    fi
    ;;
*)
    echo "sequential, random or postmark, not $case" >&2
    exit 2
    ;;
esac
