import java.math.BigDecimal;
import java.sql.*;
import java.time.LocalDateTime;
import java.util.*;

public class Jdbc {
    static void check(boolean holds, Object what) {
        if (!holds) throw new AssertionError(String.valueOf(what));
    }

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "default");
        properties.setProperty("password", "");
        for (int i = 1; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=");
            properties.setProperty(pair[0], pair[1]);
        }
        try (Connection connection = DriverManager.getConnection("jdbc:clickhouse://127.0.0.1:" + arguments[0], properties); Statement statement = connection.createStatement()) {
            DatabaseMetaData metadata = connection.getMetaData();
            System.out.println(metadata.getDatabaseProductName() + " " + metadata.getDatabaseProductVersion());
            statement.execute("DROP TABLE IF EXISTS j");
            statement.execute("CREATE TABLE j (id UInt64, i Int32, f Float64, b Bool, s String, n Nullable(String), d Date, t DateTime('UTC'), m Decimal(18, 4), a Array(Int32), u UUID, e Enum8('a' = 1), l LowCardinality(String)) ENGINE = MergeTree ORDER BY id");
            UUID id = UUID.fromString("61f0c404-5cb3-11e7-907b-a6006ad3dba0");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO j (id, i, f, b, s, n, d, t, m, u, e, l) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
                for (int row = 0; row < 1000; row++) {
                    insert.setLong(1, row);
                    insert.setInt(2, -row);
                    insert.setDouble(3, row / 2.0);
                    insert.setBoolean(4, row % 2 == 0);
                    insert.setString(5, "it's\t\\" + row);
                    insert.setString(6, row % 2 == 0 ? null : "x");
                    insert.setDate(7, java.sql.Date.valueOf("2024-01-02"));
                    insert.setObject(8, LocalDateTime.of(2024, 1, 2, 3, 4, 5));
                    insert.setBigDecimal(9, new BigDecimal("1.25"));
                    insert.setObject(10, id);
                    insert.setString(11, "a");
                    insert.setString(12, "low");
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            try (ResultSet rows = statement.executeQuery("SELECT count(), sum(id), sum(m) FROM j")) {
                check(rows.next(), "no row");
                check(rows.getLong(1) == 1000 && rows.getLong(2) == 499500, rows.getLong(1));
                check(rows.getBigDecimal(3).compareTo(new BigDecimal("1250")) == 0, rows.getBigDecimal(3));
            }
            try (PreparedStatement select = connection.prepareStatement("SELECT * FROM j WHERE id = ? AND s = ?")) {
                select.setLong(1, 7);
                select.setString(2, "it's\t\\7");
                try (ResultSet rows = select.executeQuery()) {
                    check(rows.next(), "no row 7");
                    check(rows.getInt("i") == -7 && !rows.getBoolean("b") && rows.getString("n").equals("x"), rows.getInt("i"));
                    check(rows.getDate("d").toString().equals("2024-01-02"), rows.getDate("d"));
                    check(rows.getObject("u").equals(id), rows.getObject("u"));
                    check(rows.getString("e").equals("a") && rows.getString("l").equals("low"), rows.getString("e"));
                    check(rows.getArray("a") != null, "a");
                    ResultSetMetaData columns = rows.getMetaData();
                    check(columns.getColumnCount() == 13 && columns.getColumnTypeName(1).equals("UInt64"), columns.getColumnTypeName(1));
                    check(!rows.next(), "two rows");
                }
            }
            long count = 0;
            try (ResultSet rows = statement.executeQuery("SELECT number, toString(number) FROM numbers(3000000)")) {
                while (rows.next()) count += rows.getLong(1) >= 0 ? 1 : 0;
            }
            check(count == 3000000, count);
            try {
                statement.executeQuery("SELECT nothing");
                check(false, "no error");
            } catch (SQLException error) {
                check(error.getErrorCode() == 47, error.getErrorCode() + " " + error.getMessage());
            }
            List<String> names = new ArrayList<>();
            try (ResultSet rows = metadata.getTables(null, null, "j", null)) {
                while (rows.next()) names.add(rows.getString("TABLE_NAME"));
            }
            check(names.equals(List.of("j")), names);
            names.clear();
            try (ResultSet rows = metadata.getColumns(null, "default", "j", null)) {
                while (rows.next()) names.add(rows.getString("COLUMN_NAME") + " " + rows.getString("TYPE_NAME"));
            }
            check(names.size() == 13 && names.get(0).equals("id UInt64"), names);
            try (ResultSet rows = metadata.getSchemas()) {
                while (rows.next()) names.add(rows.getString(1));
            }
            check(names.contains("default"), names);
        }
        System.out.println("ok");
    }
}
