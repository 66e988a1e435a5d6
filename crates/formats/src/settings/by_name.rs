//! Sets a setting by ClickHouse's name.

use basalt_base::Result;

use super::format::FormatSettings;
use super::parse::{
    date_time_input, date_time_output, escaping_rule, flag, number, ratio, revision, single_byte, word,
};
use super::short_text::ShortText;
use super::text::BoolWords;

impl FormatSettings {
    /// Sets ClickHouse's setting `name`; `false` if that is no format setting.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "max_parsing_threads" => self.threads = number(name, value)?.max(1),
            "input_format_skip_unknown_fields" => self.skip_unknown_fields = flag(name, value)?,
            "input_format_with_names_use_header" => self.use_header_names = flag(name, value)?,
            "input_format_with_types_use_header" => self.check_header_types = flag(name, value)?,
            "input_format_allow_errors_num" => self.allow_errors_num = number(name, value)?,
            "input_format_allow_errors_ratio" => self.allow_errors_ratio = ratio(name, value)?,
            "input_format_csv_skip_first_lines" | "input_format_tsv_skip_first_lines" => {
                self.skip_first_lines = number(name, value)?;
            }
            "input_format_csv_detect_header"
            | "input_format_tsv_detect_header"
            | "input_format_custom_detect_header" => self.detect_header = flag(name, value)?,
            "client_protocol_version" => self.client_protocol_version = revision(name, value)?,
            "output_format_write_statistics" => self.write_statistics = flag(name, value)?,
            "output_format_markdown_escape_special_characters" => {
                self.markdown_escape = flag(name, value)?;
            }
            _ => {
                return Ok(self.set_text(name, value)?
                    || self.set_csv(name, value)?
                    || self.set_tsv(name, value)?
                    || self.set_json(name, value)?
                    || self.set_custom(name, value)?
                    || self.set_sql_insert(name, value)?
                    || self.set_pretty(name, value)?
                    || self.columnar.set(name, value)?);
            }
        }
        Ok(true)
    }

    fn set_text(&mut self, name: &str, value: &str) -> Result<bool> {
        let text = &mut self.text;
        match name {
            "input_format_null_as_default" => text.null_as_default = flag(name, value)?,
            "date_time_input_format" => text.date_time_input = date_time_input(name, value)?,
            "date_time_output_format" => text.date_time_output = date_time_output(name, value)?,
            "bool_true_representation" => {
                text.bool_words = Some(BoolWords { yes: word(name, value)?, ..bool_words(text.bool_words)? });
            }
            "bool_false_representation" => {
                text.bool_words = Some(BoolWords { no: word(name, value)?, ..bool_words(text.bool_words)? });
            }
            "output_format_trim_fixed_string" => text.trim_fixed_string = flag(name, value)?,
            "output_format_values_escape_quote_with_quote" => {
                text.double_single_quotes = flag(name, value)?;
            }
            "output_format_decimal_trailing_zeros" => text.decimal_trailing_zeros = flag(name, value)?,
            "output_format_json_quote_64bit_integers" => text.json_quote_64bit_integers = flag(name, value)?,
            "output_format_json_quote_64bit_floats" => text.json_quote_64bit_floats = flag(name, value)?,
            "output_format_json_quote_decimals" => text.json_quote_decimals = flag(name, value)?,
            "output_format_json_quote_denormals" => text.json_quote_denormals = flag(name, value)?,
            "output_format_json_escape_forward_slashes" => {
                text.json_escape_forward_slashes = flag(name, value)?;
            }
            "output_format_json_named_tuples_as_objects" => {
                text.json_named_tuples_as_objects = flag(name, value)?;
            }
            "output_format_json_skip_null_value_in_named_tuples" => {
                text.json_skip_null_in_named_tuples = flag(name, value)?;
            }
            "output_format_json_map_as_array_of_tuples" => {
                text.json_map_as_array_of_tuples = flag(name, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_csv(&mut self, name: &str, value: &str) -> Result<bool> {
        let csv = &mut self.csv;
        match name {
            "format_csv_delimiter" => csv.delimiter = single_byte(name, value)?,
            "format_csv_null_representation" => csv.null = value.into(),
            "format_csv_allow_double_quotes" => csv.allow_double_quotes = flag(name, value)?,
            "format_csv_allow_single_quotes" => csv.allow_single_quotes = flag(name, value)?,
            "input_format_csv_empty_as_default" => csv.empty_as_default = flag(name, value)?,
            "input_format_csv_trim_whitespaces" => csv.trim_whitespaces = flag(name, value)?,
            "input_format_csv_allow_variable_number_of_columns" => {
                csv.allow_variable_columns = flag(name, value)?;
            }
            "input_format_csv_use_default_on_bad_values" => csv.default_on_bad_values = flag(name, value)?,
            "input_format_csv_skip_trailing_empty_lines" => {
                csv.skip_trailing_empty_lines = flag(name, value)?;
            }
            "input_format_csv_deserialize_separate_columns_into_tuple" => {
                csv.read_tuples_apart = flag(name, value)?;
            }
            "output_format_csv_serialize_tuple_into_separate_columns" => {
                csv.write_tuples_apart = flag(name, value)?;
            }
            "output_format_csv_crlf_end_of_line" => csv.crlf_end_of_line = flag(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_tsv(&mut self, name: &str, value: &str) -> Result<bool> {
        let tsv = &mut self.tsv;
        match name {
            "format_tsv_null_representation" => tsv.null = value.into(),
            "input_format_tsv_empty_as_default" => tsv.empty_as_default = flag(name, value)?,
            "input_format_tsv_allow_variable_number_of_columns" => {
                tsv.allow_variable_columns = flag(name, value)?;
            }
            "input_format_tsv_skip_trailing_empty_lines" => {
                tsv.skip_trailing_empty_lines = flag(name, value)?;
            }
            // Lines that end with a carriage return are read in any case.
            "input_format_tsv_crlf_end_of_line" => drop(flag(name, value)?),
            "output_format_tsv_crlf_end_of_line" => tsv.crlf_end_of_line = flag(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_json(&mut self, name: &str, value: &str) -> Result<bool> {
        let json = &mut self.json;
        match name {
            "output_format_json_array_of_rows" => json.array_of_rows = flag(name, value)?,
            "output_format_json_validate_utf8" => json.validate_utf8 = flag(name, value)?,
            "output_format_json_pretty_print" => json.flat = !flag(name, value)?,
            "input_format_json_compact_allow_variable_number_of_columns" => {
                json.allow_variable_columns = flag(name, value)?;
            }
            "input_format_json_validate_types_from_metadata" => {
                json.ignore_metadata_types = !flag(name, value)?;
            }
            "format_json_object_each_row_column_for_object_name" => json.object_name_column = value.into(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_custom(&mut self, name: &str, value: &str) -> Result<bool> {
        let custom = &mut self.custom;
        match name {
            "format_custom_escaping_rule" => custom.rule = escaping_rule(name, value)?,
            "format_custom_field_delimiter" => custom.field_delimiter = value.into(),
            "format_custom_row_before_delimiter" => custom.row_before = value.into(),
            "format_custom_row_after_delimiter" => custom.row_after = value.into(),
            "format_custom_row_between_delimiter" => custom.row_between = value.into(),
            "format_custom_result_before_delimiter" => custom.result_before = value.into(),
            "format_custom_result_after_delimiter" => custom.result_after = value.into(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_sql_insert(&mut self, name: &str, value: &str) -> Result<bool> {
        let insert = &mut self.sql_insert;
        match name {
            "output_format_sql_insert_table_name" => insert.table = value.into(),
            "output_format_sql_insert_max_batch_size" => insert.rows_max = number(name, value)?.max(1),
            "output_format_sql_insert_include_column_names" => insert.write_names = flag(name, value)?,
            "output_format_sql_insert_quote_names" => insert.quote_names = flag(name, value)?,
            "output_format_sql_insert_use_replace" => insert.replace = flag(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_pretty(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "output_format_pretty_max_rows" => self.pretty_max_rows = number(name, value)?,
            "output_format_pretty_max_column_pad_width" => {
                self.pretty_max_column_pad_width = number(name, value)?;
            }
            "output_format_pretty_max_value_width" => self.pretty_max_value_width = number(name, value)?,
            "output_format_pretty_row_numbers" => self.pretty_row_numbers = flag(name, value)?,
            "output_format_pretty_color" => self.pretty_color = flag(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn bool_words(set: Option<BoolWords>) -> Result<BoolWords> {
    Ok(match set {
        Some(words) => words,
        None => BoolWords { yes: ShortText::new("true")?, no: ShortText::new("false")? },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_set_by_name() {
        let mut settings = FormatSettings::default();
        assert!(settings.set("format_csv_delimiter", ";").unwrap());
        assert!(settings.set("output_format_pretty_max_rows", "5").unwrap());
        assert_eq!((settings.csv.delimiter, settings.pretty_max_rows), (b';', 5));
        assert!(!settings.set("max_threads", "4").unwrap());
        assert!(settings.set("input_format_skip_unknown_fields", "maybe").is_err());
    }
}
