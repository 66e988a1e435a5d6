//! The codecs of a column: its clause, and the default of its table.

use basalt_base::{Error, Result, SqlType, bail};
use basalt_codec::{CodecArgument, CodecChain, CodecSpec};
use basalt_sql::ast::{self, CodecArg, Literal};

use super::definition::ColumnDefinition;
use crate::settings::MergeTreeSettings;

/// The chain of a CODEC clause for values of type `ty`.
pub(super) fn chain_of(calls: &[ast::CodecCall], ty: &SqlType) -> Result<CodecChain> {
    let calls = calls.iter().map(|link| {
        let args = link.args.iter().map(|arg| match arg {
            CodecArg::Name(name) => CodecArgument::Name(name.clone()),
            CodecArg::Literal(Literal::UInt(value)) => CodecArgument::Number(*value),
            CodecArg::Literal(Literal::String(text)) => {
                CodecArgument::Text(String::from_utf8_lossy(text).into_owned())
            }
            other => CodecArgument::Other(other.to_string()),
        });
        (link.name.as_str(), args.collect())
    });
    CodecChain::parse(calls, ty)
}

/// The chain of columns without a CODEC clause.
pub(super) fn default_chain(settings: &MergeTreeSettings) -> Result<CodecChain> {
    let text = &settings.default_compression_codec;
    let parsed = basalt_sql::parse_codec(text.as_bytes()).map_err(Error::from);
    // A codec that suits strings suits every type.
    let chain = parsed
        .and_then(|calls| chain_of(&calls, &SqlType::String))
        .map_err(|error| error.within(format!("default_compression_codec = '{text}'")))?;
    if chain.links().contains(&CodecSpec::Default) {
        bail!(BadArguments, "default_compression_codec says what `Default` is, it cannot be `{text}`");
    }
    Ok(chain)
}

/// The chain that the column's values are written with.
pub(super) fn chain_of_column(column: &ColumnDefinition, default: &CodecChain) -> CodecChain {
    column.codec.as_ref().map_or_else(|| default.clone(), |codec| codec.with_default(default))
}
