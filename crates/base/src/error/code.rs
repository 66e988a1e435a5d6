//! The table of error codes: one line a code, ClickHouse's number and name for each.

/// Declares [`ErrorCode`] and its lookups from one table.
macro_rules! error_codes {
    ($($variant:ident $name:literal $number:literal $http:literal $sqlstate:literal)+) => {
        /// The kind of a failure. Numbers and names are ClickHouse's and never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($variant),+ }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant),+];

            /// ClickHouse's number.
            pub const fn number(self) -> u16 {
                match self { $(ErrorCode::$variant => $number),+ }
            }

            /// ClickHouse's name, for example `UNKNOWN_TABLE`.
            pub const fn name(self) -> &'static str {
                match self { $(ErrorCode::$variant => $name),+ }
            }

            /// The code with ClickHouse's number, if it is in the table.
            pub fn of_number(number: u16) -> Option<ErrorCode> {
                ErrorCode::ALL.iter().copied().find(|code| code.number() == number)
            }

            /// The status that the HTTP interface answers with.
            pub const fn http_status(self) -> u16 {
                match self { $(ErrorCode::$variant => $http),+ }
            }

            /// The SQLSTATE that the Postgres wire protocol answers with.
            pub const fn sqlstate(self) -> &'static str {
                match self { $(ErrorCode::$variant => $sqlstate),+ }
            }
        }
    };
}

error_codes! {
    // variant                       name                                 number http sqlstate
    CannotParseText                  "CANNOT_PARSE_TEXT"                       6  400 "22P02"
    ThereIsNoColumn                  "THERE_IS_NO_COLUMN"                      8  404 "42703"
    IncorrectNumberOfColumns         "INCORRECT_NUMBER_OF_COLUMNS"             7  400 "42601"
    NotFoundColumnInBlock            "NOT_FOUND_COLUMN_IN_BLOCK"              10  404 "42703"
    ThereIsNoProfile                 "THERE_IS_NO_PROFILE"                   180  404 "42704"
    UnknownUser                      "UNKNOWN_USER"                          192  404 "28000"
    UnknownQuota                     "UNKNOWN_QUOTA"                         199  404 "42704"
    QuotaExceeded                    "QUOTA_EXCEEDED"                        201  403 "53400"
    SettingConstraintViolation       "SETTING_CONSTRAINT_VIOLATION"          452  403 "42501"
    ReadonlySetting                  "READONLY_SETTING"                      472  400 "22023"
    NoSuchColumnInTable              "NO_SUCH_COLUMN_IN_TABLE"                16  404 "42703"
    DuplicateColumn                  "DUPLICATE_COLUMN"                       15  400 "42701"
    NumberOfColumnsDoesntMatch       "NUMBER_OF_COLUMNS_DOESNT_MATCH"         20  400 "42601"
    CannotReadAllData                "CANNOT_READ_ALL_DATA"                   33  400 "22000"
    TooManyArgumentsForFunction      "TOO_MANY_ARGUMENTS_FOR_FUNCTION"        34  400 "42883"
    NumberOfArgumentsDoesntMatch     "NUMBER_OF_ARGUMENTS_DOESNT_MATCH"       42  400 "42883"
    BadArguments                     "BAD_ARGUMENTS"                          36  400 "22023"
    CannotParseEscapeSequence        "CANNOT_PARSE_ESCAPE_SEQUENCE"           25  400 "22P02"
    CannotParseQuotedString          "CANNOT_PARSE_QUOTED_STRING"             26  400 "22P02"
    CannotParseInput                 "CANNOT_PARSE_INPUT_ASSERTION_FAILED"    27  400 "22P02"
    CannotParseDate                  "CANNOT_PARSE_DATE"                      38  400 "22007"
    ChecksumDoesntMatch              "CHECKSUM_DOESNT_MATCH"                  40  500 "XX001"
    CannotParseDatetime              "CANNOT_PARSE_DATETIME"                  41  400 "22007"
    IllegalTypeOfArgument            "ILLEGAL_TYPE_OF_ARGUMENT"               43  400 "42804"
    QueryIsProhibited                "QUERY_IS_PROHIBITED"                   392  403 "42501"
    ZeroArrayOrTupleIndex            "ZERO_ARRAY_OR_TUPLE_INDEX"             135  400 "2202E"
    IllegalColumn                    "ILLEGAL_COLUMN"                         44  400 "42804"
    SuspiciousTypeForLowCardinality  "SUSPICIOUS_TYPE_FOR_LOW_CARDINALITY"   455  400 "42804"
    DataTypeCannotBeUsedInTables     "DATA_TYPE_CANNOT_BE_USED_IN_TABLES"    370  400 "42804"
    UnexpectedAstStructure           "UNEXPECTED_AST_STRUCTURE"              223  400 "42601"
    UnknownFunction                  "UNKNOWN_FUNCTION"                       46  404 "42883"
    UnknownIdentifier                "UNKNOWN_IDENTIFIER"                     47  404 "42703"
    NotImplemented                   "NOT_IMPLEMENTED"                        48  501 "0A000"
    LogicalError                     "LOGICAL_ERROR"                          49  500 "XX000"
    UnknownType                      "UNKNOWN_TYPE"                           50  404 "42704"
    TypeMismatch                     "TYPE_MISMATCH"                          53  400 "42804"
    UnknownStorage                   "UNKNOWN_STORAGE"                        56  404 "42704"
    TableAlreadyExists               "TABLE_ALREADY_EXISTS"                   57  500 "42P07"
    AccessEntityAlreadyExists        "ACCESS_ENTITY_ALREADY_EXISTS"          493  400 "42710"
    AccessStorageReadonly            "ACCESS_STORAGE_READONLY"               495  403 "42501"
    AccessDenied                     "ACCESS_DENIED"                         497  403 "42501"
    InvalidGrant                     "INVALID_GRANT"                         509  400 "0LP01"
    UnknownRole                      "UNKNOWN_ROLE"                          511  404 "42704"
    SetNonGrantedRole                "SET_NON_GRANTED_ROLE"                  512  403 "42501"
    UnknownRowPolicy                 "UNKNOWN_ROW_POLICY"                    523  404 "42704"
    BackupAlreadyExists              "BACKUP_ALREADY_EXISTS"                 598  400 "42710"
    BackupNotFound                   "BACKUP_NOT_FOUND"                      599  404 "42704"
    NamedCollectionDoesntExist       "NAMED_COLLECTION_DOESNT_EXIST"         669  404 "42704"
    NamedCollectionAlreadyExists     "NAMED_COLLECTION_ALREADY_EXISTS"       670  500 "42710"
    DeduplicationIsNotPossible       "DEDUPLICATION_IS_NOT_POSSIBLE"         764  500 "0A000"
    NamedCollectionIsUsed            "NAMED_COLLECTION_IS_USED"              769  500 "2BP01"
    DictionaryAlreadyExists          "DICTIONARY_ALREADY_EXISTS"             387  500 "42P07"
    CannotGetCreateTableQuery        "CANNOT_GET_CREATE_TABLE_QUERY"         390  404 "42P01"
    CannotDropDictionaryAsTable      "CANNOT_DETACH_DICTIONARY_AS_TABLE"     520  400 "42809"
    UnknownTable                     "UNKNOWN_TABLE"                          60  404 "42P01"
    SyntaxError                      "SYNTAX_ERROR"                           62  400 "42601"
    UnknownAggregateFunction         "UNKNOWN_AGGREGATE_FUNCTION"             63  404 "42883"
    CannotConvertType                "CANNOT_CONVERT_TYPE"                    70  400 "42846"
    CannotParseNumber                "CANNOT_PARSE_NUMBER"                    72  400 "22P02"
    UnknownFormat                    "UNKNOWN_FORMAT"                         73  404 "42704"
    CannotReadFromFile               "CANNOT_READ_FROM_FILE_DESCRIPTOR"       74  500 "58030"
    CannotWriteToFile                "CANNOT_WRITE_TO_FILE_DESCRIPTOR"        75  500 "58030"
    UnknownDatabase                  "UNKNOWN_DATABASE"                       81  404 "3F000"
    UnknownDatabaseEngine            "UNKNOWN_DATABASE_ENGINE"               336  400 "42704"
    DatabaseAlreadyExists            "DATABASE_ALREADY_EXISTS"                82  500 "42P06"
    DatabaseNotEmpty                 "DATABASE_NOT_EMPTY"                     84  500 "2BP01"
    IndexNotUsed                     "INDEX_NOT_USED"                        277  400 "22023"
    UnexpectedPacketFromClient       "UNEXPECTED_PACKET_FROM_CLIENT"         101  400 "08P01"
    UnexpectedPacketFromServer       "UNEXPECTED_PACKET_FROM_SERVER"         102  500 "08P01"
    StorageRequiresParameter         "STORAGE_REQUIRES_PARAMETER"             55  400 "42601"
    AllConnectionTriesFailed         "ALL_CONNECTION_TRIES_FAILED"           279  500 "08006"
    UnknownCompressionMethod         "UNKNOWN_COMPRESSION_METHOD"             89  400 "22023"
    TableIsReadOnly                  "TABLE_IS_READ_ONLY"                    242  400 "25006"
    LimitExceeded                    "LIMIT_EXCEEDED"                        290  400 "54000"
    BadDatabaseForTemporaryTable     "BAD_DATABASE_FOR_TEMPORARY_TABLE"      442  400 "42P16"
    CannotCompress                   "CANNOT_COMPRESS"                       270  500 "XX000"
    CannotDecompress                 "CANNOT_DECOMPRESS"                     271  500 "XX001"
    CannotCreateDirectory            "CANNOT_CREATE_DIRECTORY"               172  500 "58030"
    CannotFsync                      "CANNOT_FSYNC"                          204  500 "58030"
    CannotStat                       "CANNOT_STAT"                           400  500 "58030"
    CannotLink                       "CANNOT_LINK"                           424  500 "58030"
    CannotUnlink                     "CANNOT_UNLINK"                         458  500 "58030"
    FileDoesntExist                  "FILE_DOESNT_EXIST"                     107  404 "58P01"
    UnknownSetting                   "UNKNOWN_SETTING"                       115  404 "42704"
    ViolatedConstraint               "VIOLATED_CONSTRAINT"                   469  400 "23505"
    IncorrectData                    "INCORRECT_DATA"                        117  400 "22000"
    IllegalPrewhere                  "ILLEGAL_PREWHERE"                      182  400 "42601"
    IllegalFinal                     "ILLEGAL_FINAL"                         181  400 "42601"
    EngineRequired                   "ENGINE_REQUIRED"                       119  400 "42601"
    SetSizeLimitExceeded             "SET_SIZE_LIMIT_EXCEEDED"               191  400 "54000"
    ScalarSubqueryTooManyRows        "INCORRECT_RESULT_OF_SCALAR_SUBQUERY"   125  400 "21000"
    IncorrectQuery                   "INCORRECT_QUERY"                        80  400 "42601"
    UnexpectedEndOfFile              "ATTEMPT_TO_READ_AFTER_EOF"              32  400 "22000"
    IllegalDivision                  "ILLEGAL_DIVISION"                      153  400 "22012"
    DictionaryIsEmpty                "DICTIONARY_IS_EMPTY"                   155  500 "55000"
    TimeoutExceeded                  "TIMEOUT_EXCEEDED"                      159  408 "57014"
    TypeOfColumnMismatch             "BAD_TYPE_OF_FIELD"                     169  400 "42804"
    IllegalAggregation               "ILLEGAL_AGGREGATION"                   184  400 "42803"
    NotAnAggregate                   "NOT_AN_AGGREGATE"                      215  400 "42803"
    QueryWithSameIdIsAlreadyRunning  "QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING" 216  500 "57014"
    MultipleExpressionsForAlias      "MULTIPLE_EXPRESSIONS_FOR_ALIAS"        179  400 "42712"
    IllegalIndex                     "ILLEGAL_INDEX"                         127  400 "42P17"
    ExpectedAllOrDistinct            "EXPECTED_ALL_OR_DISTINCT"              558  400 "42601"
    AmbiguousIdentifier              "AMBIGUOUS_IDENTIFIER"                  207  400 "42702"
    NoCommonType                     "NO_COMMON_TYPE"                        386  400 "42804"
    UnionResultStructuresMismatch    "UNION_ALL_RESULT_STRUCTURES_MISMATCH"  258  400 "42601"
    CannotAllocateMemory             "CANNOT_ALLOCATE_MEMORY"                173  500 "53200"
    CyclicAliases                    "CYCLIC_ALIASES"                        174  400 "42601"
    InvalidLimitExpression           "INVALID_LIMIT_EXPRESSION"              440  400 "2201W"
    BadTtlExpression                 "BAD_TTL_EXPRESSION"                    450  400 "22023"
    AmbiguousColumnName              "AMBIGUOUS_COLUMN_NAME"                 352  400 "42702"
    EmptyListOfColumnsQueried        "EMPTY_LIST_OF_COLUMNS_QUERIED"          51  400 "42601"
    UnexpectedExpression             "UNEXPECTED_EXPRESSION"                 183  400 "42601"
    AliasRequired                    "ALIAS_REQUIRED"                        206  400 "42601"
    InvalidJoinOnExpression          "INVALID_JOIN_ON_EXPRESSION"            403  400 "42601"
    EmptyListOfColumnsPassed         "EMPTY_LIST_OF_COLUMNS_PASSED"           90  400 "42601"
    TooManyUnexpectedDataParts       "TOO_MANY_UNEXPECTED_DATA_PARTS"        231  500 "XX001"
    NoSuchDataPart                   "NO_SUCH_DATA_PART"                     232  404 "42704"
    BadDataPartName                  "BAD_DATA_PART_NAME"                    233  400 "22023"
    MemoryLimitExceeded              "MEMORY_LIMIT_EXCEEDED"                 241  500 "53200"
    CorruptedData                    "CORRUPTED_DATA"                        246  500 "XX001"
    NotEnoughSpace                   "NOT_ENOUGH_SPACE"                      243  500 "53100"
    InvalidPartitionValue            "INVALID_PARTITION_VALUE"               248  400 "22023"
    MultipleAssignmentsToColumn      "MULTIPLE_ASSIGNMENTS_TO_COLUMN"        419  400 "42601"
    IllegalTypeOfColumnForFilter     "ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER"      59  400 "42804"
    SamplingNotSupported             "SAMPLING_NOT_SUPPORTED"                141  400 "0A000"
    IncompatibleColumns              "INCOMPATIBLE_COLUMNS"                  122  400 "42804"
    SupportIsDisabled                "SUPPORT_IS_DISABLED"                   344  403 "0A000"
    CannotUpdateColumn               "CANNOT_UPDATE_COLUMN"                  420  400 "42601"
    AlterOfColumnIsForbidden         "ALTER_OF_COLUMN_IS_FORBIDDEN"          524  400 "42601"
    Unfinished                       "UNFINISHED"                            341  500 "57014"
    TooManyBytes                     "TOO_MANY_BYTES"                         307  400 "53400"
    TooManyRowsOrBytes               "TOO_MANY_ROWS_OR_BYTES"                 396  400 "53400"
    TooManyRows                      "TOO_MANY_ROWS"                         158  400 "54000"
    TooManyParts                     "TOO_MANY_PARTS"                        252  500 "53400"
    DataTypeCannotHaveArguments      "DATA_TYPE_CANNOT_HAVE_ARGUMENTS"       378  400 "42601"
    UnknownCodec                     "UNKNOWN_CODEC"                         432  400 "42704"
    IllegalCodecParameter            "ILLEGAL_CODEC_PARAMETER"               433  400 "22023"
    IllegalSyntaxForCodecType        "ILLEGAL_SYNTAX_FOR_CODEC_TYPE"         431  400 "22023"
    BadGet                           "BAD_GET"                               170  400 "22023"
    ValueIsOutOfRange                "VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE"    321  400 "22003"
    QueryWasCancelled                "QUERY_WAS_CANCELLED"                   394  500 "57014"
    CannotScheduleTask               "CANNOT_SCHEDULE_TASK"                  439  500 "53000"
    CannotInsertNullInOrdinaryColumn "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN" 349  400 "23502"
    DecimalOverflow                  "DECIMAL_OVERFLOW"                      407  400 "22003"
    TooDeepRecursion                 "TOO_DEEP_RECURSION"                    306  400 "54001"
    UnsupportedMethod                "UNSUPPORTED_METHOD"                      1  501 "0A000"
    ChildWasNotExitedNormally        "CHILD_WAS_NOT_EXITED_NORMALLY"         302  500 "58000"
    ReadOnly                         "READONLY"                              164  403 "25006"
    CannotOpenFile                   "CANNOT_OPEN_FILE"                       76  500 "55006"
    TooLargeArraySize                "TOO_LARGE_ARRAY_SIZE"                  128  400 "54000"
    NoElementsInConfig               "NO_ELEMENTS_IN_CONFIG"                 139  404 "42704"
    TooLargeStringSize               "TOO_LARGE_STRING_SIZE"                 131  400 "22001"
    WithTiesWithoutOrderBy           "WITH_TIES_WITHOUT_ORDER_BY"            476  400 "42601"
    HaveDependentObjects             "HAVE_DEPENDENT_OBJECTS"                630  400 "2BP01"
    UnknownElementOfEnum             "UNKNOWN_ELEMENT_OF_ENUM"               691  400 "22P02"
    ValueIsNonZero                   "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"   395  400 "P0001"
    CannotCompileRegexp              "CANNOT_COMPILE_REGEXP"                 427  400 "2201B"
    TooManyQueryPlanOptimizations    "TOO_MANY_QUERY_PLAN_OPTIMIZATIONS"     572  400 "54001"
    TooSlow                          "TOO_SLOW"                              160  408 "57014"
    CannotParseUuid                  "CANNOT_PARSE_UUID"                     376  400 "22P02"
    CannotParseIpv4                  "CANNOT_PARSE_IPV4"                     675  400 "22P02"
    CannotParseIpv6                  "CANNOT_PARSE_IPV6"                     676  400 "22P02"
    UnknownElementInConfig           "UNKNOWN_ELEMENT_IN_CONFIG"             137  400 "42704"
    IncorrectDictionaryDefinition    "INCORRECT_DICTIONARY_DEFINITION"       489  400 "42601"
    TooSmallBufferSize               "TOO_SMALL_BUFFER_SIZE"                 104  400 "22023"
    CacheDictionaryUpdateFail        "CACHE_DICTIONARY_UPDATE_FAIL"          510  503 "53000"
    ArgumentOutOfBound               "ARGUMENT_OUT_OF_BOUND"                  69  400 "22003"
    RocksdbError                     "ROCKSDB_ERROR"                         555  500 "XX000"
    ParameterOutOfBound              "PARAMETER_OUT_OF_BOUND"                 12  400 "22003"
    AggregateFunctionDoesntAllowParameters "AGGREGATE_FUNCTION_DOESNT_ALLOW_PARAMETERS" 133 400 "42601"
    SizesOfArraysDontMatch           "SIZES_OF_ARRAYS_DONT_MATCH"            190  400 "22000"
    CannotParseYaml                  "CANNOT_PARSE_YAML"                     585  400 "22P02"
    InvalidConfigParameter           "INVALID_CONFIG_PARAMETER"              318  400 "22023"
    SizeOfFixedStringDoesntMatch     "SIZE_OF_FIXED_STRING_DOESNT_MATCH"       19  400 "22023"
    UnknownOverflowMode              "UNKNOWN_OVERFLOW_MODE"                  145  400 "22023"
    UnknownJoin                      "UNKNOWN_JOIN"                           418  400 "22023"
    UnknownLoadBalancing             "UNKNOWN_LOAD_BALANCING"                 212  400 "22023"
    UnknownTotalsMode                "UNKNOWN_TOTALS_MODE"                    213  400 "22023"
    UnknownDistributedProductMode    "UNKNOWN_DISTRIBUTED_PRODUCT_MODE"       283  400 "22023"
    UnknownUnion                     "UNKNOWN_UNION"                          557  400 "22023"
    UnknownMysqlDatatypesSupportLevel "UNKNOWN_MYSQL_DATATYPES_SUPPORT_LEVEL"   543  400 "22023"
    CannotParseBool                  "CANNOT_PARSE_BOOL"                     467  400 "22P02"
    FormatIsNotSuitableForInput      "FORMAT_IS_NOT_SUITABLE_FOR_INPUT"       85  400 "0A000"
    FormatIsNotSuitableForOutput     "FORMAT_IS_NOT_SUITABLE_FOR_OUTPUT"     399  400 "0A000"
    CannotExtractTableStructure      "CANNOT_EXTRACT_TABLE_STRUCTURE"        636  400 "22000"
    NetworkError                     "NETWORK_ERROR"                         210  500 "08006"
    SessionNotFound                  "SESSION_NOT_FOUND"                     372  404 "08003"
    SessionIsLocked                  "SESSION_IS_LOCKED"                     373  500 "55006"
    InvalidSessionTimeout            "INVALID_SESSION_TIMEOUT"               374  400 "22023"
    AuthenticationFailed             "AUTHENTICATION_FAILED"                 516  403 "28000"
    ReceivedErrorFromRemoteIoServer  "RECEIVED_ERROR_FROM_REMOTE_IO_SERVER"   86  500 "08004"
    UnknownQueryParameter            "UNKNOWN_QUERY_PARAMETER"               456  400 "42704"
    BadQueryParameter                "BAD_QUERY_PARAMETER"                   457  400 "22023"
    DatabaseAccessDenied             "DATABASE_ACCESS_DENIED"                291  403 "42501"
    PathAccessDenied                 "PATH_ACCESS_DENIED"                    481  403 "42501"
    UnacceptableUrl                  "UNACCEPTABLE_URL"                      491  403 "42501"
    SocketTimeout                    "SOCKET_TIMEOUT"                        209  408 "08006"
    TooManySimultaneousQueries       "TOO_MANY_SIMULTANEOUS_QUERIES"         202  503 "53300"
    TooManyRedirects                 "TOO_MANY_REDIRECTS"                    483  500 "08004"
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn numbers_and_names_are_unique() {
        let numbers: HashSet<u16> = ErrorCode::ALL.iter().map(|code| code.number()).collect();
        let names: HashSet<&str> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(numbers.len(), ErrorCode::ALL.len());
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }
}
