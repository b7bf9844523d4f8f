//! Parses PostMark's verbose report.
//!
//! Times are whole seconds, at least 1; bytes have two decimals of a unit of 2^10, 2^20 … bytes.

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Report {
    pub(super) total_s: f64,
    pub(super) transactions_s: f64,
    /// An integer, calculated from whole seconds.
    pub(super) tps: f64,
    pub(super) created: u64,
    pub(super) read: u64,
    pub(super) appended: u64,
    pub(super) deleted: u64,
    pub(super) bytes_read: Rounded,
    pub(super) bytes_written: Rounded,
}

/// Bytes as PostMark prints them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rounded {
    pub(super) bytes: f64,
    /// Maximum error: half of the last decimal.
    pub(super) within: f64,
}

impl Rounded {
    /// Compares like PostMark, which calculates with 24 bits.
    pub(super) fn prints_as(self, bytes: u64) -> bool {
        (self.bytes - bytes as f64).abs() <= self.within * 1.01 + bytes as f64 * 1e-6
    }
}

impl Report {
    pub(super) fn read(printed: &str) -> Result<Report, String> {
        // Before, `show` prints numbers too.
        let report = printed.rsplit_once("\nTime:").map(|(_, report)| report);
        let report = Lines(report.ok_or("report (Time: …)")?.lines().map(str::trim).collect());
        Ok(Report {
            total_s: report.number("seconds total")?,
            transactions_s: report.number("seconds of transactions (")?,
            tps: report.rate("seconds of transactions (")?,
            created: report.count("created (")?,
            read: report.count("read (")?,
            appended: report.count("appended (")?,
            deleted: report.count("deleted (")?,
            bytes_read: report.bytes("bytes read (")?,
            bytes_written: report.bytes("bytes written (")?,
        })
    }
}

struct Lines<'a>(Vec<&'a str>);

impl<'a> Lines<'a> {
    /// The text before and after `words`, in a line with only a number and these.
    fn text_around(&self, words: &str) -> Result<(&'a str, &'a str), String> {
        let found = self.0.iter().filter_map(|line| line.split_once(words));
        let mut found =
            found.filter(|(before, _)| before.starts_with(|first: char| first.is_ascii_digit()));
        found.next().ok_or_else(|| format!("line `… {}`", words.trim_end_matches(" (")))
    }

    fn number(&self, words: &str) -> Result<f64, String> {
        let (before, _) = self.text_around(words)?;
        number(before).ok_or_else(|| format!("number before `{words}` (found `{before}`)"))
    }

    fn count(&self, words: &str) -> Result<u64, String> {
        let whole =
            |line: &&&str| line.split_once(' ').is_some_and(|(_, rest)| rest.starts_with(words));
        let line = self
            .0
            .iter()
            .find(whole)
            .ok_or_else(|| format!("line `… {}`", words.trim_end_matches(" (")))?;
        let before = line.split(' ').next().unwrap_or_default();
        before.parse().map_err(|_| format!("whole number before `{words}` (found `{before}`)"))
    }

    fn rate(&self, words: &str) -> Result<f64, String> {
        let (_, after) = self.text_around(words)?;
        let rate = after.split(' ').next().unwrap_or_default();
        number(rate).ok_or_else(|| format!("rate after `{words}` (found `{rate}`)"))
    }

    fn bytes(&self, words: &str) -> Result<Rounded, String> {
        let (before, _) = self.text_around(words)?;
        let (value, unit) = before.split_once(' ').unwrap_or((before, ""));
        let unit = match unit {
            "" => 1.0,
            "kilo" => 1024.0,
            "mega" => 1_048_576.0,
            "giga" => 1_073_741_824.0,
            "tera" => 1_099_511_627_776.0,
            _ => return Err(format!("unit that is known before `{words}` (found `{unit}`)")),
        };
        let value =
            number(value).ok_or_else(|| format!("number of `{words}` (found `{value}`)"))?;
        Ok(Rounded { bytes: value * unit, within: unit * 0.005 })
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of Debian 13; 50 files, 100 transactions, seed 42.
    const PRINTED: &str = "PostMark v1.51 : 8/14/01\npm>Transactions: 100\npm>Creating files...Done\nPerforming transactions..........Done
Deleting files...Done\nTime:\n\t1 seconds total\n\t2 seconds of transactions (50 per second)\n\nFiles:\n\t100 created (100 per second)
\t\tCreation alone: 50 files (50 per second)\n\t\tMixed with transactions: 50 files (50 per second)\n\t53 read (53 per second)
\t47 appended (47 per second)\n\t100 deleted (100 per second)\n\t\tDeletion alone: 50 files (50 per second)
\t\tMixed with transactions: 50 files (50 per second)\n\nData:\n\t350.03 kilobytes read (350.03 kilobytes per second)
\t633.60 kilobytes written (633.60 kilobytes per second)\npm>";

    #[test]
    fn every_figure_is_read_with_its_unit() {
        let report = Report::read(PRINTED).unwrap();
        assert_eq!((report.total_s, report.transactions_s, report.tps), (1.0, 2.0, 50.0));
        assert_eq!(
            (report.created, report.read, report.appended, report.deleted),
            (100, 53, 47, 100)
        );
        assert_eq!(report.bytes_read, Rounded { bytes: 350.03 * 1024.0, within: 5.12 });
        assert!(
            report.bytes_written.prints_as(648_806) && !report.bytes_written.prints_as(648_700)
        );
        let large =
            Report::read(&PRINTED.replace("350.03 kilobytes read", "1.36 megabytes read")).unwrap();
        assert_eq!(large.bytes_read.bytes, 1.36 * 1_048_576.0);
        let small =
            Report::read(&PRINTED.replace("350.03 kilobytes read", "0.00 bytes read")).unwrap();
        assert_eq!(small.bytes_read.bytes, 0.0);
    }

    #[test]
    fn a_figure_that_is_missing_is_named_and_never_a_zero() {
        let lines = [
            "seconds total",
            "seconds of transactions",
            "created",
            "53 read",
            "appended",
            "deleted",
            "bytes read",
            "bytes written",
        ];
        for line in lines {
            let without: Vec<&str> =
                PRINTED.lines().filter(|other| !other.contains(line)).collect();
            let missing = Report::read(&without.join("\n")).unwrap_err();
            assert!(missing.contains(line.trim_start_matches("53 ")), "{line}: {missing}");
        }
        assert!(Report::read("pm>").unwrap_err().contains("report"));
        let error = Report::read(&PRINTED.replace("350.03 kilo", "350.03 pet")).unwrap_err();
        assert!(error.contains("found `pet`"), "{error}");
    }
}
