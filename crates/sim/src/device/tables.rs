//! Writes a model in the binary form of the kernel's block driver: little-endian numbers after a
//! header of magic, version and length.
//!
//! kernel/core/disk-model.h defines the layout. Raise [`VERSION`] with it.

/// "SLDM".
const MAGIC: u32 = 0x4d44_4c53;
const VERSION: u32 = 2;
const LENGTH_AT: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Hdd = 1,
    Null = 2,
    Measured = 3,
    Flash = 4,
}

#[derive(Debug)]
pub(super) struct Tables {
    bytes: Vec<u8>,
}

impl Tables {
    pub(super) fn new(kind: Kind, sectors: u64, queue_depth: u32) -> Tables {
        let mut bytes = Vec::new();
        for word in [MAGIC, VERSION, kind as u32, 0] {
            bytes.extend(word.to_le_bytes());
        }
        Tables { bytes }.numbers(&[sectors, queue_depth.into()])
    }

    pub(super) fn numbers(self, numbers: &[u64]) -> Tables {
        self.raw(numbers.iter().flat_map(|number| number.to_le_bytes()))
    }

    pub(super) fn words(self, words: &[u32]) -> Tables {
        self.raw(words.iter().flat_map(|word| word.to_le_bytes()))
    }

    pub(super) fn raw(mut self, bytes: impl IntoIterator<Item = u8>) -> Tables {
        self.bytes.extend(bytes);
        self
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).expect("a million cylinders are 4 MB");
        self.bytes[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&length.to_le_bytes());
        self.bytes
    }
}
