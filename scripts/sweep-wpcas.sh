#!/bin/sh
# Prints the sensitivity tables of docs/wpcas-sequential.md, docs/wpcas-random.md and docs/wpcas-postmark.md, as Markdown.
#
#     scripts/sweep-wpcas.sh sequential|random|postmark [DIMENSION...]
#
# Each row is one `schedlab compare --arena sim` of six blocks with AS as the baseline. Nothing is written but a temporary directory.
# SCHEDLAB names the program if it is not on the PATH.
set -eu

schedlab=${SCHEDLAB:-schedlab}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
slow=60s # virtual time of a trial on a slow drive

# head TITLE: begins a table.
head() {
    printf '\n%s\n\n' "$1"
    echo '| | noop | deadline | cfq | AS | antic-95 | WPCAS | WPCAS against AS | waits AS / WPCAS | of them failed | Jain AS / WPCAS |'
    echo '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|'
}

# row LABEL DEVICE WORKLOAD COMMON WPCAS: one comparison. COMMON are tunables of every arm, WPCAS those of wpcas alone; each begins with a colon.
row() {
    rm -rf "$scratch/out"
    case $2 in # a fast device makes as many requests in less time
    hp97560*) time=$slow ;;
    nvme*) time=1s ;;
    *) time=20s ;;
    esac
    arms="noop=noop$4,deadline=deadline$4,cfq=cfq$4,as=anticipatory$4,antic-95=antic-95$4,wpcas=wpcas$4$5"
    if ! "$schedlab" compare --arena sim --device "$2" --schedulers "$arms" --workload "$3" --baseline as --blocks 6 \
        --trial-time "$time" --out "$scratch/out" --quiet >"$scratch/said" 2>&1; then
        echo "| $1 | failed: $(tail -n 1 "$scratch/said") |"
        return
    fi
    awk -F, -v label="$1" '
        function mean(arm, metric) { return n[arm, metric] ? sum[arm, metric] / n[arm, metric] : "nan" }
        function share(arm) { w = mean(arm, "anticipations"); f = mean(arm, "anticipation_failures"); return w > 0 ? sprintf("%.1f %%", 100 * f / w) : "-" }
        function jain(arm) { f = mean(arm, "fairness_jain"); return f == "nan" ? "-" : sprintf("%.2f", f) }
        # In trials.csv and judgements.csv the columns that matter come before any that may hold a quoted comma.
        FILENAME ~ /trials/ && $10 == "false" { sum[$5, $8] += $9; n[$5, $8]++ }
        FILENAME ~ /judgements/ && $2 == "throughput_mb_per_s" && $4 == "wpcas" {
            against = $7 == "" ? sprintf("%+.1f %%", 100 * ($6 - 1)) : sprintf("%+.1f %% [%+.1f, %+.1f]", 100 * ($6 - 1), 100 * ($7 - 1), 100 * ($8 - 1))
        }
        END {
            m = "throughput_mb_per_s"
            printf "| %s | %.3g | %.3g | %.3g | %.3g | %.3g | %.3g | %s | %.0f / %.0f | %s / %s | %s / %s |\n", label, mean("noop", m), mean("deadline", m), mean("cfq", m),
                mean("as", m), mean("antic-95", m), mean("wpcas", m), against, mean("as", "anticipations"), mean("wpcas", "anticipations"),
                share("as"), share("wpcas"), jain("as"), jain("wpcas")
        }' "$scratch/out/trials.csv" "$scratch/out/judgements.csv"
}

# What the study leaves open about WPCAS itself. CASE: DEVICE WORKLOAD COMMON
gamma() {
    head "γ, share of intervals that the densest window must hold ($2 on $1$3)"
    for percent in 30 50 70 90; do row "γ = $percent %" "$1" "$2" "$3" ":gamma_percent=$percent"; done
}
window() {
    head "n, intervals remembered ($2 on $1$3)"
    for n in 16 64 256 1024; do row "n = $n" "$1" "$2" "$3" ":window=$n"; done
}
width() {
    head "width of the densest interval, its end, and the clock ($2 on $1$3)"
    for ms in 1 2 4 8; do row "$ms ms" "$1" "$2" "$3" ":width_ms=$ms"; done
    row "region=1 (fullest bin and its slopes)" "$1" "$2" "$3" ":region=1"
    row "which_j=1 (middle)" "$1" "$2" "$3" ":which_j=1"
    row "fine_clock=1, bins of 100 µs" "$1" "$2" "$3" ":fine_clock=1:bin_us=100"
}
rules() {
    head "other readings ($2 on $1$3)"
    row "as proposed" "$1" "$2" "$3" ""
    row "tas=1 (literal)" "$1" "$2" "$3" ":tas=1"
    row "tas=1, γ = 90 %" "$1" "$2" "$3" ":tas=1:gamma_percent=90"
    row "relearn=0 (never)" "$1" "$2" "$3" ":relearn=0"
    row "relearn=16" "$1" "$2" "$3" ":relearn=16"
    row "interval=1 (arrival to arrival)" "$1" "$2" "$3" ":interval=1"
    row "nearest=1" "$1" "$2" "$3" ":nearest=1"
    row "mean_close=1 (AS's rule kept)" "$1" "$2" "$3" ":mean_close=1"
    row "class=1 (one history for all)" "$1" "$2" "$3" ":class=1"
}
ticks() {
    head "HZ ($2 on $1)"
    for hz in 1000 250 100; do row "HZ = $hz" "$1" "$2" ":hz=$hz" ""; done
}
turnaround() {
    head "fixed think time of every process ($2 on $1)"
    for us in 10 100 500 1000 3000 5000; do row "$us µs" "$1" "$2" ":hz=1000:turnaround_us=$us" ""; done
}
# thinking WORKLOAD-PREFIX DEVICE
thinking() {
    head "think times that vary ($2 on $1)"
    for dist in fixed uniform exponential bimodal; do
        for mean in 500us 1ms 2ms; do row "$dist, $mean" "$1" "$2:think_dist=$dist:think_time=$mean" ":hz=1000" ""; done
    done
}
drives() {
    head "drive ($1)"
    for drive in hp97560 hp97560:read_ahead=0 barracuda7200 cheetah9lp wd4tb7200:queue_depth=1 wd4tb7200 nvme; do
        row "$drive" "$drive" "$1" "$2" ""
    done
}

case=${1:?sequential, random or postmark}
shift
wanted=${*:-all}
do_it() { case " $wanted " in *" all "* | *" $1 "*) return 0 ;; *) return 1 ;; esac; }

case $case in
sequential)
    think=think-mix:clients=10:file_size=16M:think_dist=exponential:think_time=1ms
    files=iozone:clients=10:file_size=8M
    if do_it files; then
        head "distance of files, 10 processes (hp97560, HZ 1000)"
        for size in 512k 1M 2M 4M 8M 32M; do row "files of $size" hp97560 "iozone:clients=10:file_size=$size" ":hz=1000" ""; done
        head "number of processes, files of 8 MiB (hp97560, HZ 1000)"
        for n in 10 40 80; do row "$n processes" hp97560 "iozone:clients=$n:file_size=8M" ":hz=1000" ""; done
        head "phase, 10 processes (hp97560, HZ 1000)"
        for phase in write read; do
            row "$phase, 512 KiB" hp97560 "iozone:clients=10:phase=$phase" ":hz=1000" ""
            row "$phase, 8 MiB" hp97560 "iozone:clients=10:phase=$phase:file_size=8M" ":hz=1000" ""
        done
    fi
    if do_it gamma; then gamma hp97560 $think :hz=1000; fi
    if do_it window; then window hp97560 $think :hz=1000; fi
    if do_it width; then width hp97560 $think :hz=1000; fi
    if do_it rules; then rules hp97560 $think :hz=1000; fi
    if do_it ticks; then ticks hp97560 $files; fi
    if do_it turnaround; then turnaround hp97560 $files; fi
    if do_it thinking; then thinking hp97560 think-mix:clients=10:file_size=16M; fi
    if do_it drives; then drives iozone:clients=10:file_size=512k :hz=1000; drives $files :hz=1000; fi
    ;;
random)
    think=think-mix:clients=8:random_share=100:file_size=16M:think_dist=exponential:think_time=2ms
    if do_it files; then
        head "size of files, 10 processes (hp97560, HZ 1000)"
        for size in 512k 2M 8M 32M; do row "files of $size" hp97560 "iozone:clients=10:phase=randread:file_size=$size" ":hz=1000" ""; done
        head "phase, 10 processes (hp97560, HZ 1000)"
        for phase in randread randwrite; do row "$phase" hp97560 "iozone:clients=10:phase=$phase" ":hz=1000" ""; done
    fi
    if do_it gamma; then gamma barracuda7200 $think :hz=1000; fi
    if do_it window; then window barracuda7200 $think :hz=1000; fi
    if do_it width; then width barracuda7200 $think :hz=1000; fi
    if do_it rules; then rules barracuda7200 $think :hz=1000; fi
    if do_it ticks; then ticks hp97560 iozone:clients=10:phase=randread:file_size=8M; fi
    if do_it turnaround; then turnaround hp97560 iozone:clients=10:phase=randread:file_size=8M; fi
    if do_it thinking; then thinking barracuda7200 think-mix:clients=8:random_share=100:file_size=16M; fi
    if do_it drives; then drives iozone:clients=10:phase=randread:file_size=512k :hz=1000; drives iozone:clients=10:phase=randread:file_size=8M :hz=1000; fi
    ;;
postmark)
    slow=600s
    web=postmark:seed=trial:number=500:transactions=2000:bias_read=10:bias_create=off:block_size=4k:read_block=16k:write_block=16k
    served=$web:clients=4:think_dist=exponential:think_time=600us
    if do_it clients; then
        head "number of processes (hp97560, HZ 1000)"
        for n in 1 2 4 8 16; do row "$n" hp97560 "$web:clients=$n:think_dist=exponential:think_time=600us" ":hz=1000" ""; done
        head "kind of load, 4 processes (hp97560, HZ 1000)"
        think=think_dist=exponential:think_time=600us
        row "mail server, direct" hp97560 "postmark:seed=trial:clients=4:transactions=200:number=200:$think" ":hz=1000" ""
        row "mail server, buffered" hp97560 "postmark:seed=trial:clients=4:transactions=200:number=200:direct=false:$think" ":hz=1000" ""
        row "web server in reads of 512 bytes" hp97560 "postmark:seed=trial:clients=4:bias_read=10:bias_create=off:number=200:transactions=1000:$think" ":hz=1000" ""
    fi
    if do_it thinking; then thinking hp97560 "$web:clients=4"; fi
    if do_it turnaround; then turnaround hp97560 "$web:clients=4"; fi
    if do_it drives; then drives "$served" :hz=1000; fi
    if do_it gamma; then gamma hp97560 $served :hz=1000; fi
    if do_it window; then window hp97560 $served :hz=1000; fi
    if do_it width; then width hp97560 $served :hz=1000; fi
    if do_it rules; then rules hp97560 $served :hz=1000; fi
    if do_it ticks; then ticks hp97560 "$served"; fi
    ;;
*)
    echo "sequential, random or postmark, not $case" >&2
    exit 2
    ;;
esac
