//! Which values the profiles of a user let its settings have.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use basalt_base::{Result, bail};
use basalt_sql::ast::{Literal, SettingConstraint};

/// The constraints of all settings of a user, by name. The last one that mentions a bound wins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraints {
    settings: BTreeMap<String, Bounds>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Bounds {
    min: Option<String>,
    max: Option<String>,
    readonly: bool,
}

impl Constraints {
    /// From settings in the order in which they apply; `text` is how a literal is written as a value.
    pub fn new(settings: &[SettingConstraint], text: &dyn Fn(&Literal) -> String) -> Constraints {
        let mut all = Constraints::default();
        for setting in settings {
            let bounds = all.settings.entry(setting.name.clone()).or_default();
            if let Some(min) = &setting.min {
                bounds.min = Some(text(min));
            }
            if let Some(max) = &setting.max {
                bounds.max = Some(text(max));
            }
            if let Some(readonly) = setting.readonly {
                bounds.readonly = readonly;
            }
        }
        all.settings.retain(|_, bounds| *bounds != Bounds::default());
        all
    }

    /// SETTING_CONSTRAINT_VIOLATION if the setting must not change to `value`.
    pub fn check(&self, name: &str, value: &str) -> Result<()> {
        let Some(bounds) = self.settings.get(name) else { return Ok(()) };
        if bounds.readonly {
            bail!(SettingConstraintViolation, "setting `{name}` should not be changed");
        }
        if let Some(min) = bounds.min.as_ref().filter(|min| compare(value, min) == Ordering::Less) {
            bail!(SettingConstraintViolation, "setting `{name}` shouldn't be less than {min}");
        }
        if let Some(max) = bounds.max.as_ref().filter(|max| compare(value, max) == Ordering::Greater) {
            bail!(SettingConstraintViolation, "setting `{name}` shouldn't be greater than {max}");
        }
        Ok(())
    }

    /// Minimum, maximum and whether it may change, as system.settings shows them.
    pub fn of(&self, name: &str) -> (Option<&str>, Option<&str>, bool) {
        match self.settings.get(name) {
            Some(bounds) => (bounds.min.as_deref(), bounds.max.as_deref(), bounds.readonly),
            None => (None, None, false),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }
}

/// As numbers if both are, else as text. A bound may be written as `10Mi` or `1e5`.
fn compare(left: &str, right: &str) -> Ordering {
    if let (Ok(left), Ok(right)) = (left.parse::<i128>(), right.parse::<i128>()) {
        return left.cmp(&right);
    }
    match (left.parse::<f64>(), right.parse::<f64>()) {
        (Ok(left), Ok(right)) => left.total_cmp(&right),
        _ => left.cmp(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, min: Option<u64>, max: Option<u64>, readonly: Option<bool>) -> SettingConstraint {
        let literal = |value: Option<u64>| value.map(Literal::UInt);
        let (min, max) = (literal(min), literal(max));
        SettingConstraint { name: name.to_owned(), value: None, min, max, readonly }
    }

    #[test]
    fn bounds_restrict_and_later_ones_win() {
        let list = [
            setting("a", Some(1), Some(100), None),
            setting("a", None, Some(9), None),
            setting("b", None, None, Some(true)),
            setting("b", None, None, Some(false)),
        ];
        let all = Constraints::new(&list, &|literal| match literal {
            Literal::UInt(value) => value.to_string(),
            other => format!("{other:?}"),
        });
        assert!(all.check("a", "9").is_ok() && all.check("a", "1").is_ok());
        assert!(all.check("a", "10").is_err() && all.check("a", "0").is_err());
        assert!(all.check("b", "x").is_ok() && all.check("c", "x").is_ok());
    }
}
