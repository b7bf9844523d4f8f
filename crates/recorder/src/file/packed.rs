//! Compressed files: gzip and zstd, with any number of members or frames.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    /// Detected by the first bytes.
    pub(super) fn of(begin: &[u8]) -> Option<Packing> {
        if begin.starts_with(&[0x1f, 0x8b]) {
            Some(Packing::Gzip)
        } else if begin.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Packing::Zstd)
        } else {
            None
        }
    }
}
