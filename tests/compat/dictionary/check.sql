SELECT number AS id, dictGet('hashed', ('name', 'price'), id), dictGet('sparse', ('name', 'price'), id),
    dictGet('compact', ('name', 'price'), id), dictGet('flat', ('name', 'price'), id)
FROM numbers(100) WHERE dictHas('hashed', id) OR id < 4;
SELECT id, dictGet('composite', 'price', (concat('thing ', toString(id)), id * id)) FROM (SELECT number AS id FROM numbers(9));
SELECT number AS id, dictGet('ranged', 'rate', id, toDate('2024-01-09')) FROM numbers(6);
SELECT dictGet('trie', 'name', toIPv4('10.1.2.3')), dictGet('trie', 'name', toIPv4('10.9.2.3')),
    dictGet('trie', 'name', toIPv6('2001:db8::1'));
