//! The CODEC clause of a column: names and arguments to a [`CodecChain`], by ClickHouse's rules.
//!
//! A chain must make sense: `NONE` stands alone, nothing follows a compressor, something must
//! compress (`DoubleDelta` does), and a transform needs values of a width that it knows.

use basalt_base::{ErrorCode, Result, SqlType, bail, suggest};

use crate::chain::LINKS_MAX;
use crate::zstandard::LEVEL_MAX;
use crate::{CodecChain, CodecSpec};

const NAMES: [&str; 6] = ["NONE", "LZ4", "LZ4HC", "ZSTD", "Delta", "DoubleDelta"];

/// One argument of a codec in the clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodecArgument {
    Number(u64),
    /// Anything else, as SQL text: no codec takes it.
    Other(String),
}

impl CodecChain {
    /// The chain that `CODEC(name(arguments), ...)` gives a column of type `ty`.
    pub fn parse<'a>(
        calls: impl IntoIterator<Item = (&'a str, Vec<CodecArgument>)>,
        ty: &SqlType,
    ) -> Result<CodecChain> {
        let mut links = Vec::new();
        for (name, arguments) in calls {
            links.push(parse_link(name, &arguments, ty)?);
            if links.len() > LINKS_MAX {
                bail!(BadArguments, "a column has at most {LINKS_MAX} codecs");
            }
        }
        check_chain(&links)?;
        Ok(CodecChain::new(links))
    }
}

fn parse_link(name: &str, arguments: &[CodecArgument], ty: &SqlType) -> Result<CodecSpec> {
    match name {
        "NONE" | "LZ4" => {
            if !arguments.is_empty() {
                bail!(DataTypeCannotHaveArguments, "codec {name} has no arguments");
            }
            Ok(if name == "NONE" { CodecSpec::None } else { CodecSpec::Lz4 })
        }
        "Default" => Ok(CodecSpec::Lz4),
        "LZ4HC" => Ok(CodecSpec::Lz4hc { level: level(name, arguments, 0, u8::MAX)? }),
        "ZSTD" => Ok(CodecSpec::Zstd { level: level(name, arguments, 1, LEVEL_MAX)? }),
        "Delta" => Ok(CodecSpec::Delta { width: width(name, arguments, ty)? }),
        "DoubleDelta" => Ok(CodecSpec::DoubleDelta { width: width(name, arguments, ty)? }),
        "Gorilla" | "T64" | "GCD" | "FPC" | "ALP" | "AES_128_GCM_SIV" | "AES_256_GCM_SIV" | "ZSTD_QAT"
        | "DEFLATE_QPL" => Err(basalt_base::Error::not_implemented(format_args!("codec {name}"))),
        _ => bail!(UnknownCodec, "codec `{name}` is unknown{}", suggest::did_you_mean(name, NAMES)),
    }
}

fn single_argument(name: &str, arguments: &[CodecArgument]) -> Result<Option<u64>> {
    match arguments {
        [] => Ok(None),
        [CodecArgument::Number(number)] => Ok(Some(*number)),
        [CodecArgument::Other(text)] => {
            bail!(IllegalCodecParameter, "the argument of codec {name} is an unsigned number, not {text}")
        }
        _ if name == "ZSTD" => {
            Err(basalt_base::Error::not_implemented("the window size, second argument of codec ZSTD"))
        }
        _ => bail!(IllegalCodecParameter, "codec {name} has one argument, found {}", arguments.len()),
    }
}

fn level(name: &str, arguments: &[CodecArgument], default: u8, max: u8) -> Result<u8> {
    let Some(level) = single_argument(name, arguments)? else { return Ok(default) };
    match u8::try_from(level) {
        Ok(level) if level <= max => Ok(level),
        _ => bail!(IllegalCodecParameter, "the level of codec {name} is at most {max}, found {level}"),
    }
}

/// The width of a transform: the argument, else that of the type; 0 where each part of the type has
/// its own.
fn width(name: &str, arguments: &[CodecArgument], ty: &SqlType) -> Result<u8> {
    let argument = single_argument(name, arguments)?;
    let of_type = type_width(name, ty)?;
    match argument {
        // ClickHouse's SHOW CREATE prints the width of `Delta` and not that of `DoubleDelta`.
        None if name == "DoubleDelta" => Ok(0),
        None => Ok(of_type),
        Some(width @ (1 | 2 | 4 | 8)) => Ok(width as u8),
        Some(width) => {
            bail!(IllegalCodecParameter, "the argument of codec {name} is 1, 2, 4 or 8, found {width}")
        }
    }
}

fn type_width(name: &str, ty: &SqlType) -> Result<u8> {
    match ty {
        SqlType::Nullable(inner) | SqlType::LowCardinality(inner) | SqlType::Array(inner) => {
            type_width(name, inner)
        }
        SqlType::Tuple(elements) => {
            elements.iter().try_for_each(|element| type_width(name, &element.ty).map(|_| ()))?;
            Ok(0)
        }
        SqlType::Map(key, value) => type_width(name, key).and(type_width(name, value)).map(|_| 0),
        scalar => match scalar.fixed_bytes() {
            Some(width @ (1 | 2 | 4 | 8)) => Ok(width as u8),
            Some(_) => {
                bail!(BadArguments, "codec {name} needs values of 1, 2, 4 or 8 bytes, which {ty} has not")
            }
            None => bail!(BadArguments, "codec {name} needs values of a fixed size, which {ty} has not"),
        },
    }
}

fn check_chain(links: &[CodecSpec]) -> Result<()> {
    let shown = || links.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let Some((_, before)) = links.split_last() else {
        return Err(basalt_base::Error::new(ErrorCode::BadArguments, "CODEC() names no codec"));
    };
    if links.len() > 1 && links.contains(&CodecSpec::None) {
        bail!(BadArguments, "codec NONE stands alone, found {}", shown());
    }
    if before.iter().any(|link| link.is_compressor()) {
        bail!(BadArguments, "nothing is to follow a compressor, found {}", shown());
    }
    let compresses = |link: &CodecSpec| !matches!(link, CodecSpec::Delta { .. });
    if !links.iter().any(compresses) {
        let shown = shown();
        bail!(BadArguments, "{shown} compresses nothing; end the chain with a compressor: {shown}, LZ4");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(calls: &[(&str, &[u64])], ty: SqlType) -> Result<String> {
        let calls = calls.iter().map(|(name, arguments)| {
            (*name, arguments.iter().map(|&number| CodecArgument::Number(number)).collect())
        });
        CodecChain::parse(calls, &ty).map(|chain| chain.to_string())
    }

    fn code(calls: &[(&str, &[u64])], ty: SqlType) -> ErrorCode {
        check(calls, ty).unwrap_err().code()
    }

    #[test]
    fn parameters_get_their_defaults() {
        let number = || SqlType::UInt32;
        assert_eq!(check(&[("LZ4HC", &[])], number()).unwrap(), "LZ4HC(0)");
        assert_eq!(check(&[("ZSTD", &[])], number()).unwrap(), "ZSTD(1)");
        assert_eq!(check(&[("Delta", &[]), ("LZ4", &[])], number()).unwrap(), "Delta(4), LZ4");
        assert_eq!(check(&[("DoubleDelta", &[])], SqlType::DateTime(None)).unwrap(), "DoubleDelta");
        let array = SqlType::array_of(SqlType::UInt16.into_nullable());
        assert_eq!(check(&[("Delta", &[]), ("LZ4", &[])], array).unwrap(), "Delta(2), LZ4");
        let tuple = SqlType::tuple_of([SqlType::UInt8, SqlType::UInt64]);
        assert_eq!(check(&[("Delta", &[]), ("LZ4", &[])], tuple).unwrap(), "Delta, LZ4");
    }

    #[test]
    fn senseless_chains_are_refused() {
        let number = || SqlType::UInt32;
        assert_eq!(code(&[("Foo", &[])], number()), ErrorCode::UnknownCodec);
        assert_eq!(code(&[("lz4", &[])], number()), ErrorCode::UnknownCodec);
        assert_eq!(code(&[("ZSTD", &[100])], number()), ErrorCode::IllegalCodecParameter);
        assert_eq!(code(&[("Delta", &[3]), ("LZ4", &[])], number()), ErrorCode::IllegalCodecParameter);
        assert_eq!(code(&[("LZ4", &[3])], number()), ErrorCode::DataTypeCannotHaveArguments);
        assert_eq!(code(&[("Delta", &[])], number()), ErrorCode::BadArguments);
        assert_eq!(code(&[("LZ4", &[]), ("Delta", &[])], number()), ErrorCode::BadArguments);
        assert_eq!(code(&[("NONE", &[]), ("LZ4", &[])], number()), ErrorCode::BadArguments);
        assert_eq!(code(&[("Delta", &[]), ("LZ4", &[])], SqlType::String), ErrorCode::BadArguments);
        assert_eq!(code(&[("Delta", &[]), ("LZ4", &[])], SqlType::Uuid), ErrorCode::BadArguments);
        assert_eq!(code(&[("Gorilla", &[])], SqlType::Float64), ErrorCode::NotImplemented);
    }
}
