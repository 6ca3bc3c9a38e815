-- What Dora has on her phone.
INSERT INTO profiles VALUES('p-7c1e', 'Dora', 'owl', 'dark', 1, '2025-09-01T07:00:00Z');
INSERT INTO categories VALUES
    ('health', 'Health', 1, '2025-09-01T07:00:00Z'),
    ('mind', 'Mind', 2, '2025-09-01T07:00:00Z');
INSERT INTO habits VALUES
    ('water', 'health', 'Drink water', 8, 1, '2025-09-01T07:10:00Z'),
    ('read', 'mind', 'Read', 20, 1, '2025-09-01T07:11:00Z');
INSERT INTO habit_logs VALUES
    ('l-1', 'water', '2025-09-01', 6, '2025-09-01T21:00:00Z'),
    ('l-2', 'water', '2025-09-02', 8, '2025-09-02T21:00:00Z'),
    ('l-3', 'read', '2025-09-02', 35, '2025-09-02T22:00:00Z');
