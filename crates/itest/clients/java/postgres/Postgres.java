import java.io.*;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;

/** pgjdbc against the protocol of PostgreSQL. */
public class Postgres {
    static final UUID ID = UUID.fromString("61f0c404-5cb3-11e7-907b-a6006ad3dba0");
    static final OffsetDateTime AT = OffsetDateTime.of(2024, 1, 2, 3, 4, 5, 678901000, ZoneOffset.UTC);

    static void equal(Object found, Object expected) {
        if (!Objects.deepEquals(found, expected)) throw new AssertionError(found + ", not " + expected);
    }

    interface Action {
        void run() throws Exception;
    }

    static void fails(String state, Action action) throws Exception {
        try {
            action.run();
        } catch (SQLException error) {
            if (!error.getSQLState().equals(state)) throw new AssertionError(error.getSQLState() + ", not " + state, error);
            return;
        }
        throw new AssertionError("no error");
    }

    static List<String> list(ResultSet rows, String... columns) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            StringJoiner line = new StringJoiner(" ");
            for (String column : columns) line.add(rows.getString(column));
            found.add(line.toString());
        }
        rows.close();
        return found;
    }

    static void allTypes(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE j (id int8 PRIMARY KEY, i2 int2, i4 int4, u UInt64, f4 float4, f8 float8, m numeric(18, 4), b bool, s text, v varchar(20), o text, k uuid, d date, t timestamptz, l timestamp, a Array(Int32), x Array(Nullable(String))) ENGINE = EmbeddedRocksDB");
        }
        String insert = "INSERT INTO j VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        try (PreparedStatement rows = connection.prepareStatement(insert)) {
            for (int row = 0; row < 1000; row++) {
                rows.setLong(1, row);
                rows.setShort(2, Short.MIN_VALUE);
                rows.setInt(3, -row);
                rows.setBigDecimal(4, new BigDecimal("18446744073709551615"));
                rows.setFloat(5, -1.25f);
                rows.setDouble(6, 1e300);
                rows.setBigDecimal(7, new BigDecimal("-1.2500"));
                rows.setBoolean(8, row % 2 == 0);
                rows.setString(9, "it's\t\\ \u00e9" + row);
                rows.setString(10, "v");
                if (row % 2 == 0) rows.setNull(11, Types.VARCHAR); else rows.setString(11, "");
                rows.setObject(12, ID);
                rows.setObject(13, LocalDate.of(2024, 1, 2));
                rows.setObject(14, AT);
                rows.setObject(15, AT.toLocalDateTime());
                rows.setArray(16, connection.createArrayOf("int4", new Integer[] {1, -row}));
                rows.setArray(17, connection.createArrayOf("text", new String[] {"a,\"b", null}));
                rows.addBatch();
            }
            equal(Arrays.stream(rows.executeBatch()).allMatch(count -> count == 1 || count == Statement.SUCCESS_NO_INFO), true);
        }
    }

    static void prepared(Connection connection) throws SQLException {
        // After some runs the statement gets a name, and values come in binary.
        try (PreparedStatement select = connection.prepareStatement("SELECT * FROM j WHERE id = ? AND s = ? AND k = ? AND d <= ? AND t <= ?")) {
            for (int row = 0; row < 20; row++) {
                select.setLong(1, row);
                select.setString(2, "it's\t\\ \u00e9" + row);
                select.setObject(3, ID);
                select.setObject(4, LocalDate.of(2024, 1, 2));
                select.setObject(5, AT);
                try (ResultSet rows = select.executeQuery()) {
                    equal(rows.next(), true);
                    equal(rows.getShort("i2"), Short.MIN_VALUE);
                    equal(rows.getInt("i4"), -row);
                    equal(rows.getBigDecimal("u"), new BigDecimal("18446744073709551615"));
                    equal(rows.getFloat("f4"), -1.25f);
                    equal(rows.getDouble("f8"), 1e300);
                    equal(rows.getBigDecimal("m"), new BigDecimal("-1.2500"));
                    equal(rows.getBoolean("b"), row % 2 == 0);
                    equal(rows.getString("v"), "v");
                    equal(rows.getString("o"), row % 2 == 0 ? null : "");
                    equal(rows.getObject("k"), ID);
                    equal(rows.getObject("d", LocalDate.class), LocalDate.of(2024, 1, 2));
                    equal(rows.getObject("t", OffsetDateTime.class).toInstant(), AT.toInstant());
                    equal(rows.getTimestamp("l").toInstant(), AT.toInstant());
                    equal(rows.getArray("a").getArray(), new Integer[] {1, -row});
                    equal(rows.getArray("x").getArray(), new String[] {"a,\"b", null});
                    equal(rows.next(), false);
                }
            }
            ResultSetMetaData columns = select.getMetaData();
            equal(columns.getColumnTypeName(1) + columns.getColumnTypeName(7) + columns.getColumnTypeName(17), "int8numeric_text");
            equal(columns.getPrecision(7) + " " + columns.getScale(7) + " " + columns.isNullable(1), "18 4 2");
            equal(columns.getTableName(1) + columns.getColumnName(1), "id");
        }
        try (PreparedStatement any = connection.prepareStatement("SELECT count(*) FROM j WHERE id = ANY(?) AND o IS NOT DISTINCT FROM ?")) {
            any.setArray(1, connection.createArrayOf("int8", new Long[] {1L, 3L, 4L}));
            any.setString(2, "");
            try (ResultSet rows = any.executeQuery()) {
                equal(rows.next(), true);
                equal(rows.getLong(1), 2L);
            }
        }
    }

    static void copies(Connection connection) throws Exception {
        var copy = connection.unwrap(PGConnection.class).getCopyAPI();
        StringBuilder lines = new StringBuilder();
        for (int row = 0; row < 100_000; row++) lines.append(row + 10_000).append("\tcopied\n");
        equal(copy.copyIn("COPY j (id, s) FROM STDIN", new StringReader(lines.toString())), 100_000L);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        equal(copy.copyOut("COPY (SELECT id, s FROM j WHERE id >= 10000 ORDER BY id) TO STDOUT (FORMAT csv)", out), 100_000L);
        equal(out.toString(StandardCharsets.UTF_8).startsWith("10000,copied\n10001,copied\n"), true);
        fails("22P02", () -> copy.copyIn("COPY j (id, s) FROM STDIN", new StringReader("x\ty\n")));
    }

    static void streams(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(10_000);
            long sum = 0;
            try (ResultSet rows = statement.executeQuery("SELECT number, toString(number) FROM numbers(3000000)")) {
                while (rows.next()) sum += rows.getLong(1);
            }
            equal(sum, 2999999L * 3000000L / 2);
            try (ResultSet rows = statement.executeQuery("SELECT number FROM numbers(1000000000000)")) {
                equal(rows.next(), true);
            }
            statement.setMaxRows(7);
            equal(list(statement.executeQuery("SELECT number AS n FROM numbers(1000)"), "n").size(), 7);
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    static void errorsAndCancels(Connection connection, String address) throws Exception {
        String endless = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(number)";
        try (Statement statement = connection.createStatement()) {
            fails("42P01", () -> statement.executeQuery("SELECT * FROM missing"));
            fails("42703", () -> statement.executeQuery("SELECT nothing"));
            fails("42601", () -> statement.executeQuery("SELEC 1"));
            statement.setQueryTimeout(1);
            fails("57014", () -> statement.executeQuery(endless));
            statement.setQueryTimeout(0);
            Thread other = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    statement.cancel();
                } catch (Exception error) {
                    throw new RuntimeException(error);
                }
            });
            other.start();
            fails("57014", () -> statement.executeQuery(endless));
            other.join();
            statement.execute("SET statement_timeout = '300ms'");
            fails("57014", () -> statement.executeQuery(endless));
            statement.execute("SET statement_timeout = 0");
            equal(list(statement.executeQuery("SELECT 7 AS n"), "n"), List.of("7"));
        }
        fails("28P01", () -> DriverManager.getConnection(address, "nobody", "x"));
    }

    static void metadata(Connection connection) throws SQLException {
        DatabaseMetaData metadata = connection.getMetaData();
        equal(metadata.getDatabaseProductName() + " " + metadata.getDatabaseProductVersion(), "PostgreSQL 15.0");
        equal(connection.getCatalog() + " " + connection.getSchema(), "default default");
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE VIEW w AS SELECT id, s FROM j");
        }
        equal(list(metadata.getTables(null, null, "j", null), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE"), List.of("default j TABLE"));
        equal(list(metadata.getTables("default", "default", "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME", "TABLE_TYPE"), List.of("j TABLE", "w VIEW"));
        List<String> columns = list(metadata.getColumns(null, "default", "j", "%"), "COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "IS_NULLABLE", "ORDINAL_POSITION");
        equal(columns.size(), 17);
        equal(columns.get(0) + ", " + columns.get(6), "id int8 19 0 NO 1, m numeric 18 4 YES 7");
        equal(list(metadata.getPrimaryKeys(null, "default", "j"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"), List.of("id 1 j_pkey"));
        equal(list(metadata.getIndexInfo(null, "default", "j", false, true), "INDEX_NAME", "COLUMN_NAME", "NON_UNIQUE"), List.of("j_pkey id f"));
        equal(list(metadata.getSchemas(), "TABLE_SCHEM").containsAll(List.of("default", "pg_catalog", "information_schema")), true);
        equal(list(metadata.getSchemas(null, "def%"), "TABLE_SCHEM"), List.of("default"));
        equal(list(metadata.getCatalogs(), "TABLE_CAT").contains("default"), true);
        List<String> types = list(metadata.getTypeInfo(), "TYPE_NAME", "DATA_TYPE");
        equal(types.containsAll(List.of("int8 -5", "text 12", "numeric 2", "bool -7", "uuid 1111")), true);
        equal(list(metadata.getTableTypes(), "TABLE_TYPE").contains("VIEW"), true);
        for (ResultSet none : new ResultSet[] {
            metadata.getImportedKeys(null, "default", "j"), metadata.getExportedKeys(null, "default", "j"),
            metadata.getCrossReference(null, null, "j", null, null, "j"), metadata.getProcedures(null, "default", "%"),
            metadata.getUDTs(null, null, "%", null), metadata.getFunctions(null, "default", "%"), metadata.getFunctionColumns(null, "default", "%", "%"),
            metadata.getProcedureColumns(null, "default", "%", "%"), metadata.getTablePrivileges(null, "default", "none"), metadata.getColumnPrivileges(null, "default", "none", "%")
        }) equal(list(none), List.of());
        metadata.getClientInfoProperties().close();
        equal(list(metadata.getBestRowIdentifier(null, "default", "j", DatabaseMetaData.bestRowSession, false), "COLUMN_NAME"), List.of("id"));
        equal(metadata.getSQLKeywords().isEmpty() || metadata.getMaxColumnNameLength() == 63, true);
        equal(metadata.getUserName() + metadata.getDefaultTransactionIsolation(), "default" + Connection.TRANSACTION_READ_COMMITTED);
    }

    static void session(Connection connection) throws SQLException {
        equal(connection.isValid(5), true);
        connection.setReadOnly(true);
        connection.setReadOnly(false);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        equal(connection.getTransactionIsolation(), Connection.TRANSACTION_READ_COMMITTED);
        connection.setSchema("default");
        connection.setClientInfo("ApplicationName", "test");
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            equal(list(statement.executeQuery("SHOW application_name"), "application_name"), List.of("test"));
        }
        connection.rollback();
        connection.setAutoCommit(true);
    }

    public static void main(String[] arguments) throws Exception {
        String address = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/default?" + arguments[1];
        try (Connection connection = DriverManager.getConnection(address, "default", "")) {
            allTypes(connection);
            prepared(connection);
            copies(connection);
            streams(connection);
            metadata(connection);
            session(connection);
            errorsAndCancels(connection, address);
        }
        System.out.println("ok");
    }
}
