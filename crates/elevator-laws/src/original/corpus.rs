//! A corpus: scripts, and digests of what the original did with each.

/// FNV-1a.
pub fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
