//! ClickHouse's rules for chains: which codecs make sense together, and for which types.

use basalt_base::{ErrorCode, Result, SqlType, bail};

use crate::{CodecChain, CodecSpec};

const HINT: &str = "the setting `allow_suspicious_codecs` lets it pass";

impl CodecChain {
    /// Fails if the chain is *suspicious*: if it makes no sense for a column of type `ty`.
    pub fn check(&self, ty: &SqlType) -> Result<()> {
        check_links(self.links(), ty)
    }
}

fn check_links(links: &[CodecSpec], ty: &SqlType) -> Result<()> {
    let shown = || links.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let (_, before) = links.split_last().expect("a chain has a link");
    if links.len() > 1 && links.contains(&CodecSpec::None) {
        bail!(BadArguments, "codec NONE stands alone, found {}; {HINT}", shown());
    }
    if before.iter().any(|link| link.is_compressor()) {
        bail!(BadArguments, "nothing is to follow a compressor, found {}; {HINT}", shown());
    }
    let is_gorilla = |link: &CodecSpec| matches!(link, CodecSpec::Gorilla { .. });
    if links.iter().any(is_gorilla) && !has_float(ty) {
        bail!(BadArguments, "{} is for floats, which {ty} has not; {HINT}", shown());
    }
    let is_delta = |link: &CodecSpec| matches!(link, CodecSpec::Delta { .. } | CodecSpec::DoubleDelta { .. });
    if let Some(delta) = links.iter().position(is_delta)
        && links[delta..].iter().any(|link| link.is_for_floats())
    {
        let what = "takes differences by itself, none are to be taken before it";
        bail!(BadArguments, "a codec for floats {what}, found {}; {HINT}", shown());
    }
    if links.iter().all(|link| link.only_prepares()) {
        let shown = shown();
        bail!(
            BadArguments,
            "{shown} compresses nothing; end the chain with a compressor: {shown}, LZ4; {HINT}"
        );
    }
    Ok(())
}

/// Whether the type contains floats.
fn has_float(ty: &SqlType) -> bool {
    match ty {
        SqlType::Float32 | SqlType::Float64 => true,
        SqlType::Nullable(inner) | SqlType::LowCardinality(inner) | SqlType::Array(inner) => has_float(inner),
        SqlType::Tuple(elements) => elements.iter().any(|element| has_float(&element.ty)),
        _ => false,
    }
}

/// Fails with `code` unless every scalar type in `ty` fulfils `fits`.
pub(crate) fn check_scalars(
    name: &str,
    ty: &SqlType,
    code: ErrorCode,
    fits: fn(&SqlType) -> bool,
) -> Result<()> {
    match ty {
        SqlType::Nullable(inner) | SqlType::LowCardinality(inner) | SqlType::Array(inner) => {
            check_scalars(name, inner, code, fits)
        }
        SqlType::Tuple(elements) => {
            elements.iter().try_for_each(|element| check_scalars(name, &element.ty, code, fits))
        }
        SqlType::Map(key, value) => {
            check_scalars(name, key, code, fits)?;
            check_scalars(name, value, code, fits)
        }
        scalar if fits(scalar) => Ok(()),
        scalar => {
            let message = format!("codec {name} is not applicable to values of type {scalar}");
            Err(basalt_base::Error::new(code, message))
        }
    }
}

pub(crate) fn is_float(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Float32 | SqlType::Float64)
}

/// Integers of up to 8 bytes, and types stored as such.
pub(crate) fn is_t64_type(ty: &SqlType) -> bool {
    is_number(ty) && !is_float(ty)
}

/// Numbers of up to 8 bytes, and types stored as such.
pub(crate) fn is_number(ty: &SqlType) -> bool {
    has_integer_width(ty) && !matches!(ty, SqlType::FixedString(_))
}

/// Values of 1, 2, 4 or 8 bytes.
pub(crate) fn has_integer_width(ty: &SqlType) -> bool {
    matches!(value_bytes(ty), Some(1 | 2 | 4 | 8))
}

/// Integers, decimals, dates and times of any width.
pub(crate) fn is_gcd_type(ty: &SqlType) -> bool {
    match ty {
        SqlType::Decimal { .. } => true,
        SqlType::Enum8(_) | SqlType::Enum16(_) | SqlType::Ipv4 => false,
        other => is_t64_type(other),
    }
}

/// The width of a value of this type, if it is fixed.
pub(crate) fn value_bytes(ty: &SqlType) -> Option<usize> {
    match ty {
        SqlType::Decimal { precision: 0..=9, .. } => Some(4),
        SqlType::Decimal { precision: 10..=18, .. } => Some(8),
        other => other.fixed_bytes(),
    }
}
