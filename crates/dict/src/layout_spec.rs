//! `LAYOUT(...)`: the layout of a dictionary, and its parameters.

use basalt_base::{Error, Result, bail};

use crate::layout::{CacheSpec, RangeLookup, ReadValues, RegexpFlags, SsdSpec};
use crate::layout_kind::LayoutKind;

const MAX_ARRAY_SIZE_DEFAULT: u64 = 500_000;
const INITIAL_ARRAY_SIZE_DEFAULT: u64 = 1024;
const SHARDS_MAX: u64 = 128;
const SHARD_LOAD_QUEUE_BACKLOG_DEFAULT: u64 = 10_000;
const SHARD_LOAD_QUEUE_BACKLOG_MAX: u64 = 1_000_000;
const MAX_LOAD_FACTOR_MIN: f64 = 0.5;
const MAX_LOAD_FACTOR_MAX: f64 = 0.99;

/// The literal of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum LayoutParameter {
    UInt(u64),
    Float(f64),
    Text(String),
}

/// A layout and its parameters. Parameters that the layout does not take have their defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutSpec {
    pub kind: LayoutKind,
    pub initial_array_size: u64,
    pub max_array_size: u64,
    pub shards: u64,
    pub shard_load_queue_backlog: u64,
    /// `None`: the layout's own default.
    pub max_load_factor: Option<f64>,
    pub range_lookup: RangeLookup,
    /// A bound that is NULL is open; otherwise a row with such a bound contains no point.
    pub null_bound_is_open: bool,
    pub cache: CacheSpec,
    pub ssd: SsdSpec,
    /// The prefix of an IP_TRIE is an attribute as well.
    pub key_is_attribute: bool,
    /// The polygons are stored, so that the dictionary can be read as a table.
    pub store_polygons: bool,
    /// The SETTINGS for the expressions of a REGEXP_TREE.
    pub regexp_flags: RegexpFlags,
    /// Reads the values of a REGEXP_TREE, which are texts.
    pub read_values: ReadValues,
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
            max_load_factor: None,
            range_lookup: RangeLookup::Min,
            null_bound_is_open: true,
            cache: CacheSpec::default(),
            ssd: SsdSpec::default(),
            key_is_attribute: false,
            store_polygons: false,
            regexp_flags: RegexpFlags::default(),
            read_values: ReadValues::default(),
        }
    }

    /// `LAYOUT(name(parameters))`; names in any case.
    pub fn parse(name: &str, parameters: &[(String, LayoutParameter)]) -> Result<LayoutSpec> {
        let upper = name.to_ascii_uppercase();
        let Some(kind) = LayoutKind::ALL.into_iter().find(|kind| kind.name() == upper) else {
            if upper == "COMPLEX_KEY_COMPACT_HASHED" {
                return Err(Error::not_implemented("dictionary layout COMPLEX_KEY_COMPACT_HASHED"));
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
            spec.set(&parameter.to_ascii_uppercase(), value)?;
        }
        spec.check_required(parameters)?;
        spec.validate()?;
        Ok(spec)
    }

    fn set(&mut self, parameter: &str, value: &LayoutParameter) -> Result<()> {
        let layout = self.kind.name();
        if !self.kind.takes(parameter) {
            bail!(IncorrectDictionaryDefinition, "dictionary layout {layout} has no parameter `{parameter}`");
        }
        match (parameter, value) {
            ("MAX_LOAD_FACTOR", LayoutParameter::Float(factor)) => self.max_load_factor = Some(*factor),
            ("MAX_LOAD_FACTOR", LayoutParameter::UInt(factor)) => self.max_load_factor = Some(*factor as f64),
            ("RANGE_LOOKUP_STRATEGY", LayoutParameter::Text(text)) => self.set_range_lookup(text)?,
            ("PATH", LayoutParameter::Text(text)) => self.ssd.path = text.clone().into(),
            (_, LayoutParameter::UInt(number)) => self.set_number(parameter, *number)?,
            _ => bail!(
                IncorrectDictionaryDefinition,
                "parameter `{parameter}` of dictionary layout {layout} cannot have this value"
            ),
        }
        Ok(())
    }

    fn set_range_lookup(&mut self, text: &str) -> Result<()> {
        self.range_lookup = match text {
            "min" => RangeLookup::Min,
            "max" => RangeLookup::Max,
            other => bail!(BadArguments, "RANGE_LOOKUP_STRATEGY is `min` or `max`, not `{other}`"),
        };
        Ok(())
    }

    fn set_number(&mut self, parameter: &str, number: u64) -> Result<()> {
        match parameter {
            "INITIAL_ARRAY_SIZE" => self.initial_array_size = number,
            "MAX_ARRAY_SIZE" => self.max_array_size = number,
            "SHARDS" => self.shards = number,
            "SHARD_LOAD_QUEUE_BACKLOG" => self.shard_load_queue_backlog = number,
            "CONVERT_NULL_RANGE_BOUND_TO_OPEN" => self.null_bound_is_open = number != 0,
            "ACCESS_TO_KEY_FROM_ATTRIBUTES" => self.key_is_attribute = number != 0,
            "STORE_POLYGON_KEY_COLUMN" => self.store_polygons = number != 0,
            // In ClickHouse they choose between indexes. There is one index here.
            "PREALLOCATE" | "MIN_INTERSECTIONS" | "MAX_DEPTH" => {}
            other if self.cache.set(other, number) || self.ssd.set(other, number) => {}
            other => bail!(
                IncorrectDictionaryDefinition,
                "parameter `{other}` of dictionary layout {} is no number",
                self.kind.name()
            ),
        }
        Ok(())
    }

    fn check_required(&self, parameters: &[(String, LayoutParameter)]) -> Result<()> {
        let required = match self.kind {
            LayoutKind::Cache | LayoutKind::ComplexKeyCache => "SIZE_IN_CELLS",
            LayoutKind::SsdCache | LayoutKind::ComplexKeySsdCache => "PATH",
            _ => return Ok(()),
        };
        if !parameters.iter().any(|(name, _)| name.eq_ignore_ascii_case(required)) {
            bail!(
                IncorrectDictionaryDefinition,
                "dictionary layout {} needs the parameter {required}",
                self.kind.name()
            );
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
        let allowed = MAX_LOAD_FACTOR_MIN..=MAX_LOAD_FACTOR_MAX;
        if let Some(factor) = self.max_load_factor.filter(|factor| !allowed.contains(factor)) {
            bail!(
                BadArguments,
                "{layout}: max_load_factor parameter should be within [{MAX_LOAD_FACTOR_MIN}, \
                 {MAX_LOAD_FACTOR_MAX}], got {factor}"
            );
        }
        if self.max_array_size > u64::from(u32::MAX) {
            bail!(BadArguments, "{layout}: MAX_ARRAY_SIZE parameter should be at most {}", u32::MAX);
        }
        if self.kind.is_cache() {
            self.cache.validate(layout)?;
        }
        if self.kind.is_ssd() {
            self.ssd.validate(layout)?;
        }
        // A small limit alone lowers the initial size. Only two stated sizes can contradict each other.
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
        let parameters: Vec<_> =
            parameters.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        LayoutSpec::parse(name, &parameters)
    }

    #[test]
    fn names_and_parameters_are_case_insensitive() {
        use LayoutParameter::{Float, UInt};
        let spec = parse("Sparse_Hashed", &[("max_load_factor", Float(0.98)), ("Shards", UInt(16))]);
        let spec = spec.expect("a valid layout");
        assert_eq!(
            (spec.kind, spec.max_load_factor, spec.shards),
            (LayoutKind::SparseHashed, Some(0.98), 16)
        );
    }

    #[test]
    fn wrong_layouts_have_clickhouse_codes() {
        use LayoutParameter::{Float, UInt};
        let code = |name, parameters: &[_]| parse(name, parameters).map_err(|error| error.code());
        assert_eq!(code("HASHY", &[]), Err(ErrorCode::UnknownElementInConfig));
        assert_eq!(code("CACHE", &[]), Err(ErrorCode::IncorrectDictionaryDefinition));
        assert_eq!(code("CACHE", &[("SIZE_IN_CELLS", UInt(0))]), Err(ErrorCode::TooSmallBufferSize));
        let strategy = LayoutParameter::Text("last".into());
        assert_eq!(
            code("RANGE_HASHED", &[("RANGE_LOOKUP_STRATEGY", strategy)]),
            Err(ErrorCode::BadArguments)
        );
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
