//! The CODEC clause of a column: builds a [`CodecChain`] from names and arguments, by ClickHouse's rules.
//!
//! A codec's arguments and its column's type are checked here; [`CodecChain::check`] checks whether the links make
//! sense together.

use basalt_base::{Error, ErrorCode, Result, SqlType, bail, suggest};

use crate::chain::LINKS_MAX;
use crate::rules;
use crate::zstandard::{WINDOW_LOG_MAX, WINDOW_LOG_MIN};
use crate::{AlpScheme, CodecChain, CodecSpec, Planes, fpc, zstandard};

const NAMES: [&str; 14] = [
    "NONE",
    "LZ4",
    "LZ4HC",
    "ZSTD",
    "Delta",
    "DoubleDelta",
    "T64",
    "GCD",
    "Gorilla",
    "FPC",
    "ALP",
    "FSST",
    "AUTO",
    "Default",
];

/// The arguments of `ALP`.
const ALP_SCHEMES: &str = "AUTO, STD or RD";

/// One argument of a codec in the clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodecArgument {
    Number(u64),
    Text(String),
    /// An identifier.
    Name(String),
    /// Any other expression as SQL text; no codec accepts one.
    Other(String),
}

impl CodecChain {
    /// The chain of `CODEC(name(arguments), ...)` for a column of type `ty`. It may be suspicious.
    pub fn parse<'a>(
        calls: impl IntoIterator<Item = (&'a str, Vec<CodecArgument>)>,
        ty: &SqlType,
    ) -> Result<CodecChain> {
        let mut links = Vec::new();
        for (name, arguments) in calls {
            links.push(Call { name, arguments: &arguments, ty }.parse()?);
            if links.len() > LINKS_MAX {
                bail!(BadArguments, "a column has at most {LINKS_MAX} codecs");
            }
        }
        if links.is_empty() {
            bail!(BadArguments, "CODEC() names no codec");
        }
        if links.len() > 1 && links.contains(&CodecSpec::Auto) {
            bail!(BadArguments, "codec AUTO stands alone: it chooses every link");
        }
        Ok(CodecChain::new(links))
    }
}

/// One link as written in the clause.
#[derive(Clone, Copy)]
struct Call<'a> {
    name: &'a str,
    arguments: &'a [CodecArgument],
    ty: &'a SqlType,
}

impl Call<'_> {
    fn parse(self) -> Result<CodecSpec> {
        match self.name {
            "NONE" => self.without_arguments(ErrorCode::DataTypeCannotHaveArguments, CodecSpec::None),
            "LZ4" => self.without_arguments(ErrorCode::DataTypeCannotHaveArguments, CodecSpec::Lz4),
            "Default" => self.without_arguments(ErrorCode::BadArguments, CodecSpec::Default),
            "AUTO" => self.without_arguments(ErrorCode::DataTypeCannotHaveArguments, CodecSpec::Auto),
            "LZ4HC" => self.parse_lz4hc(),
            "ZSTD" => self.parse_zstd(),
            "Delta" => Ok(CodecSpec::Delta { width: self.parse_width()? }),
            "Gorilla" => Ok(CodecSpec::Gorilla { width: self.parse_width()? }),
            "DoubleDelta" => self.parse_double_delta(),
            "T64" => self.parse_t64(),
            "GCD" => {
                self.check_arguments(0)?;
                self.check_type(ErrorCode::BadArguments, rules::is_gcd_type)?;
                Ok(CodecSpec::Gcd { width: 0 })
            }
            "FPC" => self.parse_fpc(),
            "ALP" => self.parse_alp(),
            "FSST" => {
                self.check_type(ErrorCode::BadArguments, |ty| *ty == SqlType::String)?;
                self.without_arguments(ErrorCode::DataTypeCannotHaveArguments, CodecSpec::Fsst)
            }
            name @ ("AES_128_GCM_SIV" | "AES_256_GCM_SIV") => {
                self.check_arguments(0)?;
                Err(Error::not_implemented(format_args!("codec {name}")))
            }
            name @ ("ZXC" | "Quantized") => Err(Error::not_implemented(format_args!("codec {name}"))),
            "Multiple" => {
                bail!(UnknownCodec, "codec Multiple is never named: it is what several codecs make")
            }
            name => {
                bail!(UnknownCodec, "codec `{name}` is unknown{}", suggest::did_you_mean(name, NAMES))
            }
        }
    }

    fn without_arguments(self, code: ErrorCode, codec: CodecSpec) -> Result<CodecSpec> {
        if self.arguments.is_empty() {
            return Ok(codec);
        }
        Err(Error::new(code, format!("codec {} has no arguments", self.name)))
    }

    fn parse_lz4hc(self) -> Result<CodecSpec> {
        self.check_arguments(1)?;
        let level = self.number(0)?.unwrap_or(0);
        // The library clamps levels above its highest.
        Ok(CodecSpec::Lz4hc { level: u8::try_from(level).unwrap_or(u8::MAX) })
    }

    fn parse_zstd(self) -> Result<CodecSpec> {
        let max = zstandard::LEVEL_MAX;
        self.check_arguments(2)?;
        let level = match self.number(0)? {
            None => 1,
            Some(level) if level <= u64::from(max) => level as u8,
            Some(level) => {
                bail!(IllegalCodecParameter, "the level of codec ZSTD is at most {max}, found {level}")
            }
        };
        let windows = u64::from(WINDOW_LOG_MIN)..=u64::from(WINDOW_LOG_MAX);
        match self.number(1)? {
            None => Ok(CodecSpec::Zstd { level }),
            Some(window) if window == 0 || windows.contains(&window) => {
                Ok(CodecSpec::ZstdWindow { level, window_log: window as u8 })
            }
            Some(window) => bail!(
                IllegalCodecParameter,
                "the window of codec ZSTD, a power of two, is {WINDOW_LOG_MIN} to {WINDOW_LOG_MAX}, found {window}"
            ),
        }
    }

    /// The width of `Delta` and `Gorilla`: the argument, else the width of the type; 0 if the parts of the type
    /// differ in width. As in ClickHouse, an argument overrides the type.
    fn parse_width(self) -> Result<u8> {
        if let Some(width) = self.width_argument()? {
            return Ok(width);
        }
        self.check_type(ErrorCode::BadArguments, rules::has_integer_width)?;
        Ok(type_width(self.ty))
    }

    /// Like ClickHouse, checks the width of `DoubleDelta` and ignores it.
    fn parse_double_delta(self) -> Result<CodecSpec> {
        self.check_type(ErrorCode::BadArguments, rules::is_number)?;
        self.width_argument()?;
        Ok(CodecSpec::DoubleDelta { width: 0 })
    }

    fn width_argument(self) -> Result<Option<u8>> {
        self.check_arguments(1)?;
        match self.number(0)? {
            None => Ok(None),
            Some(width @ (1 | 2 | 4 | 8)) => Ok(Some(width as u8)),
            Some(width) => {
                let name = self.name;
                bail!(IllegalCodecParameter, "the argument of codec {name} is 1, 2, 4 or 8, found {width}")
            }
        }
    }

    fn parse_t64(self) -> Result<CodecSpec> {
        self.check_arguments(1)?;
        let planes = match self.arguments {
            [] => Planes::Bytes,
            [CodecArgument::Text(text)] if text == "byte" => Planes::Bytes,
            [CodecArgument::Text(text)] if text == "bit" => Planes::Bits,
            [CodecArgument::Text(text)] => {
                bail!(IllegalCodecParameter, "the argument of codec T64 is 'byte' or 'bit', found '{text}'")
            }
            [CodecArgument::Name(name)] => {
                bail!(
                    IllegalCodecParameter,
                    "the argument of codec T64 is a string, 'byte' or 'bit', found {name}"
                )
            }
            _ => bail!(BadGet, "the argument of codec T64 is a string, 'byte' or 'bit'"),
        };
        self.check_type(ErrorCode::IllegalSyntaxForCodecType, rules::is_t64_type)?;
        Ok(CodecSpec::T64 { width: 0, planes })
    }

    /// Like ClickHouse, checks the second argument, the width, and ignores it.
    fn parse_fpc(self) -> Result<CodecSpec> {
        self.check_type(ErrorCode::BadArguments, rules::is_float)?;
        self.check_arguments(2)?;
        let (min, max) = (fpc::LEVEL_MIN, fpc::LEVEL_MAX);
        let level = match self.number(0)? {
            None => fpc::LEVEL_DEFAULT,
            Some(level) if (u64::from(min)..=u64::from(max)).contains(&level) => level as u8,
            Some(level) => {
                bail!(IllegalCodecParameter, "the level of codec FPC is {min} to {max}, found {level}")
            }
        };
        match self.number(1)? {
            None | Some(4 | 8) => Ok(CodecSpec::Fpc { level, width: 0 }),
            Some(width) => {
                bail!(IllegalCodecParameter, "the float size of codec FPC is 4 or 8, found {width}")
            }
        }
    }

    fn parse_alp(self) -> Result<CodecSpec> {
        self.check_arguments(1)?;
        self.check_type(ErrorCode::BadArguments, rules::is_float)?;
        let shown = match self.arguments {
            [] => return Ok(CodecSpec::Alp { scheme: AlpScheme::Shortest, width: 0 }),
            [CodecArgument::Name(name)] => {
                let scheme = match name.as_str() {
                    "AUTO" => Some(AlpScheme::Shortest),
                    "STD" => Some(AlpScheme::Decimal),
                    "RD" => Some(AlpScheme::Real),
                    _ => None,
                };
                match scheme {
                    Some(scheme) => return Ok(CodecSpec::Alp { scheme, width: 0 }),
                    None => name.clone(),
                }
            }
            _ => "something else than a bare word".to_owned(),
        };
        bail!(IllegalSyntaxForCodecType, "the argument of codec ALP is {ALP_SCHEMES}, found {shown}")
    }

    fn check_arguments(self, max: usize) -> Result<()> {
        let (name, found) = (self.name, self.arguments.len());
        if found > max {
            bail!(IllegalSyntaxForCodecType, "codec {name} has at most {max} arguments, found {found}");
        }
        Ok(())
    }

    fn check_type(self, code: ErrorCode, fits: fn(&SqlType) -> bool) -> Result<()> {
        rules::check_scalars(self.name, self.ty, code, fits)
    }

    /// The argument at `position`, which must be an unsigned number if given.
    fn number(self, position: usize) -> Result<Option<u64>> {
        let shown = match self.arguments.get(position) {
            None => return Ok(None),
            Some(CodecArgument::Number(number)) => return Ok(Some(*number)),
            Some(CodecArgument::Text(text)) => format!("'{text}'"),
            Some(CodecArgument::Name(text) | CodecArgument::Other(text)) => text.clone(),
        };
        let is_name = matches!(self.arguments[position], CodecArgument::Name(_));
        let code = if matches!(self.name, "ZSTD" | "LZ4HC") && !is_name {
            ErrorCode::BadGet
        } else {
            ErrorCode::IllegalCodecParameter
        };
        let message = format!("an argument of codec {} is an unsigned number, not {shown}", self.name);
        Err(Error::new(code, message))
    }
}

/// The width of all values in the type, 0 if they differ.
fn type_width(ty: &SqlType) -> u8 {
    match ty {
        SqlType::Nullable(inner) | SqlType::LowCardinality(inner) | SqlType::Array(inner) => {
            type_width(inner)
        }
        SqlType::Tuple(elements) => common_width(elements.iter().map(|element| &element.ty)),
        SqlType::Map(key, value) => common_width([&**key, &**value]),
        scalar => match rules::value_bytes(scalar) {
            Some(width @ (1 | 2 | 4 | 8)) => width as u8,
            _ => 0,
        },
    }
}

fn common_width<'a>(types: impl IntoIterator<Item = &'a SqlType>) -> u8 {
    let mut widths = types.into_iter().map(type_width);
    let first = widths.next().unwrap_or(0);
    if widths.all(|width| width == first) { first } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(calls: &[(&str, &[u64])], ty: &SqlType) -> Result<CodecChain> {
        let calls = calls.iter().map(|(name, arguments)| {
            (*name, arguments.iter().map(|&number| CodecArgument::Number(number)).collect())
        });
        CodecChain::parse(calls, ty)
    }

    fn check(calls: &[(&str, &[u64])], ty: SqlType) -> Result<String> {
        let chain = parse(calls, &ty)?;
        chain.check(&ty).map(|()| chain.to_string())
    }

    fn code(calls: &[(&str, &[u64])], ty: SqlType) -> ErrorCode {
        check(calls, ty).unwrap_err().code()
    }

    #[test]
    fn parameters_get_their_defaults() {
        let number = || SqlType::UInt32;
        assert_eq!(check(&[("LZ4HC", &[])], number()).unwrap(), "LZ4HC(0)");
        assert_eq!(check(&[("ZSTD", &[])], number()).unwrap(), "ZSTD(1)");
        assert_eq!(check(&[("ZSTD", &[3, 20])], number()).unwrap(), "ZSTD(3, 20)");
        assert_eq!(check(&[("Delta", &[]), ("LZ4", &[])], number()).unwrap(), "Delta(4), LZ4");
        assert_eq!(check(&[("DoubleDelta", &[])], SqlType::DateTime(None)).unwrap(), "DoubleDelta");
        assert_eq!(check(&[("Gorilla", &[])], SqlType::Float32).unwrap(), "Gorilla(4)");
        assert_eq!(check(&[("FPC", &[])], SqlType::Float64).unwrap(), "FPC(12)");
        assert_eq!(check(&[("GCD", &[]), ("T64", &[])], number()).unwrap(), "GCD, T64");
        let array = SqlType::array_of(SqlType::UInt16.into_nullable());
        assert_eq!(check(&[("Delta", &[]), ("LZ4", &[])], array).unwrap(), "Delta(2), LZ4");
        let tuple = SqlType::tuple_of([SqlType::UInt8, SqlType::UInt64]);
        assert_eq!(check(&[("Delta", &[]), ("LZ4", &[])], tuple).unwrap(), "Delta, LZ4");
        let pair = SqlType::tuple_of([SqlType::UInt32, SqlType::Decimal { precision: 9, scale: 2 }]);
        assert_eq!(check(&[("Delta", &[]), ("LZ4", &[])], pair).unwrap(), "Delta(4), LZ4");
    }

    #[test]
    fn auto_stands_alone() {
        assert_eq!(check(&[("AUTO", &[])], SqlType::String).unwrap(), "AUTO");
        assert_eq!(code(&[("Delta", &[]), ("AUTO", &[])], SqlType::UInt8), ErrorCode::BadArguments);
        assert_eq!(code(&[("AUTO", &[1])], SqlType::UInt8), ErrorCode::DataTypeCannotHaveArguments);
    }

    #[test]
    fn planes_of_t64_are_named_by_text() {
        let parse = |argument| CodecChain::parse([("T64", vec![argument])], &SqlType::UInt32);
        let text = |text: &str| CodecArgument::Text(text.to_owned());
        assert_eq!(parse(text("bit")).unwrap().to_string(), "T64('bit')");
        assert_eq!(parse(text("byte")).unwrap().to_string(), "T64");
        assert_eq!(parse(text("BIT")).unwrap_err().code(), ErrorCode::IllegalCodecParameter);
        assert_eq!(parse(CodecArgument::Number(1)).unwrap_err().code(), ErrorCode::BadGet);
    }

    #[test]
    fn scheme_of_alp_is_a_bare_word() {
        let parse = |argument| CodecChain::parse([("ALP", vec![argument])], &SqlType::Float64);
        let name = |text: &str| CodecArgument::Name(text.to_owned());
        for (scheme, printed) in [("STD", "ALP(STD)"), ("RD", "ALP(RD)"), ("AUTO", "ALP")] {
            assert_eq!(parse(name(scheme)).unwrap().to_string(), printed);
        }
        for wrong in [name("std"), CodecArgument::Text("STD".to_owned()), CodecArgument::Number(1)] {
            assert_eq!(parse(wrong).unwrap_err().code(), ErrorCode::IllegalSyntaxForCodecType);
        }
    }

    #[test]
    fn bare_words_are_no_numbers() {
        for codec in ["ZSTD", "LZ4HC", "Delta", "DoubleDelta", "T64", "Gorilla"] {
            let call = [(codec, vec![CodecArgument::Name("x".to_owned())])];
            let error = CodecChain::parse(call, &SqlType::UInt32).unwrap_err();
            assert_eq!(error.code(), ErrorCode::IllegalCodecParameter, "{codec}");
        }
    }

    #[test]
    fn wrong_arguments_and_types_are_refused() {
        let number = || SqlType::UInt32;
        assert_eq!(code(&[("Foo", &[])], number()), ErrorCode::UnknownCodec);
        assert_eq!(code(&[("lz4", &[])], number()), ErrorCode::UnknownCodec);
        assert_eq!(code(&[("ZSTD", &[100])], number()), ErrorCode::IllegalCodecParameter);
        assert_eq!(code(&[("ZSTD", &[1, 9])], number()), ErrorCode::IllegalCodecParameter);
        assert_eq!(code(&[("Delta", &[3]), ("LZ4", &[])], number()), ErrorCode::IllegalCodecParameter);
        assert_eq!(code(&[("LZ4", &[3])], number()), ErrorCode::DataTypeCannotHaveArguments);
        assert_eq!(code(&[("FPC", &[29])], SqlType::Float64), ErrorCode::IllegalCodecParameter);
        assert_eq!(code(&[("FPC", &[])], number()), ErrorCode::BadArguments);
        assert_eq!(code(&[("ALP", &[])], number()), ErrorCode::BadArguments);
        assert_eq!(code(&[("T64", &[])], SqlType::Float64), ErrorCode::IllegalSyntaxForCodecType);
        assert_eq!(code(&[("GCD", &[]), ("LZ4", &[])], SqlType::Ipv4), ErrorCode::BadArguments);
        assert_eq!(code(&[("Delta", &[]), ("LZ4", &[])], SqlType::String), ErrorCode::BadArguments);
        assert_eq!(code(&[("Delta", &[]), ("LZ4", &[])], SqlType::Uuid), ErrorCode::BadArguments);
        assert_eq!(code(&[("DoubleDelta", &[3])], SqlType::String), ErrorCode::BadArguments);
        assert_eq!(code(&[("ZXC", &[])], number()), ErrorCode::NotImplemented);
        assert_eq!(code(&[("AES_128_GCM_SIV", &[])], number()), ErrorCode::NotImplemented);
        assert_eq!(code(&[("AES_128_GCM_SIV", &[1])], number()), ErrorCode::IllegalSyntaxForCodecType);
        for unknown in ["ZSTD_QAT", "DEFLATE_QPL", "SZ3", "ENCRYPTED", "Multiple"] {
            assert_eq!(code(&[(unknown, &[])], number()), ErrorCode::UnknownCodec, "{unknown}");
        }
    }

    #[test]
    fn senseless_chains_are_suspicious() {
        let chains: [&[(&str, &[u64])]; 6] = [
            &[("Delta", &[])],
            &[("GCD", &[]), ("Delta", &[])],
            &[("LZ4", &[]), ("Delta", &[])],
            &[("NONE", &[]), ("LZ4", &[])],
            &[("Gorilla", &[])],
            &[("Default", &[]), ("LZ4", &[])],
        ];
        for chain in chains {
            assert_eq!(code(chain, SqlType::UInt32), ErrorCode::BadArguments, "{chain:?}");
            parse(chain, &SqlType::UInt32).unwrap();
        }
        assert_eq!(code(&[("Delta", &[]), ("Gorilla", &[])], SqlType::Float64), ErrorCode::BadArguments);
        assert_eq!(code(&[], SqlType::UInt32), ErrorCode::BadArguments);
    }
}
