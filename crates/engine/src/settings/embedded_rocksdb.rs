//! The settings of an EmbeddedRocksDB table, from the SETTINGS clause of its CREATE: one line each.

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};
use basalt_sql::ast::Setting;

use super::literal::literal_text;
use super::table::settings_table;

settings_table! {
    /// The values of all settings of one table.
    EmbeddedRocksDbSettings;
    optimize_for_bulk_insert: bool = true, "No effect: large INSERTs write sorted files in any case, small ones never do.";
    sync: bool = true, "A change of few rows is on the disk when it returns; 0: it survives the end of the process, but not that of the machine.";
    bulk_insert_block_size: u64 = 1_048_449u64, "No effect: the size of sorted files does not depend on that of blocks.";
}

impl EmbeddedRocksDbSettings {
    /// The settings of a table with this SETTINGS clause.
    pub(crate) fn of_clause(clause: &[Setting]) -> Result<EmbeddedRocksDbSettings> {
        let mut settings = EmbeddedRocksDbSettings::default();
        for Setting { name, value } in clause {
            if !settings.set_known(name, &literal_text(value))? {
                let hint = did_you_mean(name, EmbeddedRocksDbSettings::names());
                bail!(UnknownSetting, "setting `{name}` of engine EmbeddedRocksDB is not known{hint}");
            }
        }
        Ok(settings)
    }
}
