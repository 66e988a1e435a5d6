SELECT * FROM orders ORDER BY shop, id;
SELECT * FROM orders WHERE shop = 'log' AND id = 2;
SELECT * FROM orders WHERE shop = concat('shop\0', '1') AND id > -3 ORDER BY id;
SELECT * FROM sessions ORDER BY id;
SELECT * FROM counters ORDER BY day, name;
CHECK TABLE orders;
