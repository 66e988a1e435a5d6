//! Statements.

use basalt_sql::ast::{
    AlterAction, AlterNamedCollection, AlterTable, CheckTable, CollectionEntry, ColumnDef, ColumnPosition,
    ColumnProperty, CopyFrom, CreateDatabase, CreateDictionary, CreateNamedCollection, CreateTable,
    CreateView, DefaultKind, Describe, DetachObject, DictionaryAttribute, DictionaryLifetime, DropObject,
    EngineCall, Explain, ExplainKind, Expr, FunctionCall, IndexAction, IndexCall, IndexDef, Insert,
    InsertSource, InsertTarget, IntoOutfile, KeyValue, KeyValueArgument, KillMode, Literal, ObjectKind,
    ObjectName, PartitionAction, PartitionRef, RenamePair, Setting, Show, ShowFilter, ShowWhat, Statement,
    SystemCommand, TableElement, TableSource, TtlAction, TtlElement, Update,
};
use proptest::prelude::*;

use super::expression::{codec_call, expr, leaf, order_by, type_name};
use super::{ident, many, object_name, selection, settings, signed_literal, some, text};

pub(crate) fn statement() -> BoxedStrategy<Statement> {
    prop_oneof![
        3 => query().prop_map(|query| Statement::Query(Box::new(query))),
        2 => insert().prop_map(|insert| Statement::Insert(Box::new(insert))),
        1 => copy().prop_map(|copy| Statement::Copy(Box::new(copy))),
        3 => create_table().prop_map(|table| Statement::CreateTable(Box::new(table))),
        2 => create_view().prop_map(|view| Statement::CreateView(Box::new(view))),
        2 => create_dictionary().prop_map(|dictionary| Statement::CreateDictionary(Box::new(dictionary))),
        2 => alter().prop_map(|alter| Statement::Alter(Box::new(alter))),
        2 => short_statement(),
        1 => show().prop_map(Statement::Show),
        1 => explain().prop_map(Statement::Explain),
        1 => system().prop_map(Statement::System),
    ]
    .boxed()
}

fn query() -> impl Strategy<Value = basalt_sql::ast::Query> {
    let compression = prop::option::of((text(), prop::option::of(0_u64..30)));
    let outfile = (text(), compression).prop_map(|(path, compression)| {
        let (compression, level) = compression.map_or((None, None), |(name, level)| (Some(name), level));
        IntoOutfile { path, compression, level }
    });
    let outfile = prop::option::weighted(0.1, outfile);
    (selection::query(leaf()), outfile, prop::option::of(ident()), settings()).prop_map(
        |(mut query, into_outfile, format, settings)| {
            // Settings without FORMAT or INTO OUTFILE belong to the SELECT.
            query.settings = if format.is_some() || into_outfile.is_some() { settings } else { Vec::new() };
            query.into_outfile = into_outfile;
            query.format = format;
            query
        },
    )
}

fn insert() -> impl Strategy<Value = Insert> {
    let source = prop_oneof![
        selection::query(leaf()).prop_map(|query| InsertSource::Query(Box::new(query))),
        "\\([0-9]{1,3}, '[a-z;]{0,3}'\\)".prop_map(|rows| InsertSource::Values { text: rows.into_bytes() }),
        ("[A-Z][A-Za-z]{1,5}X", "[a-z,;'\n ]{0,9}")
            .prop_map(|(name, rows)| InsertSource::Format { name, bytes: rows.into_bytes() }),
        (text(), prop::option::of(text()), prop::option::of(ident()))
            .prop_map(|(path, compression, format)| InsertSource::Infile { path, compression, format }),
    ];
    (object_name(), some(ident()), settings(), source).prop_map(|(table, columns, settings, source)| Insert {
        target: InsertTarget::Table(table),
        columns,
        settings,
        source,
    })
}

fn copy() -> impl Strategy<Value = CopyFrom> {
    let option = ("[a-z]{2,5}x", signed_literal()).prop_map(|(name, value)| Setting { name, value });
    (object_name(), some(ident()), text(), some(option))
        .prop_map(|(table, columns, path, options)| CopyFrom { table, columns, path: Some(path), options })
}

fn engine() -> impl Strategy<Value = Option<EngineCall>> {
    prop::option::of(engine_call())
}

fn engine_call() -> impl Strategy<Value = EngineCall> {
    (ident(), some(leaf())).prop_map(|(name, args)| EngineCall { name, args })
}

fn column() -> impl Strategy<Value = ColumnDef> {
    let value = || expr().prop_map(Some);
    let default = prop_oneof![
        value().prop_map(|value| (DefaultKind::Default, value)),
        value().prop_map(|value| (DefaultKind::Materialized, value)),
        value().prop_map(|value| (DefaultKind::Alias, value)),
        prop::option::of(expr()).prop_map(|value| (DefaultKind::Ephemeral, value)),
    ];
    (
        ident(),
        type_name(),
        prop::option::of(any::<bool>()),
        prop::option::of(default),
        some(codec_call()),
        prop::option::weighted(0.2, expr()),
        prop::option::of(text()),
        settings(),
    )
        .prop_map(|(name, ty, nullable, default, codec, ttl, comment, settings)| ColumnDef {
            name,
            ty: Some(ty),
            nullable,
            default,
            codec,
            ttl,
            comment,
            settings,
        })
}

fn element() -> impl Strategy<Value = TableElement> {
    let kind = (ident(), some(signed_literal())).prop_map(|(name, args)| IndexCall { name, args });
    let kind = prop::option::weighted(0.7, (kind, prop::option::of(any::<u64>())));
    let index = (ident(), leaf(), kind).prop_map(|(name, expr, kind)| {
        let (kind, granularity) = kind.map_or((None, None), |(kind, granularity)| (Some(kind), granularity));
        IndexDef { name, expr, kind, granularity }
    });
    prop_oneof![
        5 => column().prop_map(TableElement::Column),
        1 => index.prop_map(TableElement::Index),
        1 => (ident(), many(ident()))
            .prop_map(|(name, columns)| TableElement::ColumnGroup { name, columns }),
        1 => (ident(), any::<bool>(), expr())
            .prop_map(|(name, assume, expr)| TableElement::Constraint { name, assume, expr }),
        1 => (ident(), selection::query(leaf()))
            .prop_map(|(name, query)| TableElement::Projection { name, query: Box::new(query) }),
    ]
}

fn create_table() -> impl Strategy<Value = CreateTable> {
    let key = || prop::option::weighted(0.3, leaf());
    let source = prop_oneof![
        selection::query(leaf()).prop_map(|query| TableSource::Query(Box::new(query))),
        selection::query(leaf()).prop_map(|query| TableSource::EmptyQuery(Box::new(query))),
        object_name().prop_map(TableSource::Like),
    ];
    let keys = (
        key(),
        prop::option::of(some(leaf())),
        prop::option::of(some(order_by(leaf()))),
        key(),
        some(ttl()),
        settings(),
    );
    let flags = any::<(bool, bool, bool)>();
    (
        object_name(),
        flags,
        some(element()),
        engine(),
        keys,
        prop::option::of(source),
        prop::option::of(text()),
    )
        .prop_map(
            |(name, (or_replace, if_not_exists, temporary), elements, engine, keys, source, comment)| {
                let (partition_by, primary_key, order_by, sample_by, ttl, settings) = keys;
                CreateTable {
                    name,
                    or_replace,
                    if_not_exists,
                    temporary,
                    elements,
                    engine,
                    partition_by,
                    primary_key,
                    order_by,
                    sample_by,
                    ttl,
                    settings,
                    source,
                    comment,
                }
            },
        )
}

fn ttl() -> impl Strategy<Value = TtlElement> {
    let action = prop_oneof![
        prop::option::of(leaf()).prop_map(|filter| TtlAction::Delete { filter }),
        (text(), any::<bool>()).prop_map(|(name, if_exists)| TtlAction::ToDisk { name, if_exists }),
        (text(), any::<bool>()).prop_map(|(name, if_exists)| TtlAction::ToVolume { name, if_exists }),
        (many(leaf()), many((ident(), leaf())))
            .prop_map(|(keys, assignments)| TtlAction::Group { keys, assignments }),
        many(codec_call()).prop_map(|codec| TtlAction::Recompress { codec }),
    ];
    (leaf(), action).prop_map(|(expr, action)| TtlElement { expr, action })
}

fn create_view() -> impl Strategy<Value = CreateView> {
    let order = prop::option::of(some(order_by(leaf())));
    let parts = (prop::option::of(object_name()), engine(), order, any::<bool>());
    let comment = prop::option::of(text());
    let flags = any::<(bool, bool, bool)>();
    (object_name(), flags, some(column()), parts, selection::query(leaf()), comment).prop_map(
        |(
            name,
            (or_replace, if_not_exists, materialized),
            columns,
            (to, engine, order_by, populate),
            query,
            comment,
        )| {
            CreateView {
                name,
                or_replace,
                if_not_exists,
                materialized,
                to: to.filter(|_| materialized),
                columns,
                engine: engine.filter(|_| materialized),
                order_by: order_by.filter(|_| materialized),
                populate: populate && materialized,
                query: Box::new(query),
                comment,
            }
        },
    )
}

fn key_values() -> BoxedStrategy<Vec<(String, KeyValueArgument)>> {
    let value = prop_oneof![
        signed_literal().prop_map(KeyValueArgument::Literal),
        ident().prop_map(KeyValueArgument::Ident),
        (ident(), many(leaf()))
            .prop_map(|(name, args)| { KeyValueArgument::Call(Box::new(FunctionCall::plain(&name, args))) }),
    ];
    let nested =
        value.prop_recursive(2, 6, 2, |inner| some((key(), inner)).prop_map(KeyValueArgument::Nested));
    some((key(), nested)).boxed()
}

/// Names of sources, layouts and their parameters are in upper case.
fn key() -> impl Strategy<Value = String> {
    ident().prop_map(|name| name.to_ascii_uppercase())
}

fn create_dictionary() -> impl Strategy<Value = CreateDictionary> {
    let flags = any::<(bool, bool, bool, bool)>();
    let attribute = (
        ident(),
        type_name(),
        prop::option::of(signed_literal()),
        prop::option::weighted(0.2, expr()),
        flags,
    )
        .prop_map(|(name, ty, default, expression, flags)| {
            let (hierarchical, injective, is_object_id, bidirectional) = flags;
            DictionaryAttribute {
                name,
                ty,
                default,
                expression,
                hierarchical,
                injective,
                is_object_id,
                bidirectional,
            }
        });
    let key_value =
        || prop::option::of((key(), key_values()).prop_map(|(name, args)| KeyValue { name, args }));
    let lifetime = any::<(u64, u64)>()
        .prop_map(|(min_seconds, max_seconds)| DictionaryLifetime { min_seconds, max_seconds });
    let parts = (key_value(), key_value(), prop::option::of(lifetime), prop::option::of((ident(), ident())));
    let comment = prop::option::of(text());
    (object_name(), any::<(bool, bool)>(), some(attribute), some(ident()), parts, settings(), comment)
        .prop_map(|(name, (or_replace, if_not_exists), attributes, primary_key, parts, settings, comment)| {
            let (source, layout, lifetime, range) = parts;
            CreateDictionary {
                name,
                or_replace,
                if_not_exists,
                attributes,
                primary_key,
                source,
                layout,
                lifetime,
                range,
                settings,
                comment,
            }
        })
}

fn alter() -> impl Strategy<Value = AlterTable> {
    let setting = (ident(), signed_literal()).prop_map(|(name, value)| Setting { name, value });
    let action = prop_oneof![
        (column(), any::<bool>(), position()).prop_map(|(column, if_not_exists, position)| {
            AlterAction::AddColumn { column, if_not_exists, position }
        }),
        (ident(), any::<bool>()).prop_map(|(name, if_exists)| AlterAction::DropColumn { name, if_exists }),
        (column(), any::<bool>(), position()).prop_map(|(column, if_exists, position)| {
            AlterAction::ModifyColumn { column, if_exists, position }
        }),
        (ident(), prop::sample::select(&ColumnProperty::ALL[..]), any::<bool>()).prop_map(
            |(name, property, if_exists)| AlterAction::RemoveProperty { name, property, if_exists }
        ),
        (ident(), ident(), any::<bool>()).prop_map(|(from, to, if_exists)| AlterAction::RenameColumn {
            from,
            to,
            if_exists
        }),
        (ident(), text(), any::<bool>()).prop_map(|(name, comment, if_exists)| AlterAction::CommentColumn {
            name,
            comment,
            if_exists
        }),
        (ident(), any::<bool>(), prop::option::of(in_partition()))
            .prop_map(|(name, if_exists, partition)| AlterAction::ClearColumn { name, if_exists, partition }),
        (ident(), prop::option::of(in_partition()))
            .prop_map(|(name, partition)| AlterAction::MaterializeColumn { name, partition }),
        (many((ident(), expr())), prop::option::of(in_partition()), expr()).prop_map(
            |(assignments, partition, filter)| AlterAction::Update { assignments, partition, filter }
        ),
        (prop::option::of(in_partition()), expr())
            .prop_map(|(partition, filter)| AlterAction::Delete { partition, filter }),
        many(ident()).prop_map(|names| AlterAction::ResetSetting { names }),
        leaf().prop_map(|partition| AlterAction::Partition(PartitionAction::Drop {
            what: PartitionRef::Value(partition)
        })),
        text().prop_map(|comment| AlterAction::ModifyComment { comment }),
        some(order_by(leaf())).prop_map(|order_by| AlterAction::ModifyOrderBy { order_by }),
        many(ttl()).prop_map(|ttl| AlterAction::ModifyTtl { ttl }),
        Just(AlterAction::RemoveTtl),
        (ident(), any::<bool>())
            .prop_map(|(name, if_exists)| AlterAction::RemoveColumnTtl { name, if_exists }),
        prop::option::of(in_partition()).prop_map(|partition| AlterAction::MaterializeTtl { partition }),
        Just(AlterAction::Other { words: "MATERIALIZE PROJECTION a IN PARTITION ( 1 , 2 )".to_owned() }),
        index_action().prop_map(AlterAction::Index),
        partition_action().prop_map(AlterAction::Partition),
        many(setting).prop_map(|settings| AlterAction::ModifySetting { settings }),
    ];
    // A list at the end of an action would consume the next action as its own item.
    (object_name(), action).prop_map(|(name, action)| AlterTable {
        name,
        actions: vec![action],
        settings: Vec::new(),
    })
}

fn index_action() -> impl Strategy<Value = IndexAction> {
    let index = (ident(), leaf()).prop_map(|(name, expr)| IndexDef {
        name,
        expr,
        kind: Some(IndexCall { name: "minmax".to_owned(), args: Vec::new() }),
        granularity: Some(2),
    });
    let position = prop_oneof![
        Just(Some(ColumnPosition::First)),
        ident().prop_map(|name| Some(ColumnPosition::After(name))),
        Just(None),
    ];
    let place = || prop::option::of(partition_ref());
    prop_oneof![
        (index, any::<bool>(), position).prop_map(|(index, if_not_exists, position)| IndexAction::Add {
            index,
            if_not_exists,
            position
        }),
        (ident(), any::<bool>()).prop_map(|(name, if_exists)| IndexAction::Drop { name, if_exists }),
        (ident(), any::<bool>(), place()).prop_map(|(name, if_exists, partition)| IndexAction::Clear {
            name,
            if_exists,
            partition
        }),
        (ident(), any::<bool>(), place()).prop_map(|(name, if_exists, partition)| IndexAction::Materialize {
            name,
            if_exists,
            partition
        }),
    ]
}

fn position() -> impl Strategy<Value = Option<ColumnPosition>> {
    prop_oneof![
        Just(Some(ColumnPosition::First)),
        ident().prop_map(|name| Some(ColumnPosition::After(name))),
        Just(None),
    ]
}

/// An expression that does not consume the clause after it.
fn in_partition() -> impl Strategy<Value = PartitionRef> {
    prop_oneof![
        Just(PartitionRef::All),
        text().prop_map(PartitionRef::Id),
        any::<u64>().prop_map(|number| PartitionRef::Value(Expr::Literal(Literal::UInt(number)))),
    ]
}

fn partition_ref() -> impl Strategy<Value = PartitionRef> {
    prop_oneof![
        Just(PartitionRef::All),
        text().prop_map(PartitionRef::Id),
        text().prop_map(PartitionRef::Part),
        leaf().prop_map(PartitionRef::Value),
    ]
}

fn partition_action() -> impl Strategy<Value = PartitionAction> {
    let what = partition_ref;
    prop_oneof![
        what().prop_map(|what| PartitionAction::DropDetached { what }),
        what().prop_map(|what| PartitionAction::Detach { what }),
        what().prop_map(|what| PartitionAction::Attach { what }),
        (what(), object_name(), any::<bool>()).prop_map(|(what, table, replace)| PartitionAction::TakeFrom {
            what,
            table,
            replace
        }),
        (what(), object_name()).prop_map(|(what, table)| PartitionAction::MoveTo { what, table }),
        (what(), prop::option::of(text())).prop_map(|(what, name)| PartitionAction::Freeze { what, name }),
        (what(), text()).prop_map(|(what, name)| PartitionAction::Unfreeze { what, name }),
    ]
}

fn kind() -> impl Strategy<Value = ObjectKind> {
    prop::sample::select(vec![
        ObjectKind::Database,
        ObjectKind::Table,
        ObjectKind::View,
        ObjectKind::Dictionary,
    ])
}

/// A kind of object and a name for it: the name of a database has one part.
fn named_kind() -> impl Strategy<Value = (ObjectKind, ObjectName)> {
    (kind(), object_name()).prop_map(|(kind, name)| {
        let database = name.database.filter(|_| kind != ObjectKind::Database);
        (kind, ObjectName { database, name: name.name })
    })
}

fn named_collection() -> BoxedStrategy<Statement> {
    let entries = || {
        let entry = (ident(), signed_literal(), any::<Option<bool>>());
        many(entry.prop_map(|(key, value, overridable)| CollectionEntry { key, value, overridable }))
    };
    prop_oneof![
        (ident(), any::<bool>(), entries()).prop_map(|(name, if_not_exists, entries)| {
            Statement::CreateNamedCollection(CreateNamedCollection { name, if_not_exists, entries })
        }),
        (ident(), any::<bool>(), entries(), prop::collection::vec(ident(), 0..3)).prop_map(
            |(name, if_exists, set, delete)| {
                Statement::AlterNamedCollection(AlterNamedCollection { name, if_exists, set, delete })
            }
        ),
        (ident(), any::<bool>())
            .prop_map(|(name, if_exists)| Statement::DropNamedCollection { name, if_exists }),
    ]
    .boxed()
}

fn short_statement() -> BoxedStrategy<Statement> {
    let drop = || {
        (named_kind(), any::<(bool, bool, bool)>()).prop_map(
            |((kind, name), (if_exists, temporary, sync))| DropObject {
                kind,
                names: vec![name],
                if_exists,
                temporary,
                sync,
            },
        )
    };
    let detach = (named_kind(), any::<(bool, bool, bool)>()).prop_map(
        |((kind, name), (if_exists, permanently, sync))| DetachObject {
            kind,
            name,
            if_exists,
            permanently,
            sync,
        },
    );
    let pair = || (object_name(), object_name()).prop_map(|(from, to)| RenamePair { from, to });
    let partition = prop::option::of(in_partition());
    prop_oneof![
        (ident(), any::<bool>(), engine(), prop::option::of(text())).prop_map(
            |(name, if_not_exists, engine, comment)| Statement::CreateDatabase(CreateDatabase {
                name,
                if_not_exists,
                engine,
                comment
            })
        ),
        drop().prop_map(Statement::Drop),
        detach.prop_map(Statement::Detach),
        named_collection(),
        (named_kind(), any::<bool>()).prop_map(|((kind, name), if_not_exists)| Statement::Attach {
            kind,
            name,
            if_not_exists
        }),
        (object_name(), any::<bool>()).prop_map(|(name, if_exists)| Statement::Truncate { name, if_exists }),
        many(pair()).prop_map(|pairs| Statement::Rename { kind: ObjectKind::Table, pairs }),
        pair().prop_map(|pair| Statement::Exchange {
            kind: ObjectKind::Table,
            left: pair.from,
            right: pair.to
        }),
        (object_name(), expr(), settings()).prop_map(|(table, filter, settings)| Statement::Delete {
            table,
            filter,
            settings
        }),
        update().prop_map(|update| Statement::Update(Box::new(update))),
        (object_name(), engine_call()).prop_map(|(table, to)| Statement::Backup { table, to }),
        (object_name(), prop::option::of(object_name()), engine_call())
            .prop_map(|(table, new_name, from)| Statement::Restore { table, new_name, from }),
        (object_name(), partition, any::<bool>(), prop::option::of(prop::collection::vec(expr(), 0..3)))
            .prop_map(|(table, partition, is_final, deduplicate)| Statement::Optimize {
                table,
                partition,
                is_final,
                deduplicate
            }),
        ident().prop_map(Statement::Use),
        (many((ident(), signed_literal())), prop::collection::vec(ident(), 0..3)).prop_map(
            |(settings, defaults)| Statement::Set {
                changes: settings.into_iter().map(|(name, value)| Setting { name, value }).collect(),
                defaults,
            }
        ),
        named_kind().prop_map(|(kind, name)| Statement::Exists { kind, name }),
        (expr(), prop::sample::select(vec![KillMode::Async, KillMode::Sync, KillMode::Test]))
            .prop_map(|(filter, mode)| Statement::KillQuery { filter, mode }),
        check_table().prop_map(Statement::Check),
        (object_name(), prop::option::of(ident()))
            .prop_map(|(name, format)| Statement::Describe(Describe::Table { name, format })),
    ]
    .boxed()
}

fn update() -> impl Strategy<Value = Update> {
    let assignments = many((ident(), expr()));
    (object_name(), assignments, prop::option::of(in_partition()), expr(), settings()).prop_map(
        |(table, assignments, partition, filter, settings)| Update {
            table,
            assignments,
            partition,
            filter,
            settings,
        },
    )
}

fn check_table() -> impl Strategy<Value = CheckTable> {
    let format = prop::option::of(ident());
    (object_name(), prop::option::of(partition_ref()), format, settings())
        .prop_map(|(table, partition, format, settings)| CheckTable { table, partition, format, settings })
}

fn show() -> impl Strategy<Value = Show> {
    let like = || {
        prop::option::of(prop_oneof![
            expr().prop_map(ShowFilter::Where),
            (text(), any::<bool>(), any::<bool>()).prop_map(|(pattern, case_insensitive, negated)| {
                ShowFilter::Like { pattern, case_insensitive, negated }
            }),
        ])
    };
    let listed = prop::sample::select(vec![ObjectKind::Table, ObjectKind::View, ObjectKind::Dictionary]);
    let what = prop_oneof![
        like().prop_map(|like| ShowWhat::Databases { like }),
        (listed, prop::option::of(ident()), like(), prop::option::of(any::<u64>()))
            .prop_map(|(kind, database, like, limit)| ShowWhat::Tables { kind, database, like, limit }),
        named_kind().prop_map(|(kind, name)| ShowWhat::Create { kind, name }),
        (object_name(), any::<bool>(), like()).prop_map(|(table, full, like)| ShowWhat::Columns {
            table,
            full,
            like
        }),
        (prop::option::of(ident()), like(), prop::option::of(any::<u64>()))
            .prop_map(|(database, like, limit)| ShowWhat::FullTables { database, like, limit }),
        (object_name(), prop::option::of(expr()))
            .prop_map(|(table, filter)| ShowWhat::Indexes { table, filter }),
        Just(ShowWhat::Clusters),
        ident().prop_map(|name| ShowWhat::Setting { name }),
        Just(ShowWhat::ProcessList),
        like().prop_map(|like| ShowWhat::Settings { like }),
        like().prop_map(|like| ShowWhat::Functions { like }),
        Just(ShowWhat::Engines),
    ];
    (what, prop::option::of(ident())).prop_map(|(what, format)| Show { what, format })
}

fn explain() -> impl Strategy<Value = Explain> {
    let kinds = vec![
        ExplainKind::Plan,
        ExplainKind::Ast,
        ExplainKind::Syntax,
        ExplainKind::Pipeline,
        ExplainKind::Estimate,
        ExplainKind::Analyze,
    ];
    let setting =
        ("[a-z]{3,5}x", (0..9_u64).prop_map(Literal::UInt)).prop_map(|(name, value)| Setting { name, value });
    (prop::sample::select(kinds), some(setting), selection::query(leaf()), prop::option::of(ident()))
        .prop_map(|(kind, settings, query, format)| Explain {
            kind,
            settings,
            statement: Box::new(Statement::Query(Box::new(query))),
            format,
        })
}

fn system() -> impl Strategy<Value = SystemCommand> {
    prop_oneof![
        object_name().prop_map(SystemCommand::ReloadDictionary),
        Just(SystemCommand::ReloadDictionaries),
        Just(SystemCommand::FlushLogs),
        Just(SystemCommand::DropCaches { which: "UNCOMPRESSED".to_owned() }),
        prop::option::of(object_name()).prop_map(SystemCommand::StopMerges),
        prop::option::of(object_name()).prop_map(SystemCommand::StartMerges),
        prop::option::of(object_name()).prop_map(SystemCommand::StopTtlMerges),
        prop::option::of(object_name()).prop_map(SystemCommand::StartTtlMerges),
        object_name().prop_map(SystemCommand::RestoreTable),
        Just(SystemCommand::Shutdown),
        Just(SystemCommand::Other { words: "SYNC REPLICA t".to_owned() }),
    ]
}
