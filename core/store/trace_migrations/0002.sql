-- Calls counted lately. They move to `counted` many at once and in order: one by one each of them would write a
-- page of its own once that table is large.
CREATE TABLE counted_lately (hash INTEGER PRIMARY KEY) STRICT;
