//! Streams protocol buffers, because a parsed message could take a thousandfold memory.

use anyhow::{Result, bail};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

pub(super) enum Field<'a> {
    Number(u32, u64),
    Bytes(u32, &'a [u8]),
}

/// Passes numbers and byte strings in order.
pub(super) fn fields(message: &[u8], each: &mut dyn FnMut(Field<'_>) -> Result<()>) -> Result<()> {
    let mut rest = message;
    while !rest.is_empty() {
        let (tag, kind) = decode_key(&mut rest)?;
        match kind {
            WireType::Varint => each(Field::Number(tag, decode_varint(&mut rest)?))?,
            WireType::LengthDelimited => {
                let length = decode_varint(&mut rest)?;
                let Some((bytes, after)) =
                    usize::try_from(length).ok().and_then(|at| rest.split_at_checked(at))
                else {
                    bail!(
                        "field {tag}: longer than its message (found {length} bytes, expected at most {})",
                        rest.len()
                    );
                };
                rest = after;
                each(Field::Bytes(tag, bytes))?;
            }
            other => skip_field(other, tag, &mut rest, DecodeContext::default())?,
        }
    }
    Ok(())
}
