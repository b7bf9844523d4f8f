//! A corpus: scripts with digests of the original's dispatches.
//!
//! The first line names the columns, each a scheduler and ticks per second. Every other line has a
//! digest per column, or `-` if the original crashed, then a colon and the script. A digest is
//! FNV-1a over the printed dispatches, in eight hexadecimal digits; dispatches would be five times
//! as long, and `selfbench oracle` prints them.

use std::fmt;

use elevator::{ElevatorKind, find};

use super::script::Script;

/// Maximum lines, and bytes per line.
const LINES: usize = 100_000;
const LINE_BYTES: usize = 200_000;

pub fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub kind: &'static ElevatorKind,
    pub hz: u32,
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.kind.name, self.hz)
    }
}

/// None: the original crashed.
#[derive(Debug, Clone)]
pub struct Case {
    pub script: Script,
    pub digests: Vec<Option<u32>>,
}

#[derive(Debug, Clone)]
pub struct Corpus {
    /// In the order of the digests.
    pub columns: Vec<Column>,
    pub cases: Vec<Case>,
}

impl Corpus {
    /// Errors name the line.
    pub fn parse(text: &str) -> Result<Corpus, String> {
        let mut lines = text.lines().zip(1..);
        let (head, _) = lines.next().ok_or("line 1: no columns; a corpus begins with them")?;
        let columns: Vec<Column> = head
            .split(' ')
            .map(column)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("line 1: {error}"))?;
        let mut cases = Vec::new();
        for (line, nr) in lines {
            if nr > LINES || line.len() > LINE_BYTES {
                return Err(format!(
                    "line {nr}: a corpus has at most {LINES} lines of {LINE_BYTES} bytes"
                ));
            }
            cases.push(case(line, columns.len()).map_err(|error| format!("line {nr}: {error}"))?);
        }
        Ok(Corpus { columns, cases })
    }
}

impl fmt::Display for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<String> = self.columns.iter().map(Column::to_string).collect();
        writeln!(f, "{}", columns.join(" "))?;
        for Case { script, digests } in &self.cases {
            let digests: Vec<String> = digests
                .iter()
                .map(|digest| digest.map_or("-".to_owned(), |digest| format!("{digest:08x}")))
                .collect();
            writeln!(f, "{}: {script}", digests.join(" "))?;
        }
        Ok(())
    }
}

fn column(word: &str) -> Result<Column, String> {
    let parts = word.split_once('@').and_then(|(name, hz)| Some((find(name)?, hz.parse().ok()?)));
    let known = parts.filter(|(_, hz)| (1..=10_000).contains(hz));
    let (kind, hz) = known
        .ok_or_else(|| format!("{}: is no column (expected SCHEDULER@HZ)", word.escape_debug()))?;
    Ok(Column { kind, hz })
}

fn case(line: &str, columns: usize) -> Result<Case, String> {
    let (digests, script) =
        line.split_once(": ").ok_or("no script; digests, a colon and a script are expected")?;
    let digests: Vec<Option<u32>> =
        digests.split(' ').map(read_digest).collect::<Result<_, _>>()?;
    if digests.len() != columns {
        return Err(format!("digests: wrong number (found {}, expected {columns})", digests.len()));
    }
    Ok(Case { script: script.parse()?, digests })
}

fn read_digest(word: &str) -> Result<Option<u32>, String> {
    if word == "-" {
        return Ok(None);
    }
    let value = u32::from_str_radix(word, 16).ok().filter(|_| word.len() == 8);
    value.map(Some).ok_or_else(|| {
        format!("{}: is no digest (expected eight hexadecimal digits)", word.escape_debug())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "noop@250 cfq@1000\n00000001 -: 1 64 r0:0+8 c0\nfeed5eed 01234567: 4 8 w1:8+8! t3\n";

    #[test]
    fn a_corpus_is_read_as_it_is_written() {
        assert_eq!(Corpus::parse(TEXT).unwrap().to_string(), TEXT);
    }

    #[test]
    fn a_line_that_does_not_parse_is_named() {
        for (from, to, line) in [
            ("cfq@1000", "cfq", 1),
            ("noop@250", "nobody@250", 1),
            ("00000001 -", "00000001", 2),
            ("feed5eed", "feed", 3),
            ("t3", "t3x", 3),
            (": 4 8", " 4 8", 3),
        ] {
            let error = Corpus::parse(&TEXT.replace(from, to)).unwrap_err();
            assert!(error.starts_with(&format!("line {line}: ")), "{from} → {to}: {error}");
        }
        assert!(Corpus::parse("").unwrap_err().starts_with("line 1: "));
    }
}
