//! Which indexes a query may use, and which it must: the settings about it.

use basalt_base::{Result, bail};
use basalt_parts::{KeyCondition, PartSpec, Predicate, SkipIndex};

use crate::scan::source::ScanRequest;
use crate::settings::Settings;

/// The skip indexes of the table that the query may use and that can check its conditions. An error if the settings
/// demand an index that the query cannot use.
pub(super) fn choose(
    request: &ScanRequest,
    spec: &PartSpec,
    conditions: &[KeyCondition],
) -> Result<Vec<SkipIndex>> {
    let settings = &request.query.settings;
    let ignored = names(&settings.ignore_data_skipping_indices)?;
    let forced = names(&settings.force_data_skipping_indices)?;
    let may_use = |index: &&SkipIndex| {
        settings.use_skip_indexes && !ignored.contains(&index.name) && index.is_of_use(&request.predicate)
    };
    let chosen: Vec<SkipIndex> = spec.indexes.iter().filter(may_use).cloned().collect();
    // The number of rows is known without an index.
    if request.columns.is_empty() && request.filters.is_empty() {
        return Ok(chosen);
    }
    let is_chosen = |name: &String| chosen.iter().any(|index| index.name == *name);
    if let Some(unused) = forced.iter().find(|name| settings.use_skip_indexes && !is_chosen(name)) {
        bail!(
            IndexNotUsed,
            "index `{unused}` is not used and setting 'force_data_skipping_indices' contains it"
        );
    }
    check_keys(settings, spec, conditions, &request.predicate)?;
    Ok(chosen)
}

fn check_keys(
    settings: &Settings,
    spec: &PartSpec,
    conditions: &[KeyCondition],
    predicate: &Predicate,
) -> Result<()> {
    if settings.force_primary_key && !spec.uses_primary_key(conditions, predicate) {
        bail!(IndexNotUsed, "the primary key is not used and setting 'force_primary_key' is set");
    }
    if settings.force_index_by_date && !spec.uses_partition_key(conditions, predicate) {
        bail!(
            IndexNotUsed,
            "neither the columns of the partition key nor its expression are used and setting \
             'force_index_by_date' is set"
        );
    }
    Ok(())
}

/// The names in a list with commas, each perhaps in backquotes or double quotes.
fn names(list: &str) -> Result<Vec<String>> {
    if list.trim().is_empty() {
        return Ok(Vec::new());
    }
    let name = |part: &str| {
        let part = part.trim();
        let quoted = ['`', '"'].iter().find_map(|quote| part.strip_prefix(*quote)?.strip_suffix(*quote));
        match quoted.unwrap_or(part) {
            "" => bail!(CannotParseText, "cannot parse string ('{list}') into a set of identifiers"),
            name => Ok(name.to_owned()),
        }
    };
    list.split(',').map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_may_be_quoted_and_none_is_empty() {
        assert_eq!(names("a, `b c` ,\"d\"").unwrap(), ["a", "b c", "d"]);
        assert!(names(" ").unwrap().is_empty());
        assert!(names("a,,b").is_err());
    }
}
