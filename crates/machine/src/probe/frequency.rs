//! CPU frequency.

use std::path::Path;

/// Mean current frequency in MHz, from `devices/system/cpu/cpuN/cpufreq/scaling_cur_freq` below
/// `sys`, else from `cpu MHz` in `cpuinfo` below `proc`. `None` if unknown: without the flag
/// `aperfmperf`, as in most virtual machines, `cpu MHz` is a constant from boot time.
pub fn frequency_mhz(proc: &Path, sys: &Path) -> Option<f64> {
    of_cpufreq(&sys.join("devices/system/cpu")).or_else(|| {
        let text = std::fs::read_to_string(proc.join("cpuinfo")).ok()?;
        is_counted(&text).then(|| of_cpuinfo(&text))?
    })
}

fn of_cpufreq(cpus: &Path) -> Option<f64> {
    let khz = |entry: std::fs::DirEntry| -> Option<f64> {
        let name = entry.file_name();
        let number = name.to_str()?.strip_prefix("cpu")?;
        number.parse::<u32>().ok()?;
        // An offline CPU's file cannot be read.
        std::fs::read_to_string(entry.path().join("cpufreq/scaling_cur_freq"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    mean(std::fs::read_dir(cpus).ok()?.flatten().filter_map(khz)).map(|khz| khz / 1000.0)
}

/// Whether the CPU counts its cycles, so that `cpu MHz` is a measurement.
fn is_counted(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    flags.split_whitespace().any(|flag| flag == "aperfmperf")
}

fn of_cpuinfo(text: &str) -> Option<f64> {
    let value = |line: &str| {
        line.strip_prefix("cpu MHz")?.trim_start_matches([' ', ':', '\t']).trim().parse().ok()
    };
    mean(text.lines().filter_map(value))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(khz: &[Option<u64>], cpuinfo: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cpuinfo"), cpuinfo).unwrap();
        for (number, khz) in khz.iter().enumerate() {
            let cpufreq = dir.path().join(format!("devices/system/cpu/cpu{number}/cpufreq"));
            std::fs::create_dir_all(&cpufreq).unwrap();
            if let Some(khz) = khz {
                std::fs::write(cpufreq.join("scaling_cur_freq"), format!("{khz}\n")).unwrap();
            }
        }
        dir
    }

    fn read(dir: &tempfile::TempDir) -> Option<f64> {
        frequency_mhz(dir.path(), dir.path())
    }

    const COUNTED: &str = "flags\t\t: fpu aperfmperf sse\ncpu MHz\t\t: 2000.500\n\nflags\t\t: fpu aperfmperf sse\ncpu MHz\t\t: 3000.500\n";

    #[test]
    fn cpufreq_is_taken_first_and_cpus_that_are_offline_do_not_count() {
        assert_eq!(
            read(&machine(&[Some(2_400_000), None, Some(3_600_000)], COUNTED)),
            Some(3000.0)
        );
        let dir = machine(&[Some(2_400_000)], COUNTED);
        // cpufreq's own directory is not a CPU.
        let other = dir.path().join("devices/system/cpu/cpufreq/cpufreq");
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join("scaling_cur_freq"), "1\n").unwrap();
        assert_eq!(read(&dir), Some(2400.0));
    }

    #[test]
    fn without_cpufreq_the_counted_frequency_of_cpuinfo_is_taken_and_a_constant_is_not() {
        assert_eq!(read(&machine(&[], COUNTED)), Some(2500.5));
        assert_eq!(
            read(&machine(&[None], COUNTED)),
            Some(2500.5),
            "cpufreq that cannot be read is none"
        );
        assert_eq!(read(&machine(&[], &COUNTED.replace("aperfmperf", "hypervisor"))), None);
    }

    #[test]
    fn nothing_that_can_be_read_is_no_frequency() {
        assert_eq!(read(&machine(&[], "")), None);
        assert_eq!(
            read(&machine(&[Some(0)], "processor\t: 0\nBogoMIPS\t: 50.00\n")),
            None,
            "an ARM CPU reports none"
        );
        assert_eq!(frequency_mhz(Path::new("/nowhere"), Path::new("/nowhere")), None);
    }
}
