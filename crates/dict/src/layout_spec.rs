//! `LAYOUT(...)`: which layout a dictionary has, and its parameters.

use basalt_base::{Error, Result, bail};

const MAX_ARRAY_SIZE_DEFAULT: u64 = 500_000;
const INITIAL_ARRAY_SIZE_DEFAULT: u64 = 1024;
const SHARDS_MAX: u64 = 128;
const SHARD_LOAD_QUEUE_BACKLOG_DEFAULT: u64 = 10_000;
const SHARD_LOAD_QUEUE_BACKLOG_MAX: u64 = 1_000_000;
const MAX_LOAD_FACTOR_DEFAULT: f64 = 0.5;
const MAX_LOAD_FACTOR_MAX: f64 = 0.99;

/// The layouts that are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutKind {
    Flat,
    Hashed,
    SparseHashed,
    HashedArray,
    Direct,
    ComplexKeyHashed,
    ComplexKeySparseHashed,
    ComplexKeyHashedArray,
    ComplexKeyDirect,
}

/// ClickHouse's layouts that are not built; their names are known, so the error says so.
const NOT_BUILT: [&str; 12] = [
    "CACHE",
    "SSD_CACHE",
    "RANGE_HASHED",
    "COMPLEX_KEY_CACHE",
    "COMPLEX_KEY_SSD_CACHE",
    "COMPLEX_KEY_RANGE_HASHED",
    "IP_TRIE",
    "REGEXP_TREE",
    "POLYGON",
    "POLYGON_SIMPLE",
    "POLYGON_INDEX_EACH",
    "POLYGON_INDEX_CELL",
];

/// The literal behind a parameter's name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LayoutParameter {
    UInt(u64),
    Float(f64),
}

/// A layout and its parameters; a layout ignores those it does not take, and never gets them from
/// [`LayoutSpec::parse`].
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutSpec {
    pub kind: LayoutKind,
    pub initial_array_size: u64,
    pub max_array_size: u64,
    pub shards: u64,
    pub shard_load_queue_backlog: u64,
    pub max_load_factor: f64,
}

impl LayoutKind {
    pub const ALL: [LayoutKind; 9] = [
        LayoutKind::Flat,
        LayoutKind::Hashed,
        LayoutKind::SparseHashed,
        LayoutKind::HashedArray,
        LayoutKind::Direct,
        LayoutKind::ComplexKeyHashed,
        LayoutKind::ComplexKeySparseHashed,
        LayoutKind::ComplexKeyHashedArray,
        LayoutKind::ComplexKeyDirect,
    ];

    /// The name as SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            LayoutKind::Flat => "FLAT",
            LayoutKind::Hashed => "HASHED",
            LayoutKind::SparseHashed => "SPARSE_HASHED",
            LayoutKind::HashedArray => "HASHED_ARRAY",
            LayoutKind::Direct => "DIRECT",
            LayoutKind::ComplexKeyHashed => "COMPLEX_KEY_HASHED",
            LayoutKind::ComplexKeySparseHashed => "COMPLEX_KEY_SPARSE_HASHED",
            LayoutKind::ComplexKeyHashedArray => "COMPLEX_KEY_HASHED_ARRAY",
            LayoutKind::ComplexKeyDirect => "COMPLEX_KEY_DIRECT",
        }
    }

    /// The layout of the same kind that takes any key columns; `None` if there is none.
    pub fn complex_form(self) -> Option<LayoutKind> {
        match self {
            LayoutKind::Flat => None,
            LayoutKind::Hashed => Some(LayoutKind::ComplexKeyHashed),
            LayoutKind::SparseHashed => Some(LayoutKind::ComplexKeySparseHashed),
            LayoutKind::HashedArray => Some(LayoutKind::ComplexKeyHashedArray),
            LayoutKind::Direct => Some(LayoutKind::ComplexKeyDirect),
            complex => Some(complex),
        }
    }

    /// Whether the layout takes any key columns, not one `UInt64` only.
    pub fn is_complex(self) -> bool {
        self.complex_form() == Some(self)
    }

    /// Whether lookups go to the source, so that nothing is ever loaded.
    pub fn is_direct(self) -> bool {
        matches!(self, LayoutKind::Direct | LayoutKind::ComplexKeyDirect)
    }

    fn takes(self, parameter: &str) -> bool {
        match parameter {
            "INITIAL_ARRAY_SIZE" | "MAX_ARRAY_SIZE" => self == LayoutKind::Flat,
            "SHARDS" | "SHARD_LOAD_QUEUE_BACKLOG" => self != LayoutKind::Flat && !self.is_direct(),
            "MAX_LOAD_FACTOR" => matches!(
                self,
                LayoutKind::Hashed
                    | LayoutKind::SparseHashed
                    | LayoutKind::ComplexKeyHashed
                    | LayoutKind::ComplexKeySparseHashed
            ),
            _ => false,
        }
    }
}

impl LayoutSpec {
    /// The layout with its default parameters.
    pub fn new(kind: LayoutKind) -> LayoutSpec {
        LayoutSpec {
            kind,
            initial_array_size: INITIAL_ARRAY_SIZE_DEFAULT,
            max_array_size: MAX_ARRAY_SIZE_DEFAULT,
            shards: 1,
            shard_load_queue_backlog: SHARD_LOAD_QUEUE_BACKLOG_DEFAULT,
            max_load_factor: MAX_LOAD_FACTOR_DEFAULT,
        }
    }

    /// `LAYOUT(name(parameters))`; names in any case.
    pub fn parse(name: &str, parameters: &[(String, LayoutParameter)]) -> Result<LayoutSpec> {
        let upper = name.to_ascii_uppercase();
        let Some(kind) = LayoutKind::ALL.into_iter().find(|kind| kind.name() == upper) else {
            if NOT_BUILT.contains(&upper.as_str()) {
                return Err(Error::not_implemented(format!("dictionary layout {upper}")));
            }
            let names: Vec<&str> = LayoutKind::ALL.iter().map(|kind| kind.name()).collect();
            bail!(
                UnknownElementInConfig,
                "unknown dictionary layout type: `{name}`; the layouts are {}",
                names.join(", ")
            );
        };
        let mut spec = LayoutSpec::new(kind);
        for (parameter, value) in parameters {
            spec.set(&parameter.to_ascii_uppercase(), *value)?;
        }
        spec.validate()?;
        Ok(spec)
    }

    fn set(&mut self, parameter: &str, value: LayoutParameter) -> Result<()> {
        let layout = self.kind.name();
        if !self.kind.takes(parameter) {
            bail!(IncorrectDictionaryDefinition, "dictionary layout {layout} has no parameter `{parameter}`");
        }
        if parameter == "MAX_LOAD_FACTOR" {
            self.max_load_factor = match value {
                LayoutParameter::Float(factor) => factor,
                LayoutParameter::UInt(factor) => factor as f64,
            };
            return Ok(());
        }
        let LayoutParameter::UInt(number) = value else {
            bail!(
                IncorrectDictionaryDefinition,
                "parameter `{parameter}` of dictionary layout {layout} must be a whole number"
            );
        };
        match parameter {
            "INITIAL_ARRAY_SIZE" => self.initial_array_size = number,
            "MAX_ARRAY_SIZE" => self.max_array_size = number,
            "SHARDS" => self.shards = number,
            _ => self.shard_load_queue_backlog = number,
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let layout = self.kind.name();
        if !(1..=SHARDS_MAX).contains(&self.shards) {
            bail!(
                BadArguments,
                "{layout}: SHARDS parameter should be within [1, {SHARDS_MAX}], got {}",
                self.shards
            );
        }
        if !(1..=SHARD_LOAD_QUEUE_BACKLOG_MAX).contains(&self.shard_load_queue_backlog) {
            bail!(
                BadArguments,
                "{layout}: SHARD_LOAD_QUEUE_BACKLOG parameter should be within [1, {SHARD_LOAD_QUEUE_BACKLOG_MAX}], \
                 got {}",
                self.shard_load_queue_backlog
            );
        }
        if !(MAX_LOAD_FACTOR_DEFAULT..=MAX_LOAD_FACTOR_MAX).contains(&self.max_load_factor) {
            bail!(
                BadArguments,
                "{layout}: max_load_factor parameter should be within [{MAX_LOAD_FACTOR_DEFAULT}, \
                 {MAX_LOAD_FACTOR_MAX}], got {}",
                self.max_load_factor
            );
        }
        if self.max_array_size > u64::from(u32::MAX) {
            bail!(BadArguments, "{layout}: MAX_ARRAY_SIZE parameter should be at most {}", u32::MAX);
        }
        // A small limit alone lowers the size to begin with; only a stated pair can contradict itself.
        if self.initial_array_size > self.max_array_size
            && self.initial_array_size != INITIAL_ARRAY_SIZE_DEFAULT
        {
            bail!(
                BadArguments,
                "{layout}: INITIAL_ARRAY_SIZE {} should be lower than or equal to MAX_ARRAY_SIZE {}",
                self.initial_array_size,
                self.max_array_size
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use basalt_base::ErrorCode;

    use super::*;

    fn parse(name: &str, parameters: &[(&str, LayoutParameter)]) -> Result<LayoutSpec> {
        let parameters: Vec<_> = parameters.iter().map(|&(name, value)| (name.to_string(), value)).collect();
        LayoutSpec::parse(name, &parameters)
    }

    #[test]
    fn names_and_parameters_are_case_insensitive() {
        use LayoutParameter::{Float, UInt};
        let spec = parse("Sparse_Hashed", &[("max_load_factor", Float(0.98)), ("Shards", UInt(16))]);
        let spec = spec.expect("a valid layout");
        assert_eq!((spec.kind, spec.max_load_factor, spec.shards), (LayoutKind::SparseHashed, 0.98, 16));
    }

    #[test]
    fn wrong_layouts_have_clickhouse_codes() {
        use LayoutParameter::{Float, UInt};
        let code = |name, parameters: &[_]| parse(name, parameters).map_err(|error| error.code());
        assert_eq!(code("HASHY", &[]), Err(ErrorCode::UnknownElementInConfig));
        assert_eq!(code("IP_TRIE", &[]), Err(ErrorCode::NotImplemented));
        assert_eq!(code("HASHED", &[("SHARDS", UInt(0))]), Err(ErrorCode::BadArguments));
        assert_eq!(code("HASHED", &[("SHARDS", UInt(129))]), Err(ErrorCode::BadArguments));
        assert_eq!(code("HASHED", &[("MAX_LOAD_FACTOR", Float(1.0))]), Err(ErrorCode::BadArguments));
        assert_eq!(code("HASHED", &[("MAX_LOAD_FACTOR", Float(f64::NAN))]), Err(ErrorCode::BadArguments));
        assert_eq!(
            code("HASHED", &[("MAX_ARRAY_SIZE", UInt(1))]),
            Err(ErrorCode::IncorrectDictionaryDefinition)
        );
        assert_eq!(
            code("FLAT", &[("INITIAL_ARRAY_SIZE", UInt(10)), ("MAX_ARRAY_SIZE", UInt(9))]),
            Err(ErrorCode::BadArguments)
        );
    }
}
