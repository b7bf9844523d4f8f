//! Units: from the table for our metrics, from the name for others; a column without a unit is
//! printed bare.

/// The unit of a metric, from the table or its name; empty if unknown.
pub fn unit_of(metric_name: &str) -> String {
    if let Some(row) = super::find(metric_name) {
        return row.unit.into();
    }
    let lower = metric_name.to_ascii_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    match words[..] {
        [.., count, "per", span] => format!("{}/{}", unit_word(count), unit_word(span)),
        [.., count, "s"]
            if unit_word(count).ends_with('B') || unit_word(count).ends_with("bit") =>
        {
            format!("{}/s", unit_word(count))
        }
        [.., last] if matches!(last, "percent" | "ns" | "us" | "ms" | "s" | "sec" | "seconds") => {
            unit_word(last).into()
        }
        _ => {
            let rates = [
                ("iops", "IO/s"),
                ("tps", "TPS"),
                ("kflops", "KFLOPS"),
                ("mflops", "MFLOPS"),
                ("gflops", "GFLOPS"),
            ];
            let found = rates.into_iter().find(|(word, _)| words.contains(word));
            found.map_or_else(String::new, |(_, unit)| unit.into())
        }
    }
}

/// The unit for a word of a metric's name; other words unchanged.
fn unit_word(word: &str) -> &str {
    match word {
        "b" | "byte" | "bytes" => "B",
        "kb" => "kB",
        "mb" => "MB",
        "gb" => "GB",
        "kib" => "KiB",
        "mib" => "MiB",
        "gib" => "GiB",
        "mbit" => "Mbit",
        "gbit" => "Gbit",
        "percent" => "%",
        "us" => "µs",
        "s" | "sec" | "second" | "seconds" => "s",
        "io" => "I/O",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_foreign_metrics_stand_in_their_names() {
        for (name, unit) in [
            ("throughput_kbit_per_s", "kbit/s"),
            ("cached_reads_mb_per_s", "MB/s"),
            ("buffered_disk_reads_mb_per_s", "MB/s"),
            ("mb_s", "MB/s"),
            ("mflops", "MFLOPS"),
            ("tps_excluding_connections", "TPS"),
            ("tps_including_connections", "TPS"),
            ("latency_average_ms", "ms"),
            ("deceptive_idle_ms", "ms"),
            ("time_s", "s"),
            ("dgefa_percent", "%"),
            ("requests_per_second", "requests/s"),
            ("relative_throughput_to_cfq", ""),
            ("transactions", ""),
            ("anticipations", "waits"),
            ("", ""),
        ] {
            assert_eq!(unit_of(name), unit, "{name}");
        }
    }
}
